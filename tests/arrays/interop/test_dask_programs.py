"""What programs written for dask.array do beside computing: tables, filters, decorators, keywords."""

from __future__ import annotations

import re

import numpy as np
import pytest

import windrow as wr

PROGRAM = """
import numpy as np
import windrow as wr

levels = np.random.default_rng(0).integers(0, 8, (12, 8))
x = wr.from_array(levels, chunks=(5, 3))
for n in (8, 9):
    table = np.arange(n) * 10.0
    got = wr.map_blocks(lambda block, table: table[block], x, table, dtype=float)
    np.testing.assert_array_equal(got.compute(), levels * 10.0)
values = np.random.default_rng(1).random((4, 5, 6))
weights = np.arange(1.0, 7)
got = wr.nanquantile(wr.from_array(values, chunks=2), 0.4, axis=-1, weights=weights, method="inverted_cdf")
np.testing.assert_array_equal(got.compute(), np.quantile(values, 0.4, axis=-1, weights=weights, method="inverted_cdf"))
print("right")
"""


@pytest.mark.ranks
def test_on_ranks(launch, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    ended = launch(2, "program.py")
    assert (ended.status, ended.out.strip()) == (0, "right"), ended.err


def test_programs_embedded():
    exec(PROGRAM, {})


@pytest.mark.parametrize("length", [6, 7])
def test_arrays_of_numpy_are_handed_on_whole(length):
    """Also where an axis happens to have their length."""
    levels = np.arange(48).reshape(8, 6) % 6
    x, table = wr.from_array(levels, chunks=(3, 4)), np.arange(length) ** 2
    for got in (
        wr.map_blocks(lambda block, table: table[block], x, table, dtype=int),
        wr.map_blocks(lambda table, block: table[block], table, x, dtype=int),
        x.map_blocks(lambda block, table, n: table[block], table, 3),
        wr.map_overlap(lambda block, table: table[block], x, table, depth=1, boundary="nearest"),
    ):
        np.testing.assert_array_equal(got.compute(), levels**2)
    table[:] = 0  # it was taken as it was
    np.testing.assert_array_equal(got.compute(), levels**2)
    seen = wr.map_blocks(
        lambda block, table, block_info: block * 0 + len(table) + 100 * (1 in block_info), x, table, dtype=int
    )
    assert set(seen.compute().flat) == {length}


def test_arrays_of_numpy_alone_are_cut():
    np.testing.assert_array_equal(wr.map_blocks(np.negative, np.arange(6)).compute(), -np.arange(6))


def test_weights_of_a_line_leave_out_nan():
    x = np.random.default_rng(0).random((3, 4, 15))
    x[0, 1, ::3] = np.nan
    lazy, weights = wr.from_array(x, chunks=(2, 3, 5)), np.arange(1.0, 16)
    for axis, line in ((-1, weights), (1, weights[:4])):
        full = np.broadcast_to(line if axis == -1 else line[:, None], x.shape)
        for q in (0.3, [0.2, 0.9]):
            for given in (line, wr.from_array(line, chunks=2)):
                got = wr.nanquantile(lazy, q, axis=axis, weights=given, method="inverted_cdf")
                wanted = np.nanquantile(x, q, axis=axis, weights=full, method="inverted_cdf")
                np.testing.assert_array_equal(got.compute(), wanted)


def test_gufunc():
    values = np.arange(24.0).reshape(4, 6)
    x = wr.from_array(values, chunks=(2, 4))

    @wr.as_gufunc("(i)->(),()", output_dtypes=(float, float))
    def ends(block):
        """Both ends."""
        return block.min(-1), block.max(-1)

    low, high = ends(x)
    np.testing.assert_array_equal(low.compute(), values.min(-1))
    np.testing.assert_array_equal(high.compute(), values.max(-1))
    assert (ends.__name__, ends.__doc__) == ("ends", "Both ends.")
    norm = wr.gufunc(np.linalg.norm, signature="(i)->()", vectorize=True, output_dtypes=float, axis=0)
    np.testing.assert_allclose(norm(x).compute(), np.linalg.norm(values, axis=0), rtol=1e-14)
    power = wr.gufunc(lambda a, n=1: a**n, signature="()->()")
    np.testing.assert_array_equal(power(x, n=2).compute(), values**2)


def test_blocks_in_a_list():
    values = np.arange(24).reshape(4, 6)
    found = wr.from_array(values, chunks=(2, 4)).blocks.ravel()
    assert [b.shape for b in found] == [(2, 4), (2, 2), (2, 4), (2, 2)]
    np.testing.assert_array_equal(found[2].compute(), values[2:, :4])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda x: wr.apply_gufunc(np.sort, "(i)->(i)", x, axes=0),
            "apply_gufunc: argument 'axes' is 0; expected a list",
        ),
        (
            lambda x: wr.apply_gufunc(np.mean, "(i)->(j)", x),
            r"apply_gufunc: argument 'func' is .*mean', which returned an array of shape \(\)",
        ),
        (lambda x: wr.gufunc(np.sort, signature="i->i"), "gufunc: argument 'signature' is 'i->i'"),
        (lambda x: wr.as_gufunc("(i)->(i)", vectorise=True)(np.sort), "no such keyword"),
        (lambda x: wr.random.normal(size=3, chunk=2), "normal: argument 'chunk' is 2; .* did you mean 'chunks'"),
        (lambda x: wr.random.rand(3, chunk=2), "rand: argument 'chunk' is 2"),
        (lambda x: x.rechunk(1, 2, 3), r"^rechunk\(\) takes from 1 to 2 positional"),
        (lambda x: wr.sum(*[x] * 9), r"^sum\(\) takes from 1 to"),
        (lambda x: x.astype(), r"^astype\(\) missing 1 required"),
        (lambda x: wr.Cluster(1, 2, 3, 4, 5, 6), r"^Cluster\(\) takes from"),
        (lambda x: wr.linalg.cholesky(x, lower=True), "cholesky: argument 'lower' is True; .* upper=True"),
        (lambda x: wr.linalg.solve(x, x, assume_a="pos"), "solve: argument 'assume_a' .* cholesky"),
    ],
)
def test_calls_that_do_not_fit(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call(wr.ones((4, 4), chunks=2))


def test_names_of_dask_are_explained():
    for module, name, text in (
        (wr.fft, "fft_wrap", "apply_along_axis"),
        (wr.overlap, "boundaries", "boundary="),
        (wr, "lib", "sliding_window_view"),
    ):
        with pytest.raises(AttributeError, match=f"{name}'; .*{re.escape(text)}"):
            getattr(module, name)
    x = wr.ones(3)
    with pytest.raises(AttributeError, match=r"x\.rechunk"):
        x.chunks = ((1, 2),)


def test_operators_of_both_kinds_say_how_to_convert():
    da = pytest.importorskip("dask.array")
    x, y = wr.arange(4, chunks=2), da.arange(4, chunks=2)
    for operate in (
        lambda: x + y, lambda: y + x, lambda: x < y, lambda: x == y, lambda: y != x, lambda: x @ y, lambda: y @ x,
        lambda: y**x, lambda: x**y, lambda: x.copy().__iadd__(y), lambda: divmod(x, y),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"an operand is a dask array; .*windrow\.from_dask\(x\).*to_dask\(\)"):
            operate()
    assert (x + wr.from_dask(y)).tolist() == [0, 2, 4, 6]
