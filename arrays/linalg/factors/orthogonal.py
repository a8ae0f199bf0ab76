"""QR factorisation: by rows for tall matrices, by panels of Householder's reflections for other large ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, bad
from ....graph.kinds.mapping import BlockFunction
from ...base import make
from ...chunking.rechunk import regrid
from ...creation.ranges import eye
from ...ops.elementwise.functions import astype
from ...ops.moves.axis_moves import matrix_transpose
from ...refitting import refittable
from ..common import by_blocks, map_stacks, matrices, panel_width, part, place_parts, step, wide
from .tall import Tall, is_tall, tall_triangle

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "qr",
]

ACROSS = 1 << 20
"""Size of the chunks beside the panels, for a matrix with more columns than rows."""


class QRResult(NamedTuple):
    """The factors."""

    Q: Array
    R: Array


def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Factor matrices, `a = Q @ R`, with orthonormal columns in Q and an upper triangle R.

    Parameters
    ----------
    a : array_like (..., M, N)
        Matrices of float32, float64, complex64 or complex128; integers and bool are computed as float64.
    mode : {"reduced", "complete", "r"}
        Q of K = min(M, N) columns, Q of M columns, or R alone.

    Returns
    -------
    QRResult or Array
        A named tuple: `Q` (..., M, K) and `R` (..., K, N); R alone for mode "r". In the dtype of `a`, float64 for
        integers.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `mode` is unknown.
    ShapeError
        `a` has fewer than two axes.
    DTypeError
        The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.

    Notes
    -----
    Tall matrices are factored by blocks of rows, whose triangles are factored again (TSQR); other large ones by panels
    of Householder's reflections, each panel with all its rows in one chunk. The matrices of a stack have one chunk
    each.

    Signs of R's rows may differ from NumPy's, and NumPy's mode "raw" isn't there.

    >>> x = wr.random.default_rng(1).random((1000, 3), chunks=(100, 3))
    >>> q, r = wr.linalg.qr(x)
    >>> bool((abs(q @ r - x) < 1e-14).all())
    True
    """
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(bad("qr", "mode", mode, "'reduced', 'complete' or 'r'"))
    x = matrices("qr", "a", a)
    if mode == "r":
        return triangle(x)
    m, n = x.shape[-2:]
    if by_blocks(x):
        q, r = complete(x) if mode == "complete" else factor_reduced(x)
        return QRResult(astype(q, x.dtype), astype(r, x.dtype))
    columns = m if mode == "complete" else min(m, n)
    both = map_stacks("linalg.whole:qr", (x,), (m + n, columns), x.dtype, (mode,))
    return QRResult(both[..., :m, :], matrix_transpose(both[..., m:, :]))


@refittable
def factor_reduced(x: Array) -> tuple[Array, Array]:
    """Return Q and R of a large matrix, in double precision."""
    m, n = x.shape
    if is_tall(x):
        tall = Tall.of(wide(x))
        return tall.form(None), tall.triangle
    panels = Reflections.of(wide(x), panel_width(min(m, n)))
    return panels.form(min(m, n)), panels.triangle(min(m, n))


@refittable
def complete(x: Array) -> tuple[Array, Array]:
    """Return square Q, and R with as many rows as `x`, in double precision."""
    panels = Reflections.of(wide(x), panel_width(min(x.shape)))
    return panels.form(len(x)), panels.triangle(len(x))


@refittable
def triangle(x: Array) -> Array:
    """Return R alone."""
    m, n = x.shape[-2:]
    if not by_blocks(x):
        return map_stacks("linalg.whole:qr_r", (x,), (min(m, n), n), x.dtype)
    if is_tall(x):
        return astype(tall_triangle(wide(x)), x.dtype)
    return astype(Reflections.of(wide(x), panel_width(min(m, n))).triangle(min(m, n)), x.dtype)


@dataclass(frozen=True)
class Reflections:
    """A matrix factored by panels: each panel's reflections, and the rows of R beside it."""

    shape: tuple[int, int]
    width: int
    across: int
    panels: tuple[Array, ...]
    beside: tuple[Array, ...]

    @classmethod
    def of(cls, x: Array, width: int) -> Reflections:
        """Factor a matrix; a panel has all remaining rows in one chunk."""
        m, n = x.shape
        across = max(width, ACROSS // m) if n > m else width
        rest = part(x, (0, m), (0, n), (Axis.whole(m), Axis.regular(n, across)))
        panels, rows = [], []
        for lo in range(0, min(m, n), width):
            left, wide_by = m - lo, min(width, min(m, n) - lo)
            own = part(rest, (0, left), (0, wide_by))
            panel = step("linalg.factors:qr_panel", (own,), Grid.single((left + wide_by, wide_by)), [(0, 1)])
            panels.append(panel)
            after = n - lo - wide_by
            if after:
                columns = Axis.regular(after, across)
                others = part(rest, (0, left), (wide_by, n - lo), (Axis.whole(left), columns))
                done = step("linalg.factors:qr_update", (panel, others), others.expr.grid, [(None, None), (0, 1)])
                rows.append(part(done, (0, wide_by), (0, after), (Axis.whole(wide_by), columns)))
                if left > wide_by:
                    height = left - wide_by
                    rest = part(done, (wide_by, left), (0, after), (Axis.whole(height), columns))
        return cls((m, n), width, across, tuple(panels), tuple(rows))

    def triangle(self, rows: int) -> Array:
        """Return the first rows of R."""
        n = self.shape[1]
        parts: list[tuple[Array, int, int]] = []
        for number, panel in enumerate(self.panels):
            at, size = number * self.width, panel.shape[1]
            top = step("linalg.factors:triu", (panel,), Grid.single((size, size)), [(None, None)])
            parts.append((top, at, at))
            if number < len(self.beside):
                parts.append((self.beside[number], at, at + size))
        return place_parts(parts, Grid([Axis.regular(rows, self.width), Axis.regular(n, self.across)]))

    def form(self, columns: int) -> Array:
        """Return the first columns of Q: reflections are applied to the unit matrix, the last ones first."""
        m = self.shape[0]
        q: Array | None = None
        for number in reversed(range(len(self.panels))):
            panel, at = self.panels[number], number * self.width
            size = panel.shape[1]
            height, count = m - at, columns - at
            grid = Grid([Axis.whole(height), Axis.regular(count, self.width)])
            corner = regrid(eye(height, count, dtype=panel.dtype), grid)
            q = corner if q is None else place_parts([(q, size, size)], grid)
            op = BlockFunction("linalg.factors:qr_form", (), ((None, None), (0, 1)), True)
            q = make(op, (panel, q), grid, panel.dtype)
        assert q is not None
        return q
