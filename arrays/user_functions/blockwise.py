"""Users' own operations: functions of matched blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ChunksError, ShapeError, bad
from ...graph.kinds.mapping import MapBlocks
from ..base import as_array, few, make
from ..chunking.rechunk import regrid
from .map_blocks import read_dtype
from .travel.adapters import Interleaved, Listed
from .travel.pickling import infer_dtype, name_of, payload, refuse_captured

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..array import Array
    from ..typing import DTypeLike

__all__ = [
    "blockwise",
    "unify_chunks",
]


def blockwise(
    func: Callable[..., Any],
    out_ind: Any,
    *args: Any,
    dtype: DTypeLike = None,
    new_axes: dict[Any, Any] | None = None,
    adjust_chunks: dict[Any, Any] | None = None,
    align_arrays: bool = True,
    concatenate: bool | None = True,
    name: str | None = None,
    token: str | None = None,
    meta: object = None,
    memory: float | None = None,
    **kwargs: Any,
) -> Array:
    """Apply a function to blocks that are matched by the labels of their axes.

    Chunks along an axis that the result lacks are joined, unless `concatenate` is false.

    Parameters
    ----------
    func : callable
        Takes NumPy arrays, a block of each argument, and returns the result's block. It is pickled now.
    out_ind : str or sequence
        Labels of the result's axes.
    *args : alternating array_like and labels
        Each array is followed by the labels of its axes; None marks an argument that is passed on as it is.
    dtype : dtype, optional
        Of the result; None: found by calling `func` on arrays of one element.
    new_axes : dict, optional
        Lengths, or sizes of chunks, of axes that no argument has, by label.
    adjust_chunks : dict, optional
        For labels whose chunks `func` makes larger or smaller: a function of a size, a size, or all sizes.
    align_arrays : bool
        Whether to rechunk arrays to common chunks; False: they must agree already.
    concatenate : bool or None
        Whether `func` gets the chunks along an axis that the result lacks joined; else in a list, nested where there
        are several such axes.
    name, token : str, optional
        The operation's name in representations and drawings; None: the function's.
    meta : numpy.ndarray, optional
        An empty array of the result's dtype, as in dask.
    memory : float, optional
        How many times the bytes of its arguments and its result `func` takes while it runs, for the bound on memory
        that `explain` tells; None: three times.
    **kwargs : any
        Passed on to `func`.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ArgumentError
        `args` can't be read as an array. `args` don't come in pairs, `out_ind` has an unknown or repeated label, or
        `func` can't be pickled.
    ShapeError
        Labels don't match an array's axes, or axes of one label differ in length.
    DTypeError
        There is no `dtype`, and `func` raises an error when it is called on arrays of one element to find the dtype.
        `dtype` is not a NumPy dtype, or one of Python objects.
    ChunksError
        Chunks differ and `align_arrays` is False, or `adjust_chunks` gives another number of chunks.

    Notes
    -----
    Unlike in dask, `concatenate` is True by default.

    >>> x, y = wr.ones((4, 6), chunks=2), wr.ones((6, 2), chunks=(3, 1))
    >>> wr.blockwise(lambda a, b: a @ b, "ik", x, "ij", y, "jk", dtype=float).chunks
    ((2, 2), (1, 1))
    """
    if len(args) % 2:
        raise ArgumentError(bad("blockwise", "args", f"{len(args)} arguments", "pairs of an array and its axes' names"))
    out = tuple(few("blockwise", "out_ind", out_ind, "a label for each axis"))
    pairs = list(zip(args[::2], args[1::2], strict=True))
    arrays = [as_array("blockwise", f"args[{2 * i}]", a) for i, (a, names) in enumerate(pairs) if names is not None]
    named = [tuple(names) for _, names in pairs if names is not None]
    matched = _match_chunks(arrays, named, align_arrays)
    axes = {n: a if n in out else Axis.whole(a.length) for n, a in matched.items()}
    for axis_name, new_chunks in (new_axes or {}).items():
        sizes = (new_chunks,) if isinstance(new_chunks, int | np.integer) else tuple(new_chunks)
        axes[axis_name] = Axis.of_sizes(int(s) for s in sizes)
    if any(axis_name not in axes for axis_name in out) or len(set(out)) != len(out):
        raise ArgumentError(bad("blockwise", "out_ind", out_ind, f"different names among {sorted(map(str, axes))}"))
    arrays = [
        regrid(
            a,
            Grid([axes[i] if n == axes[i].length else Axis.whole(1) for n, i in zip(a.shape, names, strict=True)]),
        )
        for a, names in zip(arrays, named, strict=True)
    ]
    grid = Grid([_adjust_chunks(axes[i], (adjust_chunks or {}).get(i), i) for i in out])
    refuse_captured("blockwise", func)
    called: Any = func
    if not callable(func):
        raise ArgumentError(bad("blockwise", "func", func, "a function"))
    if len(arrays) < len(pairs):
        called = Interleaved(func, tuple((names is not None, None if names is not None else a) for a, names in pairs))
    operand_axes = tuple(
        tuple(
            out.index(i) if i in out and not (n == 1 and axes[i].length != 1) else None
            for n, i in zip(a.shape, names, strict=True)
        )
        for a, names in zip(arrays, named, strict=True)
    )
    plain = called
    if not concatenate:
        called = _wrap_lists(plain, matched, named, out, lambda axis: tuple(map(int, axis.sizes())))
    known = read_dtype("blockwise", dtype, meta)
    label = token or name or name_of(func)
    if known is None:
        lengths = [[1 if n in out or concatenate else matched[n].count for n in names] for names in named]
        samples = [np.ones(n, a.dtype) for n, a in zip(lengths, arrays, strict=True)]
        sample = called if concatenate else _wrap_lists(plain, matched, named, out, lambda axis: (1,) * axis.count)
        known = infer_dtype("blockwise", sample, samples, (), kwargs, label)
    packed = payload("blockwise", called, (), kwargs, label, memory)
    return make(MapBlocks(packed, operand_axes), arrays, grid, known)


def _match_chunks(arrays: list[Array], named: list[tuple[Any, ...]], align: bool) -> dict[Any, Axis]:
    """Return the chunks of each named axis, from the argument with most bytes."""
    axes: dict[Any, Axis] = {}
    for array, names in sorted(zip(arrays, named, strict=True), key=lambda pair: -pair[0].nbytes):
        if len(names) != array.ndim:
            raise ShapeError(bad("blockwise", "args", array.shape, f"an array of {len(names)} axes, {names}"))
        for name, axis in zip(names, array.expr.grid.axes, strict=True):
            known = axes.setdefault(name, axis)
            if known.length == 1 and axis.length != 1:
                axes[name] = axis
            elif axis.length not in (1, known.length):
                raise ShapeError(bad("blockwise", "args", array.shape, f"length {known.length} along {name!r}"))
            elif not align and axis != known and axis.length != 1:
                raise ChunksError(bad("blockwise", "align_arrays", align, f"True, since chunks differ along {name!r}"))
    return axes


def _wrap_lists(
    func: Callable[..., Any],
    axes: dict[Any, Axis],
    named: list[tuple[Any, ...]],
    out: tuple[Any, ...],
    sizes: Callable[[Axis], tuple[int, ...]],
) -> Listed:
    """Return a function that takes lists of blocks along the axes which the result lacks."""
    return Listed(
        func, tuple(tuple((i, sizes(axes[n])) for i, n in enumerate(names) if n not in out) for names in named)
    )


def _adjust_chunks(axis: Axis, change: Any, name: Any) -> Axis:
    if change is None:
        return axis
    sizes: list[int]
    if callable(change):
        changed: list[Any] = [change(n) for n in axis.sizes()]
        sizes = [int(n) for n in changed]
    else:
        sizes = [int(change)] * axis.count if isinstance(change, int | np.integer) else [int(n) for n in change]
    if len(sizes) != axis.count or min(sizes) < 0:
        raise ChunksError(bad("blockwise", "adjust_chunks", sizes, f"{axis.count} sizes for axis {name!r}"))
    return Axis.of_sizes(sizes)


def unify_chunks(*args: Any, warn: bool = True) -> tuple[dict[Any, tuple[int, ...]], list[Array]]:
    """Bring arrays to common chunks along axes of the same label.

    Parameters
    ----------
    *args : alternating array_like and labels
        Each array is followed by the labels of its axes; None marks an argument that is passed on as it is.
    warn : bool
        Accepted for dask and ignored.

    Returns
    -------
    chunks : dict
        For each label the sizes of the chunks: those of the one array that has several chunks there, else with every
        border that one of the arrays has.
    arrays : list
        The arrays with these chunks.

    Raises
    ------
    ArgumentError
        `args` can't be read as an array, or don't come in pairs.
    ShapeError
        Labels don't match an array's axes, or axes of one label differ in length.

    >>> chunks, (x, y) = wr.unify_chunks(wr.ones(6, chunks=2), "i", wr.ones(6, chunks=3), "i")
    >>> chunks
    {'i': (2, 1, 1, 2)}
    >>> x.chunks == y.chunks
    True
    """
    name = "unify_chunks"
    if len(args) % 2:
        raise ArgumentError(bad(name, "args", f"{len(args)} arguments", "pairs of an array and its axes' names"))
    pairs = [(a, None if names is None else tuple(names)) for a, names in zip(args[::2], args[1::2], strict=True)]
    arrays = [a if names is None else as_array(name, "args", a) for a, names in pairs]
    own: dict[Any, list[Axis]] = {}
    for array, (_, names) in zip(arrays, pairs, strict=True):
        if names is None:
            continue
        if len(names) != array.ndim:
            raise ShapeError(bad(name, "args", array.shape, f"an array of {len(names)} axes, {names}"))
        for label, axis in zip(names, array.expr.grid.axes, strict=True):
            own.setdefault(label, []).append(axis)
    axes = {label: _common_borders(label, label_axes) for label, label_axes in own.items()}
    fitted = []
    for array, (_, names) in zip(arrays, pairs, strict=True):
        if names is not None:
            lengths = zip(array.shape, names, strict=True)
            array = regrid(array, Grid([axes[i] if n == axes[i].length else Axis.whole(1) for n, i in lengths]))
        fitted.append(array)
    return {label: tuple(map(int, axis.sizes())) for label, axis in axes.items()}, fitted


def _common_borders(label: Any, axes: list[Axis]) -> Axis:
    """Return the chunks that arrays have together along an axis."""
    length = max((a.length for a in axes if a.length != 1), default=axes[0].length)
    for axis in axes:
        if axis.length not in (1, length):
            raise ShapeError(f"unify_chunks: arrays have lengths {axis.length} and {length} along {label!r}")
    several = [a for a in axes if a.length == length and a.count > 1]
    if not several or all(a == several[0] for a in several):
        return several[0] if several else Axis.whole(length)
    borders = np.unique(np.concatenate([np.asarray(a.stop(np.arange(a.count))) for a in several]))
    return Axis.of_sizes(int(n) for n in np.diff(borders, prepend=0))
