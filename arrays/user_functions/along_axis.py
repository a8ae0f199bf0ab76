"""Python's functions of lines, of axes and of elements, applied to arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.kinds.mapping import MapBlocks
from ...workers.kernels.user_results import plain
from ...workers.shared.shared_objects import as_ranks_see
from ..base import as_array, check_axis, check_dtype, check_shape, make
from ..chunking.coalesce import whole
from ..chunking.rechunk import drop_empty_chunks
from ..ops.moves.axis_moves import expand_dims
from .gufunc import apply_gufunc
from .map_blocks import map_blocks
from .travel.adapters import LineFunction
from .travel.pickling import call_on_samples, name_of, payload, refuse_captured

if TYPE_CHECKING:
    from ...graph.expr.expr import DType
    from ..array import Array
    from ..typing import ArrayLike, DTypeLike, ShapeLike

__all__ = [
    "apply_along_axis",
    "apply_over_axes",
    "vectorize",
]


def apply_along_axis(
    func1d: Callable[..., Any],
    axis: int,
    arr: ArrayLike,
    *args: Any,
    dtype: DTypeLike = None,
    shape: ShapeLike = None,
    **kwargs: Any,
) -> Array:
    """Apply a function to each 1-D slice along an axis.

    Parameters
    ----------
    func1d : callable
        Takes a 1-D NumPy array, returns a scalar or an array. It is pickled now.
    axis : int
        The axis, which is brought into one chunk.
    arr : array_like
        The array.
    *args : any
        Passed on to `func1d`.
    dtype : dtype, optional
        Of the result; None: found by calling `func1d` on ones.
    shape : int or tuple of int, optional
        Of what `func1d` returns; None: found by calling it on ones.
    **kwargs : any
        Passed on to `func1d`.

    Returns
    -------
    Array
        Lazy; the axes of what `func1d` returns stand where `axis` was.

    Raises
    ------
    ArgumentError
        `arr` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an
        integer. `func1d` fails on ones, can't be pickled, or uses a lazy array.
    ShapeError
        There is no slice: another axis is empty.
    AxisError
        `axis` is out of range for the array.
    DTypeError
        `arr` holds Python objects. `dtype` is not a NumPy dtype, or one of Python objects.

    Notes
    -----
    Unlike in NumPy, the function is also called once at the call, on ones, unless `dtype` and `shape` are given.

    >>> x = wr.arange(6).reshape(2, 3)
    >>> wr.apply_along_axis(lambda line: line[::-1], 1, x).compute()
    array([[2, 1, 0],
           [5, 4, 3]])
    """
    array = as_array("apply_along_axis", "arr", arr)
    at = check_axis("apply_along_axis", axis, array.ndim)
    refuse_captured("apply_along_axis", func1d)
    if any(n == 0 for i, n in enumerate(array.shape) if i != at):
        raise ShapeError(bad("apply_along_axis", "arr", array.shape, "at least one line"))
    if dtype is None or shape is None:
        called, positional, named = as_ranks_see((func1d, args, kwargs))
        try:
            with np.errstate(all="ignore"):
                trial = plain(name_of(func1d), called(np.ones(array.shape[at], array.dtype), *positional, **named))
        except Exception as error:
            raise ArgumentError(
                f"apply_along_axis: the function {name_of(func1d)!r} raised {type(error).__name__}: {error}, when it "
                "was tried on a line of ones to find dtype and shape of what it returns; with dtype= and shape= it "
                "isn't tried"
            ) from error
        dtype = trial.dtype if dtype is None else dtype
        shape = trial.shape if shape is None else shape
    lengths, known = check_shape("apply_along_axis", shape), check_dtype("apply_along_axis", "dtype", dtype)
    array = drop_empty_chunks(whole(array, (at,)), [i for i in range(array.ndim) if i != at])
    axes = list(array.expr.grid.axes)
    axes[at : at + 1] = [Axis.whole(n) for n in lengths]
    operand_axes = tuple(None if i == at else i if i < at else i - 1 + len(lengths) for i in range(array.ndim))
    packed = payload("apply_along_axis", LineFunction(func1d, at, args), (), kwargs, name_of(func1d))
    return make(MapBlocks(packed, (operand_axes,)), (array,), Grid(axes), known)


def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: int | Sequence[int]) -> Array:
    """Apply a function of an array and an axis to one axis after the other.

    Parameters
    ----------
    func : callable
        `func(array, axis)` of lazy arrays, such as `wr.sum`; an axis that it removes comes back as a size-1 axis.
    a : array_like
        The array.
    axes : int or sequence of int
        The axes.

    Returns
    -------
    Array
        Lazy, with as many axes as `a`.

    Raises
    ------
    ArgumentError
        An axis is not an integer. `a` can't be read as an array: an unknown object, a ragged sequence or a masked
        array.
    ShapeError
        `func` returns an array that lacks more than one axis.
    AxisError
        An axis is out of range for `a`.
    DTypeError
        `a` holds Python objects.

    >>> wr.apply_over_axes(wr.sum, wr.ones((2, 3, 4)), [0, 2]).compute()
    array([[[8.],
            [8.],
            [8.]]])
    """
    array = as_array("apply_over_axes", "a", a)
    for axis in axes if isinstance(axes, Sequence | np.ndarray) else (axes,):
        at = check_axis("apply_over_axes", axis, array.ndim, "axes")
        reduced = as_array("apply_over_axes", "func", func(array, at))
        if reduced.ndim == array.ndim - 1:
            reduced = expand_dims(reduced, at)
        if reduced.ndim != array.ndim:
            raise ShapeError(
                bad("apply_over_axes", "func", reduced.shape, f"an array of {array.ndim} axes, or one less")
            )
        array = reduced
    return array


class vectorize:
    """A function of scalars that takes arrays, as NumPy's `vectorize`: it is called for each element.

    Parameters
    ----------
    pyfunc : callable
        The function. It is pickled when it is called with arrays.
    otypes : str or sequence of dtype, optional
        Dtypes of the results; None: found by calling the function on ones.
    doc : str, optional
        The docstring; None: that of `pyfunc`.
    excluded : None
        Only None: arguments that are no arrays are passed by name.
    cache : bool
        Accepted for NumPy and ignored.
    signature : str, optional
        Core axes of arguments and results, as for `apply_gufunc`; None: scalars.

    Raises
    ------
    ArgumentError
        `pyfunc` is not callable, or `excluded` is given.
    DTypeError
        `otypes` is not a NumPy dtype, or one of Python objects.

    >>> least = wr.vectorize(lambda a, b: a if a < b else b)
    >>> least(wr.arange(4), 2).compute()
    array([0, 1, 2, 2])
    """

    def __init__(
        self,
        pyfunc: Callable[..., Any],
        otypes: Any = None,
        doc: str | None = None,
        excluded: None = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        if not callable(pyfunc):
            raise ArgumentError(bad("vectorize", "pyfunc", pyfunc, "a function"))
        if excluded:
            raise ArgumentError(bad("vectorize", "excluded", excluded, "None: hand such arguments over by name"))
        self.pyfunc, self.signature = pyfunc, signature
        types = [otypes] if isinstance(otypes, np.dtype | type) else otypes
        self._dtypes = None if types is None else [check_dtype("vectorize", "otypes", t) for t in types]
        self.__doc__ = pyfunc.__doc__ if doc is None else doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function for each element."""
        arrays = [as_array("vectorize", f"args[{i}]", a) for i, a in enumerate(args)]
        refuse_captured("vectorize", self.pyfunc)
        if self.signature is not None:
            return apply_gufunc(
                self.pyfunc, self.signature, *arrays, output_dtypes=self._dtypes, vectorize=True, **kwargs
            )
        types = self._find_dtypes(arrays, kwargs) if self._dtypes is None else self._dtypes
        if len(types) > 1:
            core = ",".join(["()"] * len(arrays)) + "->" + ",".join(["()"] * len(types))
            return apply_gufunc(self.pyfunc, core, *arrays, output_dtypes=types, vectorize=True, **kwargs)
        return map_blocks(np.vectorize(self.pyfunc, otypes=types), *arrays, dtype=types[0], **kwargs)

    def _find_dtypes(self, arrays: list[Array], kwargs: dict[str, Any]) -> list[DType]:
        """Return the dtypes of the results, which a call with ones tells."""
        samples = [np.ones((1,) * a.ndim, a.dtype) for a in arrays]
        function, name = np.vectorize(self.pyfunc), name_of(self.pyfunc)
        outputs = call_on_samples("vectorize", function, samples, (), kwargs, name, "otypes")
        results = outputs if isinstance(outputs, tuple) else (outputs,)
        return [check_dtype("vectorize", "otypes", each.dtype) for each in results]
