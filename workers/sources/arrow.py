"""Arrow and chunks: the one table of dtypes and Arrow types; what is wrapped where it lies, what converted at the edge.

A chunk's bytes are a valid Arrow buffer: slabs begin at multiples of 64 bytes and are padded to them. For each dtype
there is a type of the same bytes (`stored_type`) and one that Arrow's functions compute with (`value_type`):

====================================  ===========================  =====================================
dtype                                 as it lies                   as it is handed out
====================================  ===========================  =====================================
integers, floats up to 8 bytes        the same                     the same bytes
datetime64, timedelta64 in s to ns    timestamp, duration          the same bytes
bool                                  bool8                        bool, whose bits are packed: a copy
complex64, complex128                 fixed_size_list<float>[2]    the same bytes
datetime64[D]                         fixed_size_binary            date32: a copy
datetime64, timedelta64 in W, h, m    fixed_size_binary            timestamp, duration in s: a copy
str, bytes                            fixed_size_binary            string, binary: a copy
records                               fixed_size_binary            struct: a copy
void                                  fixed_size_binary            the same bytes
foreign byte order                    fixed_size_binary            as in the own one: a copy
other floats and units of time        fixed_size_binary            none
====================================  ===========================  =====================================

pyarrow is imported when one of these functions is first called: computing needs none.
"""

from __future__ import annotations

import importlib
import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import BadValue
from ...graph.lowering.stage import ALIGN

if TYPE_CHECKING:
    from ...graph.expr.expr import DType

Array = np.ndarray[Any, Any]

_UNITS = ("s", "ms", "us", "ns")
_SECONDS = {"M": ("h", "m"), "m": ("W", "D", "h", "m")}
"""Units that are converted to seconds, by the kind of the dtype."""
_PAIR = "complex"
"""Name of the field in lists of a real and an imaginary part, by which they are known again."""


@cache
def arrow(module: str = "") -> Any:
    """Return pyarrow or one of its modules, which is imported where it is needed first."""
    return importlib.import_module(f"pyarrow.{module}" if module else "pyarrow")


# ------------------------------------------------------------------ the table


@lru_cache(maxsize=256)
def stored_type(dtype: DType) -> Any:
    """Return the Arrow type over the very bytes of a dtype's elements; binary where Arrow has no other."""
    plain = dtype.kind in "iuf" and dtype.itemsize <= 8
    if dtype.isnative and (plain or _unit(dtype) in _UNITS):
        return arrow().from_numpy_dtype(dtype)
    if dtype.kind == "b":
        return arrow().bool8()
    if dtype.isnative and dtype.kind == "c" and dtype.itemsize <= 16:
        part = arrow().float32() if dtype.itemsize == 8 else arrow().float64()
        return arrow().list_(arrow().field(_PAIR, part, nullable=False), 2)
    return arrow().binary(dtype.itemsize)


@lru_cache(maxsize=256)
def value_type(dtype: DType) -> Any:
    """Return the Arrow type of a dtype's values, as Arrow's functions take them; None where Arrow has none."""
    own = dtype.newbyteorder("=")
    if own.names is not None:
        fields = [(name, value_type(own[name])) for name in own.names]
        return None if not fields or any(t is None for _, t in fields) else arrow().struct(fields)
    if own.subdtype is not None:
        return None
    stored = stored_type(own)
    if own.kind == "V" or not arrow("types").is_fixed_size_binary(stored):
        return arrow().bool_() if own.kind == "b" else stored
    named = {"U": arrow().string, "S": arrow().binary}
    if own.kind in named:
        return named[own.kind]()
    unit = _unit(own)
    if own.kind == "M" and unit in ("D", "W"):
        return arrow().date32()
    if unit in _SECONDS.get(own.kind, ()):
        return arrow().timestamp("s") if own.kind == "M" else arrow().duration("s")
    return None


def _unit(dtype: DType) -> str:
    """Return the unit of dates and times where it is counted by ones."""
    unit, count = np.datetime_data(dtype) if dtype.kind in "mM" else ("", 1)
    return unit if count == 1 else ""


@lru_cache(maxsize=256)
def dtype_of(kind: Any) -> DType | None:
    """Return the dtype that holds values of an Arrow type exactly, whatever they are; None where there is none."""
    types = arrow("types")
    if kind == arrow().bool8() or types.is_boolean(kind):
        return np.dtype(bool)
    if types.is_integer(kind) or types.is_floating(kind):
        plain: DType = np.dtype(kind.to_pandas_dtype())
        return plain
    if types.is_timestamp(kind) or types.is_duration(kind):
        return np.dtype(f"{'M' if types.is_timestamp(kind) else 'm'}8[{kind.unit}]")
    if types.is_date(kind):
        return np.dtype("M8[D]" if types.is_date32(kind) else "M8[ms]")
    if types.is_fixed_size_binary(kind):
        return np.dtype(f"S{kind.byte_width}")
    if types.is_fixed_size_list(kind) and kind.value_field.name == _PAIR and kind.list_size == 2:
        return np.dtype("D" if types.is_float64(kind.value_type) else "F")
    if types.is_struct(kind):
        fields = [(f.name, dtype_of(f.type)) for f in kind]
        return None if any(d is None for _, d in fields) else np.dtype([(n, d) for n, d in fields if d is not None])
    return None


# ------------------------------------------------------------------ from NumPy


def wrap(values: Array, owner: object = None) -> Any:
    """Return the elements in C order as a flat Arrow array of `stored_type`; not copied where they lie so.

    The buffer begins at a multiple of 64 bytes where the memory reaches back so far, as arenas do: an array that begins
    between is one with an offset, as Arrow has it; what becomes tensors has none. It keeps `values` alive, and `owner`.
    """
    flat = np.ascontiguousarray(values).reshape(-1)
    address, before = _begin(flat)
    if values.ndim > 1:  # FixedShapeTensorArray.to_numpy_ndarray of pyarrow 26 and before leaves out its values' offset
        before = 0
    buffer = arrow().foreign_buffer(address - before, before + flat.nbytes, (flat, owner))
    return _over(stored_type(values.dtype), flat.size, buffer, before // flat.itemsize)


def _begin(flat: Array) -> tuple[int, int]:
    """Return where elements begin, and how many bytes before that a buffer may."""
    root: Any = flat
    while isinstance(root.base, np.ndarray):
        root = root.base
    address = int(flat.__array_interface__["data"][0])
    before = address % ALIGN
    reaches = address - before >= root.__array_interface__["data"][0]
    return address, before if reaches and not before % flat.itemsize else 0


def _over(kind: Any, size: int, buffer: Any, offset: int) -> Any:
    """Return an array of a type over a buffer."""
    from_buffers = arrow().Array.from_buffers
    if isinstance(kind, arrow().BaseExtensionType):
        return arrow().ExtensionArray.from_storage(kind, _over(kind.storage_type, size, buffer, offset))
    if arrow("types").is_fixed_size_list(kind):
        parts = from_buffers(kind.value_type, 2 * (offset + size), [None, buffer], 0)
        return from_buffers(kind, size, [None], 0, offset, children=[parts])
    return from_buffers(kind, size, [None, buffer], 0, offset)


def give(values: Array, owner: object = None) -> Any:
    """Return the elements in C order as a flat Arrow array of `value_type`; not copied where that is `stored_type`.

    What isn't copied keeps `owner` alive. Values for which Arrow has no type are a TypeError, dates or times that are
    further away than it counts a BadValue.
    """
    kind = value_type(values.dtype)
    if kind is None:
        raise TypeError(f"Arrow has no type for {values.dtype}")
    own = np.asarray(values.astype(values.dtype.newbyteorder("="), copy=False))
    if own.dtype.names is not None:
        return arrow().StructArray.from_arrays([give(own[name]) for name in own.dtype.names], fields=list(kind))
    if kind == stored_type(own.dtype):
        wrapped = wrap(own, owner)
        return _without_nat(own, wrapped) if own.dtype.kind in "mM" else wrapped
    if own.dtype.kind in "mM":
        own = _by_days_or_seconds(own, "D" if arrow("types").is_date(kind) else "s")
    flat = own.reshape(-1)
    return arrow().array(flat.tolist() if _has_inner_zeros(flat) else flat, kind)


def _has_inner_zeros(flat: Array) -> bool:
    """Tell whether texts or bytes have a zero before their end, at which Arrow's own conversion would cut them."""
    if flat.dtype.kind not in "SU" or not flat.itemsize or not flat.size:
        return False
    units = np.ascontiguousarray(flat).view(np.uint8 if flat.dtype.kind == "S" else np.uint32).reshape(flat.size, -1)
    return bool(((units[:, :-1] == 0) & (units[:, 1:] != 0)).any())


def _by_days_or_seconds(own: Array, unit: str) -> Array:
    """Return dates or times in another unit, which Arrow counts in 32 bits if they are days."""
    converted = own.astype(f"{own.dtype.kind}8[{unit}]")
    there = ~np.isnat(own)
    counts = converted[there].astype(np.int64)
    if (converted.astype(own.dtype)[there] != own[there]).any() or (
        unit == "D" and (counts != counts.astype("i4")).any()
    ):
        raise BadValue(f"there are {own.dtype} that are further away than Arrow counts in {unit!r}")
    return converted


def _without_nat(own: Array, wrapped: Any) -> Any:
    """Return wrapped dates or times with NaT as nulls, as Arrow has them; they keep their buffer."""
    missing = np.isnat(own).reshape(-1)
    if not missing.any():
        return wrapped
    valid = np.concatenate([np.zeros(wrapped.offset, bool), ~missing])
    bits = arrow().py_buffer(np.packbits(valid, bitorder="little"))
    data = wrapped.buffers()[1]
    return arrow().Array.from_buffers(wrapped.type, len(wrapped), [bits, data], -1, wrapped.offset)


def give_block(block: Array) -> Any:
    """Return a block as Arrow: up to one axis as an array, with more as tensors along the first axis."""
    return shape_rows(give(block), block.shape)


def shape_rows(flat: Any, shape: tuple[int, ...]) -> Any:
    """Return a flat array as one of tensors along the first axis; as it is for less than two axes."""
    if len(shape) < 2:
        return flat
    rows = arrow().list_(flat.type, math.prod(shape[1:]))
    storage = arrow().Array.from_buffers(rows, shape[0], [None], 0, children=[flat])
    return arrow().ExtensionArray.from_storage(arrow().fixed_shape_tensor(flat.type, list(shape[1:])), storage)


# ------------------------------------------------------------------ to NumPy


def is_arrow(x: Any) -> bool:
    """Tell whether an object has Arrow's PyCapsules, or is a scalar of Arrow's."""
    capsules = hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")
    return capsules or (type(x).__module__.startswith("pyarrow") and isinstance(x, arrow().Scalar))


def pieces_of(x: Any) -> list[Any]:
    """Return the pieces of something that has Arrow's PyCapsules, at least one, as Arrow arrays; or raise.

    A table, too: its pieces are structs.
    """
    if isinstance(x, arrow().Scalar):
        return [arrow().repeat(x, 1)]
    if isinstance(x, arrow().Array):
        return [x]
    if hasattr(x, "__arrow_c_stream__"):
        whole = x if isinstance(x, arrow().ChunkedArray) else arrow().chunked_array(x)
        return whole.chunks or [arrow().array([], whole.type)]
    return [arrow().array(x)]


def is_plain(x: Any) -> bool:
    """Tell whether an object is an array of Arrow's own."""
    return isinstance(x, arrow().Array)


def find_bytes(values: Any) -> tuple[int, int]:
    """Return where the elements of an Arrow array begin in memory, and end; where its texts do."""
    types = arrow("types")
    while isinstance(values.type, arrow().BaseExtensionType) or types.is_fixed_size_list(values.type):
        values = values.flatten() if types.is_fixed_size_list(values.type) else values.storage
    buffers = [buffer for buffer in values.buffers() if buffer is not None]
    if not buffers or not len(values):
        return 0, 0
    begin = int(buffers[-1].address)
    try:
        width = values.type.bit_width
    except ValueError:  # texts
        return begin, begin + int(buffers[-1].size)
    return begin + values.offset * width // 8, begin - (-(values.offset + len(values)) * width // 8)


def to_numpy(values: Any) -> Array:
    """Return the elements of an Arrow array, in place where the bytes are the same.

    Tensors and lists of a fixed size become axes. Nulls are NaN and NaT in what has these, and 0, False and "" else. A
    TypeError says that no dtype has the values, or that lists have nulls.
    """
    types, kind = arrow("types"), without_views(values.type)
    values = values if kind == values.type else values.cast(kind)
    if isinstance(kind, arrow().FixedShapeTensorType):
        return shape_tensors(kind, to_numpy(values.storage))
    if kind == arrow().bool8():
        whole = values.storage.fill_null(0) if values.null_count else values.storage
        flags: Array = whole.to_numpy().view(np.bool_)
        return flags
    if isinstance(kind, arrow().BaseExtensionType):
        return to_numpy(values.storage)
    if types.is_dictionary(kind):
        return to_numpy(values.dictionary_decode())
    if types.is_fixed_size_list(kind):
        return _lists(values)
    if types.is_struct(kind):
        fields = {f.name: to_numpy(part) for f, part in zip(kind, values.flatten(), strict=True)}
        records = np.empty(len(values), [(name, part.dtype, part.shape[1:]) for name, part in fields.items()])
        for name, part in fields.items():
            records[name] = part
        return records
    if types.is_null(kind):
        return np.full(len(values), np.nan)
    dtype = dtype_of(kind)
    texts = is_text(kind) or is_binary(kind) or types.is_fixed_size_binary(kind)
    if dtype is None and not texts:
        raise TypeError(f"no dtype has values of type {kind}")
    if values.null_count and not (types.is_floating(kind) or types.is_temporal(kind)):
        values = values.fill_null(_zero(kind))
    if texts:
        return _texts(values)
    array: Array = values.to_numpy(zero_copy_only=False)
    return array.astype(dtype, copy=False)


def without_views(kind: Any) -> Any:
    """Return the type of the same texts or bytes for which Arrow has all functions, where one is of views."""
    types = arrow("types")
    if types.is_string_view(kind):
        return arrow().large_string()
    return arrow().large_binary() if types.is_binary_view(kind) else kind


def shape_tensors(kind: Any, rows: Array) -> Array:
    """Return what tensors of a type hold, which lies in rows, with their axes."""
    order = kind.permutation or range(len(kind.shape))
    parts = rows.reshape(len(rows), *kind.shape, *rows.shape[2:])
    return parts.transpose(0, *(1 + i for i in order), *range(1 + len(order), parts.ndim))


def _zero(kind: Any) -> Any:
    """Return what stands for a null where there is no NaN."""
    if arrow("types").is_fixed_size_binary(kind):
        return arrow().scalar(bytes(kind.byte_width), kind)
    return arrow().scalar(b"" if is_binary(kind) else "" if is_text(kind) else 0).cast(kind)


def _lists(values: Any) -> Array:
    """Return lists of a fixed size as rows, or as complex numbers where they are that."""
    size, dtype = values.type.list_size, dtype_of(values.type)
    if values.null_count:
        raise TypeError(f"lists with {values.null_count} nulls among them are no axis")
    rows = to_numpy(values.flatten())
    if dtype is not None:
        return np.ascontiguousarray(rows).view(dtype)
    return rows.reshape(len(values), size, *rows.shape[1:])


def is_text(kind: Any) -> bool:
    """Tell whether a type is one of texts."""
    types = arrow("types")
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_binary(kind: Any) -> bool:
    """Tell whether a type is one of bytes of any number."""
    types = arrow("types")
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def _texts(values: Any) -> Array:
    """Return texts or bytes, as wide as the longest one."""
    kind = "U" if is_text(values.type) else "S"
    listed = values.to_pylist()
    fixed = values.type.byte_width if arrow("types").is_fixed_size_binary(values.type) else 1
    return np.array(listed, f"{kind}{max(fixed, max(map(len, listed), default=1))}")
