"""Generalised functions: of some axes, applied at all positions along the others."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ChunksError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction, MapBlocks
from ...workers.kernels.user_results import plain
from ...workers.shared.shared_objects import as_ranks_see
from ..base import as_array, check_axis, check_dtype, make
from ..chunking.coalesce import whole_grid
from ..chunking.rechunk import regrid
from ..ops.moves.axis_moves import moveaxis
from .gufunc_signature import Signature, core_sizes, read
from .map_blocks import read_dtype
from .travel.adapters import RecordFunction
from .travel.pickling import name_of, payload, refuse_captured

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..array import Array

__all__ = [
    "apply_gufunc",
    "as_gufunc",
    "gufunc",
]


def apply_gufunc(
    func: Callable[..., Any],
    signature: str,
    *args: Any,
    axes: Sequence[Any] | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    output_dtypes: Any = None,
    output_sizes: dict[str, int] | None = None,
    vectorize: bool = False,
    allow_rechunk: bool = True,
    meta: object = None,
    memory: float | None = None,
    **kwargs: Any,
) -> Any:
    """Apply a function of some axes, the core axes, at all positions along the others.

    Core axes are brought into one chunk each; the others broadcast, and are cut smaller so that chunks don't grow.

    Parameters
    ----------
    func : callable
        Takes NumPy arrays whose last axes are the core axes, and returns such; a tuple for several results. It is
        pickled now.
    signature : str
        Core axes of arguments and results, such as "(i,j),(j)->(i)" or "(i)->(),()".
    *args : array_like
        The arrays, as many as the signature has.
    axes : sequence, optional
        For each argument and result the positions of its core axes; results without core axes may be left out. None:
        the last ones.
    axis : int, optional
        Position of the one core axis that all arguments have.
    keepdims : bool
        Whether core axes stay as size-1 axes, where results have none.
    output_dtypes : dtype or sequence of dtype, optional
        Dtypes of the results; None: found by calling `func` on ones.
    output_sizes : dict, optional
        Lengths of core axes that only results have; None: found by calling `func` on ones.
    vectorize : bool
        Whether `func` takes core axes only, and is called for each position.
    allow_rechunk : bool
        Whether to join the chunks of core axes; False: several raise an error.
    meta : numpy.ndarray or sequence of them, optional
        Empty arrays of the results' dtypes, as in dask.
    memory : float, optional
        How many times the bytes of its arguments and its result `func` takes while it runs, for the bound on memory
        that `explain` tells; None: three times.
    **kwargs : any
        Passed on to `func`.

    Returns
    -------
    Array or tuple of Array
        Lazy; a tuple where the signature has several results.

    Raises
    ------
    ArgumentError
        `args` can't be read as an array. `signature` can't be read, arguments don't match it in number, options
        contradict each other, or `func` fails on ones or can't be pickled.
    ShapeError
        Core axes of one name differ in length, or other axes don't broadcast.
    AxisError
        An entry of `axes` is out of range.
    DTypeError
        `output_dtypes` is not a NumPy dtype, or one of Python objects.
    ChunksError
        A core axis has several chunks, and `allow_rechunk` is False.

    Notes
    -----
    Unlike in dask, `allow_rechunk` is True by default, and without `output_dtypes` they are found by calling `func`.

    >>> import numpy as np
    >>> import windrow as wr
    >>> def ends(x):
    ...     return x.min(axis=-1), x.max(axis=-1)
    >>> low, high = wr.apply_gufunc(ends, "(i)->(),()", wr.arange(6).reshape(2, 3))
    >>> low.compute(), high.compute()
    (array([0, 3]), array([2, 5]))
    """
    form = read("apply_gufunc", signature)
    if len(args) != len(form.inputs):
        raise ArgumentError(
            bad("apply_gufunc", "args", f"{len(args)} arrays", f"{len(form.inputs)}, as in {signature!r}")
        )
    arrays = [as_array("apply_gufunc", f"args[{i}]", a) for i, a in enumerate(args)]
    before, after = _places(form, axes, axis, keepdims)
    arrays = [_move_core(a, where, "apply_gufunc") for a, where in zip(arrays, before, strict=True)]
    sizes = core_sizes("apply_gufunc", form, [a.shape for a in arrays])
    called: Callable[..., Any] = func
    if vectorize:
        refuse_captured("apply_gufunc", func)
        called = np.vectorize(func, signature=signature.strip().rstrip(","))
    if not allow_rechunk and any(
        axis.count > 1
        for a, core in zip(arrays, form.inputs, strict=True)
        for axis in a.expr.grid.axes[a.ndim - len(core) :]
    ):
        raise ChunksError(
            bad("apply_gufunc", "allow_rechunk", allow_rechunk, "True, since a core axis has several chunks")
        )
    if meta is not None and output_dtypes is None:
        several = meta if isinstance(meta, tuple | list) else (meta,)
        output_dtypes = [read_dtype("apply_gufunc", None, each) for each in several]
    outer, arrays = _outer(arrays, form)
    shapes, dtypes = _results(
        form, called, arrays, sizes, output_dtypes, dict(output_sizes or {}), kwargs, name_of(func)
    )
    operand_axes = tuple(
        (*(None if n == 1 else len(outer) - len(own) + i for i, n in enumerate(own)), *(None,) * len(core))
        for own, core in ((a.shape[: a.ndim - len(c)], c) for a, c in zip(arrays, form.inputs, strict=True))
    )
    name = name_of(func)
    if len(form.outputs) == 1:
        packed = payload("apply_gufunc", RecordFunction(called, None, form.several), (), kwargs, name, memory)
        outputs = [make(MapBlocks(packed, operand_axes), arrays, _with_core(outer, shapes[0]), dtypes[0])]
    else:
        # All results lie in one array of records, so that the function is called once.
        record = np.dtype([(f"f{i}", d, s) for i, (d, s) in enumerate(zip(dtypes, shapes, strict=True))])
        packed = payload("apply_gufunc", RecordFunction(called, record, True), (), kwargs, name, memory)
        records = make(MapBlocks(packed, operand_axes), arrays, Grid(outer), record)
        own = (tuple(range(len(outer))),)
        outputs = [
            make(BlockFunction("elements.records:field", (f"f{i}",), own), (records,), _with_core(outer, s), d)
            for i, (d, s) in enumerate(zip(dtypes, shapes, strict=True))
        ]
    outputs = [_place_core(f, where, keepdims) for f, where in zip(outputs, after, strict=True)]
    return tuple(outputs) if form.several else outputs[0]


def gufunc(
    pyfunc: Callable[..., Any],
    *,
    signature: str,
    vectorize: bool = False,
    axes: Sequence[Any] | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    output_sizes: dict[str, int] | None = None,
    output_dtypes: Any = None,
    allow_rechunk: bool = True,
    meta: object = None,
) -> Callable[..., Any]:
    """Return a function of arrays that applies `pyfunc` as `apply_gufunc` does.

    Parameters
    ----------
    pyfunc : callable
        The function of NumPy arrays.
    signature : str
        Core axes of arguments and results, such as "(i)->()".
    vectorize, axes, axis, keepdims, output_sizes, output_dtypes, allow_rechunk, meta : optional
        As for `apply_gufunc`.

    Returns
    -------
    callable
        Takes arrays and returns lazy ones; keywords are passed on to `pyfunc`.

    Raises
    ------
    ArgumentError
        `signature` can't be read.

    >>> spread = wr.gufunc(lambda x: x.max(axis=-1) - x.min(axis=-1), signature="(i)->()")
    >>> spread(wr.arange(6, chunks=2).reshape(2, 3)).compute()
    array([2, 2])
    """
    read("gufunc", signature)

    @functools.wraps(pyfunc)
    def applied(*args: Any, **kwargs: Any) -> Any:
        return apply_gufunc(
            pyfunc,
            signature,
            *args,
            axes=axes,
            axis=axis,
            keepdims=keepdims,
            output_dtypes=output_dtypes,
            output_sizes=output_sizes,
            vectorize=vectorize,
            allow_rechunk=allow_rechunk,
            meta=meta,
            **kwargs,
        )

    return applied


def as_gufunc(signature: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function so that it takes arrays, as `gufunc` does.

    Parameters
    ----------
    signature : str
        Core axes of arguments and results, such as "(i)->()".
    **options : any
        Options of `gufunc`.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    ArgumentError
        When it decorates: `signature` can't be read.

    >>> @wr.as_gufunc("(i)->()", vectorize=True, output_dtypes=float)
    ... def middle(x):
    ...     return (x[0] + x[-1]) / 2
    >>> middle(wr.arange(6, chunks=2).reshape(2, 3)).compute()
    array([1., 4.])
    """
    return functools.partial(gufunc, signature=signature, **options)


def _places(form: Signature, axes: Any, axis: Any, keepdims: bool) -> tuple[list[Any], list[Any]]:
    """Return where the core axes of arguments are, and where those of results go."""
    count = len(form.inputs)
    if axis is not None:
        if axes is not None or any(len(c) != 1 for c in form.inputs) or any(len(c) > 1 for c in form.outputs):
            raise ArgumentError(bad("apply_gufunc", "axis", axis, "one core axis everywhere, and no axes="))
        axes = [(axis,)] * count + [(axis,) if c else () for c in form.outputs]
    if keepdims and (any(form.outputs) or len({len(c) for c in form.inputs}) != 1):
        raise ArgumentError(
            bad("apply_gufunc", "keepdims", keepdims, "results without core axes, arguments with as many")
        )
    core_axes: list[Any] = [tuple(range(-len(c), 0)) for c in (*form.inputs, *form.outputs)]
    if axes is not None:
        if not isinstance(axes, list | tuple):
            raise ArgumentError(bad("apply_gufunc", "axes", axes, "a list that has an entry for each argument"))
        named = [(a,) if isinstance(a, int | np.integer) else tuple(a) for a in axes]
        if len(named) == count and not any(form.outputs):
            named += [()] * len(form.outputs)
        lengths = [len(c) for c in (*form.inputs, *form.outputs)]
        fits = len(named) == len(core_axes) and all(
            len(n) in (m, len(form.inputs[0]) if keepdims and i >= count else m)
            for i, (n, m) in enumerate(zip(named, lengths, strict=True))
        )
        if not fits:
            raise ShapeError(bad("apply_gufunc", "axes", axes, f"places of {lengths} core axes"))
        core_axes = named
    if keepdims:
        core_axes[count:] = [g or core_axes[0] for g in core_axes[count:]]
    return core_axes[:count], core_axes[count:]


def _move_core(array: Array, places: tuple[int, ...], operation: str) -> Array:
    """Bring core axes to the end."""
    at = [check_axis(operation, p, array.ndim, "axes") for p in places]
    return moveaxis(array, at, range(-len(at), 0)) if at else array


def _place_core(array: Array, places: tuple[int, ...], keepdims: bool) -> Array:
    if keepdims:
        array = array.reshape(*array.shape, *(1,) * len(places))
    at = [check_axis("apply_gufunc", p, array.ndim, "axes") for p in places]
    return moveaxis(array, range(-len(at), 0), at) if at else array


def _outer(arrays: list[Array], form: Signature) -> tuple[list[Axis], list[Array]]:
    """Return the chunks of the axes that are no core axes, and the arrays on them, their core axes whole."""
    grids = [whole_grid(a.expr.grid, range(a.ndim - len(c), a.ndim)) for a, c in zip(arrays, form.inputs, strict=True)]
    loops = [g.axes[: g.ndim - len(c)] for g, c in zip(grids, form.inputs, strict=True)]
    try:
        shape = np.broadcast_shapes(*(tuple(a.length for a in loop) for loop in loops))
    except ValueError as error:
        listed = ", ".join(str(a.shape) for a in arrays)
        raise ShapeError(
            f"apply_gufunc: arguments have shapes {listed}; expected axes before the core that broadcast"
        ) from error
    axes = [Axis.whole(n) for n in shape]
    for _, loop in sorted(zip([a.nbytes for a in arrays], loops, strict=True), key=lambda pair: pair[0]):
        for i, axis in enumerate(loop, len(shape) - len(loop)):
            if axis.length == shape[i] and axis.length != 1:
                axes[i] = axis
    fitted = []
    for array, grid, loop in zip(arrays, grids, loops, strict=True):
        mine = axes[len(axes) - len(loop) :]
        own = [Axis.whole(1) if old.length == 1 else new for old, new in zip(loop, mine, strict=True)]
        fitted.append(regrid(array, Grid([*own, *grid.axes[len(loop) :]])))
    return axes, fitted


def _results(
    form: Signature,
    func: Callable[..., Any],
    arrays: list[Array],
    sizes: dict[str, int],
    dtypes: Any,
    more: dict[str, int],
    kwargs: dict[str, Any],
    name: str,
) -> tuple[list[tuple[int, ...]], list[np.dtype[Any]]]:
    """Return the core shape and the dtype of each result; where they aren't given, by calling the function on ones."""
    sizes = sizes | more
    known = dtypes
    if dtypes is not None:
        known = list(dtypes) if isinstance(dtypes, tuple | list) else [dtypes] * len(form.outputs)
        if len(known) != len(form.outputs):
            raise ArgumentError(bad("apply_gufunc", "output_dtypes", dtypes, f"{len(form.outputs)} dtypes"))
        known = [check_dtype("apply_gufunc", "output_dtypes", d) for d in known]
    if known is None or any(n not in sizes for core in form.outputs for n in core):
        samples = [
            np.ones((1,) * (a.ndim - len(c)) + tuple(sizes[n] for n in c), a.dtype)
            for a, c in zip(arrays, form.inputs, strict=True)
        ]
        called, named = as_ranks_see((func, kwargs))
        try:
            with np.errstate(all="ignore"):
                returned = called(*samples, **named)
        except Exception as error:
            raise ArgumentError(
                f"apply_gufunc: the function {name!r} raised {type(error).__name__}: {error}, when it was tried on "
                "ones to find dtypes and shapes of what it returns; with output_dtypes= and output_sizes= it "
                "isn't tried"
            ) from error
        count = len(form.outputs)
        parts = returned if form.several else (returned,)
        if not isinstance(parts, tuple | list | np.ndarray) or len(parts) != count:
            came = f"{len(parts)} results" if hasattr(parts, "__len__") else type(returned).__name__
            raise ArgumentError(bad("apply_gufunc", "func", f"{name!r}, which returned {came}", f"{count} results"))
        result_arrays = [plain(f"apply_gufunc: {name}", m) for m in parts]
        known = [check_dtype("apply_gufunc", "func", f.dtype) for f in result_arrays] if known is None else known
        for core, array in zip(form.outputs, result_arrays, strict=True):
            if array.ndim < len(core):
                came = f"{name!r}, which returned an array of shape {array.shape} for ones"
                raise ShapeError(bad("apply_gufunc", "func", came, f"one that ends with the core axes {core}"))
            sizes |= {n: m for n, m in zip(core, array.shape[array.ndim - len(core) :], strict=True) if n not in sizes}
    return [tuple(int(sizes[n]) for n in core) for core in form.outputs], known


def _with_core(outer: list[Axis], core: tuple[int, ...]) -> Grid:
    return Grid([*outer, *(Axis.whole(n) for n in core)])
