"""Methods of arrays that are functions of the same name, with their documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .as_methods import documented, method, second
from .base import ArrayBase, check_axis, check_writable, wrap
from .chunking import rechunk as rechunking
from .creation import diagonals
from .files import npy
from .files.folder import save
from .files.tables.parquet import to_parquet
from .files.writing import store as storing
from .indexing import nonzero as searching
from .indexing.views import points
from .indexing.views.flat_view import FlatView
from .indexing.writes.putting import put
from .ops.elementwise import functions as ew
from .ops.elementwise import ufuncs
from .ops.moves import axis_moves, joining, reshaping, taking, views
from .ops.products import matrices
from .ops.reductions import cumulative, extremes, spreads
from .ops.reductions import sums as red
from .sorting import search, sorts, top
from .statistics import central
from .user_functions import map_blocks as mapping
from .user_functions import overlap, reduction

if TYPE_CHECKING:
    from .array import Array
    from .typing import ArrayLike, ChunksLike, DTypeLike, PathLike


class Methods(ArrayBase):
    """NumPy's methods, and those that users of chunked arrays expect.

    A function whose first argument is the array is a method as it stands; the others are called here.
    """

    __slots__ = ()

    map_blocks = second(mapping.map_blocks)  # type: ignore[arg-type]
    map_overlap = second(overlap.map_overlap)  # type: ignore[arg-type]
    topk = method(top.topk)
    argtopk = method(top.argtopk)
    reduction = method(reduction.reduction)
    moment = method(central.moment)
    shuffle = method(points.shuffle)
    store = method(storing.store)
    sum = method(red.sum)
    prod = method(red.prod)
    cumsum = method(cumulative.cumsum)
    cumprod = method(cumulative.cumprod)
    mean = method(red.mean)
    var = method(spreads.var)
    std = method(spreads.std)
    min = method(extremes.min)
    max = method(extremes.max)
    any = method(extremes.any)
    all = method(extremes.all)
    argmin = method(extremes.argmin)
    argmax = method(extremes.argmax)
    ptp = method(extremes.ptp)
    round = method(ew.round)
    clip = method(ew.clip)
    argsort = method(sorts.argsort)
    argpartition = method(sorts.argpartition)
    searchsorted = method(search.searchsorted)
    swapaxes = method(axis_moves.swapaxes)
    squeeze = method(axis_moves.squeeze)
    ravel = method(reshaping.ravel)
    rechunk = method(rechunking.rechunk)
    take = method(taking.take)
    choose = method(taking.choose)
    nonzero = method(searching.nonzero)
    repeat = method(joining.repeat)
    dot = method(matrices.dot)
    trace = method(diagonals.trace)
    diagonal = method(diagonals.diagonal)
    to_npy = method(npy.to_npy)
    flatten = method(reshaping.flatten)

    def astype(
        self, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Array:
        """Return the array with its elements cast to a dtype.

        Parameters
        ----------
        dtype : dtype
            To cast to.
        order : str
            Accepted for NumPy and ignored: chunks are in C order.
        casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
            What may be cast, by NumPy's rules.
        subok : bool
            Accepted for NumPy and ignored: there are no other classes.
        copy : bool
            False: where there is nothing to cast, the array itself is returned.

        Returns
        -------
        Array
            Lazy, of the same shape.

        Raises
        ------
        DTypeError
            `dtype` is not a NumPy dtype, or one of Python objects. `casting` doesn't allow the cast.

        >>> wr.arange(3).astype(float).compute()
        array([0., 1., 2.])
        """
        return ew.astype(self, dtype, copy=copy, casting=casting)

    def conj(self) -> Array:
        """Return the complex conjugate of each element.

        Returns
        -------
        Array
            Lazy; real elements stay as they are.

        Raises
        ------
        DTypeError
            The elements are no numbers.

        >>> wr.asarray([1 + 2j]).conj().compute()
        array([1.-2.j])
        """
        if self.dtype.kind in "iuf":
            return self  # type: ignore[return-value] # as NumPy's
        return ew.astype(self, bool) if self.dtype == bool else ufuncs.conjugate(self)

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

        >>> x = wr.asarray([3, 1, 2])
        >>> x.sort()
        >>> x.compute()
        array([1, 2, 3])
        """
        check_writable("sort", self)
        self.expr = sorts.sort(self, check_axis("sort", axis, self.ndim), kind, order, stable=stable).expr

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

        >>> x = wr.asarray([3, 1, 2])
        >>> x.partition(0)
        >>> int(x[0])
        1
        """
        check_writable("partition", self)
        self.expr = sorts.partition(self, kth, check_axis("partition", axis, self.ndim), kind, order).expr

    @property
    def real(self) -> Array:
        """The real parts, a view of the array."""
        return ew.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.expr = views.with_real(self, value).expr

    @property
    def imag(self) -> Array:
        """The imaginary parts: a view of complex numbers; zeros else."""
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

    def view(self, dtype: DTypeLike = None, type: Any = None, order: str = "C") -> Array:
        """Return the elements' bytes read as another dtype.

        Setting elements of the result sets the array's bytes.

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

        >>> x = wr.arange(3)
        >>> x.resize(2, 2)
        >>> x.compute()
        array([[0, 1],
               [2, 0]])
        """
        resized = views.resize_array(self, new_shape[0] if len(new_shape) == 1 else new_shape)
        self._detach(resized.expr)

    @property
    def T(self) -> Array:
        """The array with its axes reversed."""
        return axis_moves.transpose(self)

    @property
    def mT(self) -> Array:
        """The array with its last two axes swapped."""
        return axis_moves.matrix_transpose(self)

    @documented(axis_moves.transpose)
    def transpose(self, *axes: Any) -> Array:
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return axis_moves.transpose(self, order or None)

    @documented(reshaping.reshape)
    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None, chunks: ChunksLike = None) -> Array:
        new_shape = shape[0] if len(shape) == 1 else shape
        return reshaping.reshape(self, new_shape, order, copy=copy, chunks=chunks)

    @documented(searching.compress)
    def compress(self, condition: ArrayLike, axis: int | None = None, out: None = None) -> Array:
        return searching.compress(condition, self, axis, out)

    @documented(save)
    def save(self, path: PathLike, *, overwrite: bool | None = None) -> None:
        save(path, self, overwrite=overwrite)

    @documented(to_parquet)
    def to_parquet(
        self, path: PathLike, *, overwrite: bool = False, storage_options: dict[str, Any] | None = None
    ) -> None:
        to_parquet(path, self, overwrite=overwrite, storage_options=storage_options)

    def to_hdf5(self, filename: PathLike, datapath: str, **kwargs: Any) -> Any:
        """Compute the array and write it to a data set of an HDF5 file; `windrow.to_hdf5` writes several at once.

        Parameters
        ----------
        filename : str or os.PathLike
            The file, or a URL that fsspec opens.
        datapath : str
            The data set's name.
        **kwargs
            Those of `windrow.to_hdf5`: chunks, overwrite, compute, storage_options, and those of h5py's
            `create_dataset`, such as compression.

        Returns
        -------
        None or Stored
            None; with `compute=False` what writes when asked.

        Raises
        ------
        ArgumentError
            `filename` is no path, or h5py doesn't take an argument.
        DTypeError
            HDF5 has no type for the elements: dates, texts of NumPy's.
        FileExists
            There is a data set of this name, one in the place of a group that it needs, or a file that isn't HDF5's.
        MissingFile
            The folder to write in doesn't exist.
        FileError
            The file can't be written.

        >>> import os, tempfile
        >>> import windrow as wr
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "x.h5")
        ...     wr.ones(4, chunks=2).to_hdf5(path, "ones", compression="gzip")
        ...     wr.from_hdf5(path, "ones").sum().compute()
        np.float64(4.0)
        """
        from .files.chunked.hdf5 import to_hdf5

        return to_hdf5(filename, datapath, self, **kwargs)

    def to_zarr(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the array and write it as one of zarr's, which all ranks write.

        Parameters
        ----------
        *args, **kwargs
            Those of `windrow.to_zarr` after the array: url, component, storage_options, region, compute,
            return_stored, mode, overwrite, and those that zarr makes arrays with.

        Returns
        -------
        None, Stored or Array
            None; with `compute=False` what writes when asked, with `return_stored=True` the array that is read back.

        Raises
        ------
        ArgumentError
            An argument isn't what zarr takes.
        FileExists
            There is an array, and `overwrite` is False.
        FileError
            It can't be written.

        >>> import os, tempfile
        >>> import windrow as wr
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "x.zarr")
        ...     wr.ones(4, chunks=2).to_zarr(path)
        ...     wr.from_zarr(path).sum().compute()
        np.float64(4.0)
        """
        from .files.chunked.zarr import to_zarr

        return to_zarr(self, *args, **kwargs)

    def put(self, indices: Any, values: ArrayLike, mode: str = "raise") -> None:
        """Set elements given by their flat index, in place.

        Parameters
        ----------
        indices : array_like of int
            Flat indices in C order; negative ones count from the end.
        values : array_like
            The values: repeated where there are fewer than indices, cut off where more.
        mode : {"raise", "wrap", "clip"}
            What indices out of bounds do: raise, count on from the start, or become the first or last.

        Raises
        ------
        ArgumentError
            `indices` or `values` can't be read as an array, or `mode` is unknown.
        DTypeError
            `indices` are not integers.
        IndexingError
            An index is out of bounds: at the call, or for lazy indices when the result is computed.

        >>> x = wr.zeros(3, int)
        >>> x.put([1, -1], [7, 8])
        >>> x.compute()
        array([0, 7, 8])
        """
        put(self, indices, values, mode)
