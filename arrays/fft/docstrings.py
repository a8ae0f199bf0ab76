"""What docstrings of Fourier transforms have in common."""

from __future__ import annotations

from ...workers.docstrings import Glossary
from ..docstrings import COMMON

FOURIER = Glossary(
    """
{axes}
axes : sequence of int, optional
    The axes along which to transform; None: all, or as many of the last as `s` has.
{two_axes}
axes : sequence of int
    The axes along which to transform.
{axis}
axis : int
    The axis along which to transform.
{n}
n : int, optional
    Number of points of the axis, which is cut or padded with zeros. None: its length.
{norm}
norm : {"backward", "ortho", "forward"}, optional
    Where results are divided by the number of points. "backward" (and None): by the inverse transform; "ortho":
    by both, by its square root; "forward": by the forward transform.
{s}
s : sequence of int, optional
    Number of points along each of the axes, which are cut or padded with zeros; -1 stands for an axis' length.
    None: their lengths.
{line_errors}
ArgumentError
    `a` can't be read as an array; `n` or `axis` isn't an integer; or `norm` is unknown.
{entry AxisError}
ShapeError
    There is less than one point to transform, or the result doesn't broadcast to `out`.
{half_grid_errors}
ArgumentError
    `a` can't be read as an array; `s` or `axes` isn't integers; or `norm` is unknown.
{entry AxisError}
ShapeError
    There is less than one point to transform, `s` and `axes` have different lengths, there is no axis, or the
    result doesn't broadcast to `out`.
{DTypeError}
DTypeError
    `a` isn't numbers, or the result isn't cast to the dtype of `out`.
{not_real}
DTypeError
    `a` isn't real numbers, or the result isn't cast to the dtype of `out`.
""",
    COMMON,
)
