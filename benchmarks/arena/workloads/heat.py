"""Heat's continuous benchmarks, and what else moves arrays of more axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..registry import workload

if TYPE_CHECKING:
    from ..systems.base import System

ONE_BLOCK = {"cubed": "it has no such function", "distributed": "dask's threads stand for it"}


def _matmul(at: System, split: int) -> Any:
    n = at.size(3000, 200)
    chunks = (n // 2, n) if split == 0 else (n, n // 2)
    a, b = (at.rng(i).random((n, n), chunks=chunks) for i in (1, 2))
    return a, b, at.compute(a @ b)


def _matmul_checked(at: System, found: Any) -> None:
    a, b, product = found
    rows = slice(0, 20)
    np.testing.assert_allclose(product[rows], at.part(a, rows) @ at.part(b, slice(None)), rtol=1e-10)
    np.testing.assert_allclose(product.sum(0), at.part(a, slice(None)).sum(0) @ at.part(b, slice(None)), rtol=1e-10)


for _split in (0, 1):
    workload(f"matmul-split-{_split}")(lambda at, split=_split: _matmul(at, split)).checked(_matmul_checked)


@workload("product-with-transpose")
def product_with_transpose(at: System) -> Any:
    """A symmetric product in chunks of 2048, summed."""
    n, step = at.size((6000, 2048), (300, 128))
    a = at.rng(1).random((n, n), chunks=(step, step))
    return a, at.compute(at.xp.sum(a @ a.T))


@product_with_transpose.checked
def _(at: System, found: Any) -> None:
    a, total = found
    np.testing.assert_allclose(float(total), (at.part(a, slice(None)).sum(0) ** 2).sum(), rtol=1e-10)


@workload("qr-tall", without={"cubed": "it has no normal numbers"})
def qr_tall(at: System) -> Any:
    """QR of a tall matrix of 4 million elements."""
    m, n = at.size((80_000, 50), (800, 10))
    a = at.rng(1).standard_normal((m, n), chunks=(m // 8, n))
    return a, at.compute(*at.xp.linalg.qr(a))


@qr_tall.checked
def _(at: System, found: Any) -> None:
    a, (q, r) = found
    np.testing.assert_allclose(q @ r, at.part(a, slice(None)), atol=1e-10)
    np.testing.assert_allclose(q.T @ q, np.eye(r.shape[0]), atol=1e-10)


@workload("svd-tall", without={"cubed": "it has no normal numbers"})
def svd_tall(at: System) -> Any:
    """cuPyNumeric's tssvd: singular values of 1,000,000 x 32."""
    m, n = at.size((1_000_000, 32), (1000, 8))
    a = at.rng(1).standard_normal((m, n), chunks=(m // 8, n))
    more = {"full_matrices": False} if at.manager != "dask" else {}
    _, s, _ = at.xp.linalg.svd(a, **more)
    return a, at.compute(s)


@svd_tall.checked
def _(at: System, found: Any) -> None:
    a, s = found
    whole = at.part(a, slice(None))
    np.testing.assert_allclose(s**2, np.linalg.eigvalsh(whole.T @ whole)[::-1], rtol=1e-8)


@workload("eigh", without=ONE_BLOCK | {"dask": "it has no eigh"})
def eigh(at: System) -> Any:
    """Eigenvalues of a symmetric matrix of 1000."""
    n = at.size(1000, 100)
    a = at.rng(1).random((n, n), chunks=(n // 2, n))
    return a, at.compute(*at.xp.linalg.eigh(a + a.T))


@eigh.checked
def _(at: System, found: Any) -> None:
    a, (w, v) = found
    whole = at.part(a, slice(None))
    np.testing.assert_allclose((whole + whole.T) @ v, v * w, atol=1e-8)


@workload("reshape")
def reshape(at: System) -> Any:
    """(1000, 20_000) split along columns to (1e7, -1), to a null store."""
    rows, columns, tall = at.size((1000, 20_000, 10_000_000), (100, 200, 10_000))
    x = at.rng(1).random((rows, columns), chunks=(rows, columns // 2))
    return x, at.null(at.xp.reshape(x, (tall, rows * columns // tall)))


@reshape.checked
def _(at: System, found: Any) -> None:
    x, sink = found
    whole = at.part(x, slice(None)).reshape(sink.shape)
    sink.check(lambda i, j: whole[np.ix_(i, j)], blocks=8)


@workload("concatenate")
def concatenate(at: System) -> Any:
    """(1000, 10_000), (1000, 20_000) and (1000, 40_000) side by side, to a null store."""
    rows, unit = at.size((1000, 10_000), (20, 30))
    parts = [
        at.rng(i).random((rows, unit * times), chunks=(rows, unit * times // (2 if i else 1)))
        for i, times in enumerate((1, 2, 4))
    ]
    join = getattr(at.xp, "concatenate", None) or at.xp.concat
    return parts, at.null(join(parts, axis=1))


@concatenate.checked
def _(at: System, found: Any) -> None:
    parts, sink = found
    whole = np.concatenate([at.part(part, slice(None)) for part in parts], axis=1)
    sink.check(lambda i, j: whole[np.ix_(i, j)], blocks=8)


@workload("resplit", without={"numpy": "it has no chunks"})
def resplit(at: System) -> Any:
    """Five axes of float32 from one chunk to halves along axis 2, to halves along axis 4, to a null store."""
    shape = at.size((100, 50, 50, 20, 86), (10, 5, 6, 2, 8))
    x = at.rng(1).random(shape, dtype="float32", chunks=shape)
    halves = at.rechunk(x, (*shape[:2], shape[2] // 2, *shape[3:]))
    return x, at.null(at.rechunk(halves, (*shape[:4], shape[4] // 2)))


@resplit.checked
def _(at: System, found: Any) -> None:
    x, sink = found
    whole = at.part(x, slice(None))
    sink.check(lambda *indices: whole[np.ix_(*indices)])


@workload("convolve", without=ONE_BLOCK | {"dask": "it has no convolve"})
def convolve(at: System) -> Any:
    """2 million numbers with 9,999."""
    n, k = at.size((2_000_000, 9999), (20_000, 99))
    x, kernel = at.rng(1).random((n,), chunks=n // 8), at.rng(2).random((k,), chunks=k)
    return x, kernel, at.compute(at.xp.convolve(x, kernel, mode="same"))


@convolve.checked
def _(at: System, found: Any) -> None:
    x, kernel, got = found
    x, kernel = at.part(x, slice(None)), at.part(kernel, slice(None))
    want = np.fft.irfft(np.fft.rfft(x, 2 * len(x)) * np.fft.rfft(kernel, 2 * len(x)), 2 * len(x))
    half = len(kernel) // 2
    np.testing.assert_allclose(got, want[half : half + len(x)], rtol=1e-7, atol=1e-7)


@workload("slice-of-outer-product")
def outer_slice(at: System) -> Any:
    """Twelve numbers of a product of three axes that doesn't fit."""
    n = at.size(100_000, 400)
    a, b = at.rng(1).random((n,), chunks=n // 4), at.rng(2).random((120, 100), chunks=(60, 100))
    return a, b, at.compute((a[:, None, None] * b[None])[10:13, 5:7, 3:5])


@outer_slice.checked
def _(at: System, found: Any) -> None:
    a, b, got = found
    want = at.part(a, slice(10, 13))[:, None, None] * at.part(b, slice(5, 7), slice(3, 5))
    np.testing.assert_allclose(got, want, rtol=1e-14)
