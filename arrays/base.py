"""What every operation needs: the base of `Array`, making new nodes, reading operands and arguments.

Operations make arrays without importing `Array`, whose methods call the operations: `wrap` makes one.
"""

from __future__ import annotations

import importlib
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.arguments import check_integer, is_integer
from ..graph.chunks.normalize import normalize
from ..graph.errors import ArgumentError, AxisError, BadValue, ChunksError, DTypeError, RangeError, ShapeError, bad
from ..graph.expr import origin
from ..graph.expr.expr import DType, Expr, Op
from ..graph.expr.interned import same_grid
from ..graph.expr.serialize import pack, unpack
from ..graph.kinds.source import Host, HostData
from ..scheduler.session.cluster import running
from ..workers.config import config
from ..workers.sources.file_arrays import source_of
from ..workers.sources.source_objects import travelling
from ..workers.sources.stores.stand_in import StandIn
from .storage import CHANGES, TRACED, follow, note_made, note_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph.chunks.grid import Grid
    from .array import Array
    from .execution.deferred import Unsized
    from .storage import Steps, Storage
    from .typing import AxisLike, ChunksLike, DTypeLike, KeyLike


LONGEST = int(np.iinfo(np.int64).max)
"""No axis is longer, and no array has more elements or bytes: positions are int64."""

MOST_LISTED = 64
"""So many numbers at most are taken from a lazy array for a shape, or whatever else has one for each axis."""

MOST_CHUNKS = 1 << 31
"""No array has more chunks; computing one would take longer than anyone waits."""

DEVICE = "cpu"
"""The one device: the memory of all ranks."""

SCALARS = (bool, int, float, complex, np.generic)


class ArrayBase:
    """A lazy array: an expression. `Array` adds methods and operators.

    An array whose size depends on data has no expression until something needs one; see `arrays.execution.deferred`.
    """

    __slots__ = ("__weakref__", "_expr", "_steps", "_storage", "_unsized")

    def __init__(self, expr: Expr) -> None:
        self._expr: Expr | None = expr
        expr.note_holder(self)
        self._unsized: Unsized | None = None
        self._storage: Storage | None = None  # what it shares with views
        self._steps: Steps = ()  # from that to its own elements
        if TRACED:
            note_made(self)

    @property
    def expr(self) -> Expr:
        """The expression; where the size depends on data it is found now. Setting it sets all elements."""
        expr = self._expr
        return self._find() if expr is None else expr

    @expr.setter
    def expr(self, value: Expr) -> None:
        while not self._write(self._known(), value):
            pass  # another thread has set elements meanwhile

    def _find(self) -> Expr:
        """Find the expression: where elements were set through another name, or the size depends on data."""
        while True:
            with CHANGES:
                if self._expr is not None:
                    return self._expr
                storage, steps, waiting = self._storage, self._steps, self._unsized
            if storage is not None:
                root = storage.expr
                expr = follow(root, steps)
                with CHANGES:
                    if self._storage is storage and self._steps is steps and storage.expr is root:
                        self._expr = expr
                        storage.add(self)
                        expr.note_holder(self)
                        return expr
            elif waiting is not None:
                self._replace(None, waiting.find())

    def _become(self, other: ArrayBase) -> None:
        """Have the elements of another array, be its size known or not."""
        with CHANGES:
            if other._unsized is not None and self._storage is None:
                note_write(self)
                self._expr, self._unsized = None, other._unsized
                return
        self.expr = other.expr

    def _detach(self, value: Expr) -> None:
        """Have elements of its own, in whatever shape."""
        with CHANGES:
            note_write(self)
            self._expr, self._unsized, self._storage, self._steps = value, None, None, ()
            value.note_holder(self)

    def _leave_storage(self) -> None:
        """Have elements of its own, where nobody else shows them any more; `CHANGES` is held."""
        storage = self._storage
        if storage is not None and not storage.is_shared(self) and all(step.writable for step in self._steps):
            self._storage, self._steps = None, ()

    def _known(self) -> Expr | None:
        """Return the expression of what is shared, or its own; elements that are set now are set in that one."""
        if self._storage is None:
            return self._expr
        check_writable("setitem", self)
        alone = not runs_in_step()
        while True:
            expr = self.expr
            with CHANGES:
                if self._expr is expr:
                    if alone:
                        self._leave_storage()
                    return expr if self._storage is None else self._storage.expr

    def _write(self, known: Expr | None, value: Expr, further: Steps = ()) -> bool:
        """Set all elements, or those that further steps lead to, unless `known` has changed; tell whether it was so."""
        storage, steps = self._storage, self._steps
        root = value if storage is None or known is None else self._put(known, steps + further, value)
        with CHANGES:
            now = self._expr if storage is None else storage.expr
            if self._storage is not storage or self._steps is not steps or now is not known:
                return False
            note_write(self)
            if storage is not None:
                storage.set(root)
                if not further and (not steps or value.grid == steps[-1].grid):  # further steps start there
                    self._expr = value if steps else root
                    self._expr.note_holder(self)
                    storage.add(self)
            else:
                self._expr, self._unsized = root, None
                root.note_holder(self)
            return True

    @staticmethod
    def _put(root: Expr, steps: Steps, value: Expr) -> Expr:
        """Return an expression of which what steps lead to is a value; see `arrays.indexing.writes.through`."""
        raise NotImplementedError

    def _replace(self, known: Expr | None, value: Expr) -> bool:
        """Take another expression of the same elements, unless these were changed; tell whether it was so."""
        storage = self._storage
        if storage is not None and known is not None and storage.expr is known:
            return storage._replace(known, value)
        alone = storage is not None and not runs_in_step()
        with CHANGES:
            if self._expr is not known:
                return False
            if alone:
                self._leave_storage()
            self._expr, self._unsized = value, None
            value.note_holder(self)
            return True

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis; None for one that depends on data and isn't known yet.

        Where it follows from little data in the user's memory it is found at once; `len` and `chunks` always find it.
        """
        waiting = self._unsized
        if waiting is not None and not waiting.at_hand():
            return waiting.shape  # type: ignore[return-value]
        return self.expr.grid.shape

    @shape.setter
    def shape(self, value: object) -> None:
        while True:
            known = self.expr
            shaped: ArrayBase = self.reshape(value)  # type: ignore[attr-defined]
            with CHANGES:
                if self._expr is not known:
                    continue  # another thread has set elements meanwhile
                if shaped._storage is not self._storage:
                    why = "shape: elements would be copied; write x = x.reshape(shape)"
                    raise AttributeError(why, name="shape", obj=self)
                note_write(self)
                self._expr, self._steps = shaped._expr, shaped._steps
                return

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        waiting = self._unsized
        return self.expr.dtype if waiting is None else waiting.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        waiting = self._unsized
        return self.expr.grid.ndim if waiting is None else len(waiting.shape)

    @property
    def size(self) -> int:
        """Number of elements; None while it isn't known."""
        shape = self.shape
        return None if None in shape else self.expr.grid.size  # type: ignore[return-value]

    @property
    def device(self) -> str:
        """Where the array API standard has the array: there is one device, the memory of all ranks."""
        return DEVICE

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.expr.nbytes

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Sizes of the chunks along each axis."""
        return self.expr.grid.chunks()

    @chunks.setter
    def chunks(self, chunks: ChunksLike) -> None:
        raise AttributeError("chunks of an array can't be set; write x = x.rechunk(chunks)", name="chunks", obj=self)

    @property
    def chunksize(self) -> tuple[int, ...]:
        """Shape of the largest chunk."""
        return tuple(a.largest for a in self.expr.grid.axes)

    @property
    def numblocks(self) -> tuple[int, ...]:
        """Number of chunks along each axis."""
        return self.expr.grid.counts

    @property
    def npartitions(self) -> int:
        """Number of chunks."""
        return self.expr.grid.nblocks

    def _pick_from(self, shared: Any, index: KeyLike) -> Array:
        """Return what an index with lazy arrays, of which this is one, picks from a shared array."""
        picked: Array = importlib.import_module(".shared.picking", __package__).pick(shared, index)
        return picked


def runs_in_step() -> bool:
    """Whether several processes run the script, and have to make the same expressions.

    Each collects garbage at moments of its own, so nothing may depend on whether an array is still there.
    """
    active = running()
    return active is not None and active.place[1] > 1


_class: list[type[Array]] = []


def register(cls: type[Array]) -> None:
    """Name the class that `wrap` makes instances of."""
    _class[:] = [cls]


def wrap(expr: Expr) -> Array:
    """Return the array of an expression."""
    return _class[0](expr)


def packed(array: ArrayBase) -> list[tuple[Any, ...]]:
    """Return an array as rows that another rank makes it of."""
    if array._unsized is not None:
        raise ArgumentError(
            f"a lazy array ({array._unsized.label}) whose size depends on its elements is known to one process alone; "
            "expected an array of NumPy's in its place"
        )
    return pack(array.expr)


def unpacked(rows: list[tuple[Any, ...]]) -> Array:
    """Return an array that a rank has sent."""
    return wrap(unpack(rows))


def wrap_unsized(unsized: Unsized) -> Array:
    """Return the array of what is known before its size is."""
    array = _class[0].__new__(_class[0])
    array._expr, array._unsized, array._storage, array._steps = None, unsized, None, ()
    if TRACED:
        note_made(array)
    return array


def check_writable(operation: str, x: ArrayBase) -> None:
    """Raise for a view through which NumPy doesn't write, either."""
    if not all(step.writable for step in x._steps):
        raise BadValue(
            f"{operation}: the array that is written to is read-only, as broadcasts, diagonals and windows are; "
            "write to the array that it was taken of, or to a copy, x.copy()"
        )


def alias(x: ArrayBase) -> Array:
    """Return the same array under a name of its own: setting elements of one leaves the other as it is."""
    waiting = x._unsized
    return wrap(x.expr) if waiting is None else wrap_unsized(waiting)


def make(op: Op, operands: Sequence[ArrayBase], grid: Grid, dtype: DTypeLike) -> Array:
    """Return the array of a new node, which bears the user's line."""
    check_grid(op.label, grid)
    return wrap(Expr(op, tuple([o.expr for o in operands]), same_grid(grid), np.dtype(dtype), origin.find_origin()))


def wrap_host(
    array: Any, grid: Grid, dtype: DType, *, in_place: bool, lock: Any = None, chunks: tuple[int, ...] = ()
) -> Array:
    """Return the array of what a user handed in; `lock` is held while it is read, `chunks` are what is decoded."""
    source, file = (array.source, array.file) if isinstance(array, StandIn) else source_of(array)
    if file is None and not in_place and source is array:
        file = travelling(source, lock, "from_array")
    data = HostData(source, in_place=in_place and source is array, file=file, lock=lock, chunks=chunks)
    return make(Host(data), (), grid, dtype)


def grid_for(
    operation: str, chunks: ChunksLike, shape: Sequence[int], dtype: DType, previous: Grid | None = None
) -> Grid:
    """Return the grid that `chunks` means under the settings in force."""
    grid = normalize(operation, chunks, shape, dtype, config.chunk_bytes, previous)
    check_grid(operation, grid)
    return grid


def check_grid(operation: str, grid: Grid) -> None:
    """Raise for an array that is larger than positions can tell, or in more chunks than can be worked through."""
    if grid.size > LONGEST:
        raise ShapeError(f"{operation}: result would have shape {grid.shape}; expected fewer than 2**63 elements")
    if grid.nblocks > MOST_CHUNKS:
        raise ChunksError(
            f"{operation}: an array of shape {grid.shape} would have {grid.nblocks} chunks; choose larger chunks"
        )


def as_array(operation: str, argument: str, value: object) -> Array:
    """Return an operand as an array: NumPy arrays and sequences become sources, which hold what they are now.

    An array comes back under a name of its own, so that an operation that has nothing to do may return it: setting
    elements of its result doesn't change the operand. Where its size depends on data it is found now, since operations
    need their operands' shapes.
    """
    return as_array_nocopy(operation, argument, snapshot(value))


class NotPickled(ArgumentError):
    """A lazy array was to be pickled for something else than a task of its own cluster."""

    def __init__(self) -> None:
        super().__init__(
            "pickle: a Windrow array is a recipe that lives with its cluster; wr.submit(f, x) and wr.delayed take it; "
            "else pickle what it computes: x.compute(), ds.compute() of xarray's, or save it (to_zarr, save) and "
            "open that elsewhere; scikit-learn's n_jobs= takes lazy arrays within joblib.parallel_config('windrow'), "
            "after import windrow.ml"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return NotPickled, ()


class LazyCalls:
    """What `compute` and `persist` take beside arrays: lazy calls, which run as tasks."""

    __slots__ = ()

    @staticmethod
    def _begin(calls: list[Any]) -> list[Any]:
        """Submit such calls together; return their futures."""
        raise NotImplementedError

    @staticmethod
    def _from(future: Any) -> Any:
        """Return a lazy call in place of a future."""
        raise NotImplementedError


class LazyWrites:
    """What `compute` takes beside arrays: what writes when it is asked to."""

    __slots__ = ()

    def compute(self) -> Any:
        """Write."""
        raise NotImplementedError


def snapshot(value: object) -> Any:
    """Return a value as it is now: a copy of what NumPy may write to; other values, read-only arrays and files stay."""
    if isinstance(value, ArrayBase | np.generic) or not hasattr(value, "__array__"):
        return value
    if isinstance(value, np.memmap) or (isinstance(value, np.ndarray) and not value.flags.writeable):
        return value
    own = (value if isinstance(value, np.ndarray) else np.asarray(value)).copy("K")
    own.flags.writeable = False
    return own


def as_array_nocopy(operation: str, argument: str, value: object) -> Array:
    """Return an operand as `as_array` does, where it is computed at once: NumPy arrays needn't be copied."""
    if isinstance(value, ArrayBase):
        return wrap(value.expr)
    if isinstance(value, np.ndarray):
        array = value
    elif isinstance(value, (SCALARS, list | tuple | str | bytes)) or hasattr(value, "__array__"):
        array = plain_array(operation, argument, value)
        for each in array.flat if array.dtype == object else ():
            if type(each) is int and not -(2**63) <= each < 2**64:
                raise RangeError(bad(operation, argument, each, "an integer of 64 bits, or a float"))
    else:
        raise ArgumentError(bad(operation, argument, value, "a Windrow or NumPy array, a number or a text"))
    check_dtype(operation, argument, array.dtype)
    not_masked(operation, argument, value)
    return wrap_host(array, grid_for(operation, "auto", array.shape, array.dtype), array.dtype, in_place=True)


def plain_array(operation: str, argument: str, value: Any, dtype: DTypeLike = None) -> np.ndarray[Any, Any]:
    """Return a sequence, a number, or what NumPy can read, as an array of NumPy's."""
    try:
        return np.asarray(value, dtype)
    except OverflowError as error:
        raise RangeError(bad(operation, argument, value, f"values that {np.dtype(dtype)} can hold")) from error
    except ValueError as error:
        ragged = "inhomogeneous" in str(error)
        expected = "rows of one length" if ragged else f"an array ({error})"
        shown = f"a ragged {type(value).__name__} of {len(value)} items" if ragged else value
        raise ArgumentError(bad(operation, argument, shown, expected)) from error


def not_masked(operation: str, argument: str, value: object) -> None:
    """Raise for NumPy's masked arrays, whose mask would be lost."""
    if isinstance(value, np.ndarray) and hasattr(value, "mask"):
        how = "an array without a mask: x.filled(value), with NaN for what is missing"
        raise ArgumentError(bad(operation, argument, type(value).__name__, how))


def check_dtype(operation: str, argument: str, dtype: DTypeLike, source: DType | None = None) -> DType:
    """Return a dtype, or raise when it is none, or one of Python objects.

    What `dtype` leaves open, the length of texts or a unit of time, follows from the source, which is to be cast.
    """
    try:
        numpy_dtype: DType = np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(bad(operation, argument, dtype, "a dtype of NumPy")) from error
    if numpy_dtype.hasobject:
        how = "a dtype without Python objects, which only one process has: astype(float) or astype(str) cast them"
        raise DTypeError(bad(operation, argument, numpy_dtype, how))
    parts = [numpy_dtype[name] for name in numpy_dtype.names or ()] or [numpy_dtype]
    if any(part.base.isbuiltin == 2 for part in parts):  # what a library registered, such as bfloat16 of ml_dtypes
        how = "a dtype of NumPy's own; astype('f4') casts the elements to one that holds all numbers of bfloat16"
        raise DTypeError(bad(operation, argument, numpy_dtype, how))
    if source is not None:
        numpy_dtype = np.empty(0, source).astype(numpy_dtype).dtype
    if numpy_dtype.byteorder in "<>" and numpy_dtype.isnative:  # zarr's and h5py's say "<" of what others call "="
        numpy_dtype = numpy_dtype.newbyteorder("=")
    if numpy_dtype.kind in "SUV" and numpy_dtype.itemsize == 0 and numpy_dtype.names is None:
        raise DTypeError(bad(operation, argument, numpy_dtype, "a dtype of a known size, such as 'U8'"))
    return numpy_dtype


def check_device(operation: str, device: str | None, argument: str = "device") -> None:
    """Raise for a device that isn't the one there is."""
    if device is not None and device != DEVICE:
        raise ArgumentError(bad(operation, argument, device, f"None or {DEVICE!r}, the only device"))


def check_axis(operation: str, axis: AxisLike, ndim: int, argument: str = "axis") -> int:
    """Return an axis as a number from 0 on."""
    number = check_integer(operation, argument, axis)
    if not -ndim <= number < ndim:
        raise AxisError(bad(operation, argument, number, f"an axis of an array of {ndim} axes"))
    return number % ndim


def check_axes(operation: str, axis: AxisLike, ndim: int, argument: str = "axis") -> tuple[int, ...]:
    """Return axes (None: all; an integer or a sequence of them) as sorted numbers from 0 on."""
    if axis is None:
        return tuple(range(ndim))
    entries = axis if isinstance(axis, tuple | list) else (axis,)
    axes = [check_axis(operation, a, ndim, argument) for a in entries]
    if len(set(axes)) != len(axes):
        raise ShapeError(bad(operation, argument, axis, "each axis once"))
    return tuple(sorted(axes))


def few(operation: str, argument: str, value: object, expected: str, most: int = MOST_LISTED) -> Any:
    """Return a short sequence; of a lazy array its values, computed at once. A longer lazy array is refused."""
    if not isinstance(value, ArrayBase) or not value.ndim:
        return value
    if value.shape[0] > most:
        raise ArgumentError(bad(operation, argument, value, expected))
    return np.asarray(value)


def check_shape(operation: str, shape: Any, argument: str = "shape") -> tuple[int, ...]:
    """Return a shape as a tuple."""
    entries = (shape,) if is_integer(shape) else few(operation, argument, shape, "an integer or a tuple of integers")
    try:
        lengths = tuple(entries)
    except TypeError as error:
        raise ArgumentError(bad(operation, argument, shape, "an integer or a tuple of integers")) from error
    for n in lengths:
        if not is_integer(n):
            raise ArgumentError(bad(operation, argument, shape, "an integer or a tuple of integers"))
    lengths = tuple(map(operator.index, lengths))
    if min(lengths, default=0) < 0:
        raise ShapeError(bad(operation, argument, shape, "lengths that are not negative"))
    if max(lengths, default=0) > LONGEST or math.prod(lengths) > LONGEST:
        raise ShapeError(bad(operation, argument, shape, "fewer than 2**63 elements, which int64 can count"))
    return lengths


def broadcast_shape(operation: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        listed = ", ".join(map(str, shapes))
        if "too large" in str(error):
            raise ShapeError(
                f"{operation}: operands have shapes {listed}; expected fewer than 2**63 elements"
            ) from error
        raise ShapeError(f"{operation}: operands have shapes {listed}; expected shapes that broadcast") from error
