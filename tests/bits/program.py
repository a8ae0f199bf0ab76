"""Computes each kind of operation and prints a digest of the bits of each result, as one JSON line.

Words on the command line: `persist` keeps the sources' chunks first, `middle` those of what is used further on
(which is fused into its users else), `together` computes all in one call, `fortran` hands the sources in in Fortran
order, `kill` ends a rank while the last results are computed.
"""

from __future__ import annotations

import hashlib
import json
import runpy
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import windrow as wr
from support.ranks import kill_a_rank

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, COLUMNS = 300, 420


def sources(order: str) -> dict[str, np.ndarray]:
    """Arrays with awkward values, in one order or the other."""
    generator = np.random.default_rng(7)
    x = generator.standard_normal((ROWS, COLUMNS)) * 10.0 ** generator.integers(-8, 8, (ROWS, COLUMNS))
    x[3, 4], x[100, 200], x[299, 0] = np.nan, np.inf, -0.0
    y = generator.random((ROWS, COLUMNS)) + 0.5
    i = generator.integers(-1000, 1000, (ROWS, COLUMNS))
    line = generator.standard_normal(200_000)
    named = {"x": x, "y": y, "i": i, "f": y.astype(np.float32), "z": y + 1j * x.clip(-5, 5), "line": line}
    return {name: np.asarray(array, order=order) for name, array in named.items()}


CHUNKS = {"x": ((120, 1, 179), (200, 220)), "y": (77, 300), "i": (100, -1), "f": (300, 50), "z": (64, 111)}


def lazy(order: str) -> dict[str, wr.Array]:
    """The sources as arrays in uneven chunks."""
    found = sources(order)
    arrays = {name: wr.from_array(found[name], chunks=CHUNKS[name]) for name in CHUNKS}
    arrays["line"] = wr.from_array(found["line"], chunks=70_001)
    arrays["tiny"] = wr.from_array(found["line"][:5000], chunks=1)
    return arrays


def double(block: np.ndarray, block_id: tuple[int, ...] = ()) -> np.ndarray:
    """A user's function."""
    return np.asarray(block * 2 + sum(block_id))


def smooth(block: np.ndarray) -> np.ndarray:
    """A stencil that needs one neighbour on each side."""
    return np.asarray((np.roll(block, 1, 0) + block + np.roll(block, -1, 1)) / 3)


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """One expression or more for each kind of operation."""
    x, y, i, f, z, line, tiny = (a[name] for name in ("x", "y", "i", "f", "z", "line", "tiny"))
    random = wr.random.default_rng(11)
    uniform = random.random((500, 301), chunks=(123, 100))
    normal = keep(random.normal(2.0, 3.0, (77, 1001), chunks=(10, 333)))
    whole = random.integers(-5, 1000, 90_001, chunks=1000)
    arithmetic = keep((wr.sqrt(y * y + f) * 2 - 1) / (y + 0.25))
    wide = random.random((1100, 512), chunks=(300, 200))
    product = keep(y @ y.T)
    square = keep(line * line)
    halo = wr.map_overlap(smooth, y, depth=1, boundary="reflect")
    return {
        "elementwise": arithmetic,
        "transcendental": wr.exp(-y) + wr.sin(y) * wr.log1p(f) + wr.arctan2(x, y),
        "integers": (i // 7) ^ (i << 2),
        "complex": z * wr.conj(z) + wr.exp(z),
        "where": wr.where(x > 0, y, i),
        "broadcast": y - y.mean(axis=0) * f[:, :1],
        **{f"{name}-all": getattr(y, name)() for name in ("sum", "prod", "mean", "var", "std", "min", "max")},
        **{f"{name}-0": getattr(y, name)(axis=0) for name in ("sum", "prod", "mean", "var", "min", "argmax")},
        **{f"{name}-1": getattr(y, name)(axis=1, keepdims=True) for name in ("sum", "std", "max", "argmin")},
        "sum-nan": x.sum(),
        "sum-fused": arithmetic.sum(),
        "sum-line": (square + 1.5).sum(),
        "sum-exp": keep(wr.exp(-square)).sum(),
        "var-exp": keep(wr.exp(y)).var(axis=0),
        "mean-float32": (f * 3 - f).mean(),
        "sum-complex": z.sum(),
        "sum-tiny": (tiny + 1).sum(),
        "argmin": x.argmin(),
        "any": (x > 1e7).any(axis=0),
        "all": (y > 0.5).all(),
        "matmul": product,
        "matmul-sum": (product + 1).sum(),
        "matmul-thin": y.T @ y,
        "matmul-wide": y[:200].T @ (y[:200] + 1),
        "matmul-own": wide @ wide.T,
        "matmul-self": (y.T @ y) @ (y.T @ y),
        "tensordot": wr.tensordot(y, f, axes=((0,), (0,))),
        "transpose": x.T + 1,
        "add-transpose": (product + product.T).mean(),
        "reshape": y.reshape(210, 600),
        "ravel-sum": y.reshape(-1).sum(),
        "rechunk": y.rechunk((19, 400)).sum(axis=0),
        "concatenate": wr.concatenate([x, y[::2], f], axis=0),
        "stack": wr.stack([x, y], axis=1),
        "broadcast_to": wr.broadcast_to(y[0], (40, COLUMNS)),
        "slice": y[5:250:7, ::-3],
        "take": y[:, [5, 400, 3, 3, 77]],
        "mask": line[line > 0.5],
        "map_blocks": wr.map_blocks(double, y),
        "map_overlap": halo,
        "random": uniform,
        "normal": normal,
        "random-integers": whole,
        "normal-rechunked": normal.rechunk((77, 50)).sum(axis=1),
        "arange": wr.arange(0, 10, 0.3, chunks=7),
        "linspace": wr.linspace(-1, 1, 1001, chunks=100),
        "eye": wr.eye(40, 50, 3, chunks=(9, 11)),
    }


def every_case(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """The cases above, and those of each file in `cases/`: a function `cases(a, keep)` like the one above."""
    found = cases(a, keep)
    for path in sorted((Path(__file__).parent / "cases").glob("*.py")):
        more = runpy.run_path(str(path))["cases"](a, keep)
        assert not found.keys() & more.keys(), path
        found |= more
    return found


def digest(array: np.ndarray) -> str:
    """Name an array by its shape, dtype and bits."""
    array = np.asarray(array)
    content = np.ascontiguousarray(array).tobytes()
    return hashlib.blake2b(repr((array.shape, array.dtype)).encode() + content, digest_size=8).hexdigest()


def main(words: list[str]) -> None:
    """Compute and print."""
    arrays = lazy("F" if "fortran" in words else "C")
    if "persist" in words:
        arrays = {name: array.persist() for name, array in arrays.items()}
    wanted = every_case(arrays, wr.Array.persist if "middle" in words else lambda array: array)
    if "together" in words:
        found = dict(zip(wanted, wr.compute(*wanted.values()), strict=True))
    else:
        found = {}
        for number, (name, array) in enumerate(wanted.items()):
            if "kill" in words and number == len(wanted) // 2:
                threading.Timer(0.01, kill_a_rank).start()
            found[name] = array.compute()
    print(json.dumps({name: digest(array) for name, array in found.items()}), flush=True)
    if "kill" in words:
        assert len(wr.cluster().losses) == 1, wr.cluster().losses


if __name__ == "__main__":
    main(sys.argv[1:])
