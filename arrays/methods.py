"""Methods of arrays that are functions of the same name; these hold the documentation."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from .base import ArrayBase, check_axis, check_own, wrap
from .chunking.rechunk import rechunk
from .creation import diagonals
from .files import store as storing
from .files.folder import save
from .files.npy import to_npy
from .files.parquet import to_parquet
from .indexing import nonzero as searching
from .indexing import points
from .indexing.flat_view import FlatView
from .indexing.putting import put
from .ops import cumulative, extremes, joining, moving, products, reshaping, spreads, taking, ufuncs, views
from .ops import elementwise as ew
from .ops import reductions as red
from .sorting import search, sorts, top
from .statistics import central
from .user_functions import map_blocks as mapping
from .user_functions import overlap, reduction

if TYPE_CHECKING:
    from .array import Array

Axes = int | Sequence[int] | None
P = ParamSpec("P")
R = TypeVar("R")


def second(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[ArrayBase, Callable[..., Any], P], R]:
    """Return the method of a function whose array comes after another function."""

    @functools.wraps(function)
    def method(self: ArrayBase, func: Callable[..., Any], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return cast("Callable[..., R]", function)(func, self, *args, **kwargs)

    found = inspect.signature(function)
    self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    vars(method)["__signature__"] = found.replace(parameters=[self, *found.parameters.values()])
    return method


class Methods(ArrayBase):
    """NumPy's methods, and those that users of chunked arrays expect.

    A function whose first argument is the array is a method as it stands; those of others say which one.
    """

    __slots__ = ()

    map_blocks = second(mapping.map_blocks)  # type: ignore[arg-type]
    map_overlap = second(overlap.map_overlap)  # type: ignore[arg-type]
    topk = top.topk
    argtopk = top.argtopk
    reduction = reduction.reduction
    moment = central.moment
    shuffle = points.shuffle
    store = storing.store

    def sum(
        self,
        axis: Axes = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
        **unknown: Any,
    ) -> Array:
        """See `windrow.sum`."""
        return red.sum(self, axis, dtype, out, keepdims, initial, where, **unknown)

    def prod(
        self,
        axis: Axes = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
        **unknown: Any,
    ) -> Array:
        """See `windrow.prod`."""
        return red.prod(self, axis, dtype, out, keepdims, initial, where, **unknown)

    def cumsum(
        self, axis: int | None = None, dtype: Any = None, out: Any = None, *, method: str = "sequential"
    ) -> Array:
        """See `windrow.cumsum`."""
        return cumulative.cumsum(self, axis, dtype, out, method=method)

    def cumprod(
        self, axis: int | None = None, dtype: Any = None, out: Any = None, *, method: str = "sequential"
    ) -> Array:
        """See `windrow.cumprod`."""
        return cumulative.cumprod(self, axis, dtype, out, method=method)

    def mean(
        self, axis: Axes = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any
    ) -> Array:
        """See `windrow.mean`."""
        return red.mean(self, axis, dtype, out, keepdims, **options)

    def var(
        self,
        axis: Axes = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        **options: Any,
    ) -> Array:
        """See `windrow.var`."""
        return spreads.var(self, axis, dtype, out, ddof, keepdims, **options)

    def std(
        self,
        axis: Axes = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        **options: Any,
    ) -> Array:
        """See `windrow.std`."""
        return spreads.std(self, axis, dtype, out, ddof, keepdims, **options)

    def min(self, axis: Axes = None, out: Any = None, keepdims: bool = False, *more: Any, **options: Any) -> Array:
        """See `windrow.min`."""
        return extremes.min(self, axis, out, keepdims, *more, **options)

    def max(self, axis: Axes = None, out: Any = None, keepdims: bool = False, *more: Any, **options: Any) -> Array:
        """See `windrow.max`."""
        return extremes.max(self, axis, out, keepdims, *more, **options)

    def any(self, axis: Axes = None, out: Any = None, keepdims: bool = False, **options: Any) -> Array:
        """See `windrow.any`."""
        return extremes.any(self, axis, out, keepdims, **options)

    def all(self, axis: Axes = None, out: Any = None, keepdims: bool = False, **options: Any) -> Array:
        """See `windrow.all`."""
        return extremes.all(self, axis, out, keepdims, **options)

    def argmin(self, axis: int | None = None, out: Any = None, **options: Any) -> Array:
        """See `windrow.argmin`."""
        return extremes.argmin(self, axis, out, **options)

    def argmax(self, axis: int | None = None, out: Any = None, **options: Any) -> Array:
        """See `windrow.argmax`."""
        return extremes.argmax(self, axis, out, **options)

    def ptp(self, axis: Axes = None, out: Any = None, keepdims: bool = False) -> Array:
        """See `windrow.ptp`."""
        return extremes.ptp(self, axis, out, keepdims)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Array:
        """See `windrow.astype`."""
        return ew.astype(self, dtype, copy=copy, casting=casting)

    def round(self, decimals: int = 0, out: Any = None) -> Array:
        """See `windrow.round`."""
        return ew.round(self, decimals, out)

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Array:
        """See `windrow.clip`."""
        return ew.clip(self, min, max, out, **options)

    def conj(self) -> Array:
        """See `windrow.conj`."""
        return ufuncs.conjugate(self)  # type: ignore[no-any-return]

    conjugate = conj

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: bool | None = True) -> None:
        """Sort the elements along an axis, in place; see `windrow.sort`.

        Parameters
        ----------
        axis : int
            The axis.
        kind : str, optional
            Accepted for NumPy and ignored, if it is one of its names.
        order : str or sequence of str, optional
            Fields of records to sort by first.
        stable : bool, optional
            Accepted for NumPy: sorts are stable.

        Raises
        ------
        ArgumentError
            `axis` is not an integer. `kind` is unknown.
        AxisError
            `axis` is out of range for the array.

        Examples
        --------
        >>> import windrow as wr
        >>> x = wr.asarray([3, 1, 2])
        >>> x.sort()
        >>> x.compute()
        array([1, 2, 3])
        """
        check_own("sort", self)
        self.expr = sorts.sort(self, check_axis("sort", axis, self.ndim), kind, order, stable=stable).expr

    def argsort(
        self, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = True
    ) -> Array:
        """See `windrow.argsort`."""
        return sorts.argsort(self, axis, kind, order, stable=stable)

    def partition(self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
        """Reorder the elements along an axis around some positions, in place; see `windrow.partition`.

        Parameters
        ----------
        kth : int or sequence of int
            Positions whose elements come to where sorting would put them, smaller ones before and larger ones after.
        axis : int
            The axis.
        kind : str
            Accepted for NumPy and ignored, if it is one of its names.
        order : str or sequence of str, optional
            Fields of records to sort by first.

        Raises
        ------
        ArgumentError
            `axis` is not an integer. `kth` is no position along the axis, `kind` is unknown.
        AxisError
            `axis` is out of range for the array.

        Examples
        --------
        >>> import windrow as wr
        >>> x = wr.asarray([3, 1, 2])
        >>> x.partition(0)
        >>> int(x[0])
        1
        """
        check_own("partition", self)
        self.expr = sorts.partition(self, kth, check_axis("partition", axis, self.ndim), kind, order).expr

    def argpartition(self, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Array:
        """See `windrow.argpartition`."""
        return sorts.argpartition(self, kth, axis, kind, order)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Array:
        """See `windrow.searchsorted`."""
        return search.searchsorted(self, v, side, sorter)

    @property
    def real(self) -> Array:
        """The real parts; when they are set, the array stands for the result."""
        return ew.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.expr = views.with_real(self, value).expr

    @property
    def imag(self) -> Array:
        """The imaginary parts; when they are set, the array stands for the result."""
        return ew.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.expr = views.with_imag(self, value).expr

    @property
    def flat(self) -> FlatView:
        """The elements along one axis, in C order: `x.flat[i]`, `x.flat[i] = v`."""
        return FlatView(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        FlatView(self)[...] = value

    def view(self, dtype: Any = None, type: Any = None, order: str = "C") -> Array:
        """Return the elements' bytes read as another dtype.

        There are no views: setting elements of the result leaves the array as it is.

        Parameters
        ----------
        dtype : dtype, optional
            To read the bytes as; None: the array's own. One of another size changes the length of the last axis.
        type : None
            Only None: there are no other classes.
        order : {"C", "F"}
            "F": the first axis changes its length.

        Returns
        -------
        Array
            Lazy.

        Raises
        ------
        ArgumentError
            `type` is a class, or `order` is unknown.
        ShapeError
            The array is 0-d, and `dtype` has another size.
        DTypeError
            `dtype` is none, or its size doesn't divide the bytes of the axis.

        Notes
        -----
        Unlike NumPy's, the result is no view: setting its elements leaves the array as it is.

        Examples
        --------
        >>> import windrow as wr
        >>> wr.ones(1).view("u8").compute()
        array([4607182418800017408], dtype=uint64)
        """
        return views.view(self, dtype, type, order)

    def byteswap(self, inplace: bool = False) -> Array:
        """Return the elements with their bytes in reverse order.

        Parameters
        ----------
        inplace : bool
            Whether the array stands for them from then on.

        Returns
        -------
        Array
            Lazy, of the same shape and dtype.

        Examples
        --------
        >>> import windrow as wr
        >>> wr.asarray([1]).astype("u2").byteswap().compute()
        array([256], dtype=uint16)
        """
        swapped = views.byteswap(self)
        if not inplace:
            return swapped
        self.expr = swapped.expr
        return wrap(self.expr)

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Change shape and size in place: elements keep their C order, and zeros follow them.

        Parameters
        ----------
        *new_shape : int or tuple of int
            The shape, as one tuple or several lengths.
        refcheck : bool
            Accepted for NumPy and ignored: nothing refers to the array's memory.

        Raises
        ------
        ArgumentError
            `new_shape` is not an integer or a tuple of integers.
        ShapeError
            `new_shape` has a negative length, or 2**63 elements or more.

        Examples
        --------
        >>> import windrow as wr
        >>> x = wr.arange(3)
        >>> x.resize(2, 2)
        >>> x.compute()
        array([[0, 1],
               [2, 0]])
        """
        self.expr = views.resize_array(self, new_shape[0] if len(new_shape) == 1 else new_shape).expr

    @property
    def T(self) -> Array:
        """The array with its axes reversed."""
        return moving.transpose(self)

    @property
    def mT(self) -> Array:
        """The array with its last two axes swapped."""
        return moving.matrix_transpose(self)

    def transpose(self, *axes: Any) -> Array:
        """See `windrow.transpose`."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return moving.transpose(self, given or None)

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """See `windrow.swapaxes`."""
        return moving.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Axes = None) -> Array:
        """See `windrow.squeeze`."""
        return moving.squeeze(self, axis)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None, chunks: Any = None) -> Array:
        """See `windrow.reshape`."""
        given = shape[0] if len(shape) == 1 else shape
        return reshaping.reshape(self, given, order, copy=copy, chunks=chunks)

    def ravel(self, order: str = "C") -> Array:
        """See `windrow.ravel`."""
        return reshaping.ravel(self, order)

    flatten = reshaping.flatten

    def rechunk(self, chunks: Any = "auto") -> Array:
        """See `windrow.rechunk`."""
        return rechunk(self, chunks)

    def take(self, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise") -> Array:
        """See `windrow.take`."""
        return taking.take(self, indices, axis, out, mode)

    def choose(self, choices: Any, out: None = None, mode: str = "raise") -> Array:
        """See `windrow.choose`."""
        return taking.choose(self, choices, out, mode)

    def compress(self, condition: Any, axis: int | None = None, out: None = None) -> Array:
        """See `windrow.compress`."""
        return searching.compress(condition, self, axis, out)

    def nonzero(self) -> tuple[Array, ...]:
        """See `windrow.nonzero`."""
        return searching.nonzero(self)

    def repeat(self, repeats: Any, axis: int | None = None) -> Array:
        """See `windrow.repeat`."""
        return joining.repeat(self, repeats, axis)

    def dot(self, b: Any, out: Any = None) -> Any:
        """See `windrow.dot`."""
        return products.dot(self, b, out)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
        """See `windrow.trace`."""
        return diagonals.trace(self, offset, axis1, axis2, dtype, out)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """See `windrow.diagonal`."""
        return diagonals.diagonal(self, offset, axis1, axis2)

    def save(self, path: Any, *, overwrite: bool | None = None) -> None:
        """See `windrow.save`."""
        save(path, self, overwrite=overwrite)

    def to_npy(self, path: Any, *, overwrite: bool = False, storage_options: dict[str, Any] | None = None) -> None:
        """See `windrow.to_npy`."""
        to_npy(self, path, overwrite=overwrite, storage_options=storage_options)

    def to_parquet(self, path: Any, *, overwrite: bool = False, storage_options: dict[str, Any] | None = None) -> None:
        """See `windrow.to_parquet`."""
        to_parquet(path, self, overwrite=overwrite, storage_options=storage_options)

    def to_hdf5(self, filename: Any, datapath: str, **kwargs: Any) -> Any:
        """See `windrow.to_hdf5`."""
        from .files.hdf5 import to_hdf5

        return to_hdf5(filename, datapath, self, **kwargs)

    def to_zarr(self, *args: Any, **kwargs: Any) -> Any:
        """See `windrow.to_zarr`."""
        from .files.zarr import to_zarr

        return to_zarr(self, *args, **kwargs)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """See `windrow.put`."""
        put(self, indices, values, mode)
