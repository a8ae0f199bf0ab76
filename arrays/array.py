"""The array that users hold."""

from __future__ import annotations

import importlib
import operator
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import ArgumentError, BadValue, ShapeError, bad
from ..graph.expr.serialize import is_travelling
from ..workers.config import config
from ..workers.public_api import warn
from .as_methods import method
from .base import ArrayBase, NotPickled, alias, check_device, check_writable, packed, register, unpacked
from .creation import arrow
from .display.methods import Looks
from .execution import compute as verbs
from .execution.auto_persist import compute_value
from .execution.local import LocalParts
from .execution.scalar_reads import element
from .indexing.getitem import pick, steps_to
from .indexing.views.block_view import BlockView
from .indexing.views.points import PointView
from .indexing.writes.numpy_writes import is_blank, warn_turns
from .indexing.writes.setitem import as_value, assign
from .indexing.writes.through import put
from .interop import pandas
from .interop.array_api import namespace
from .interop.dlpack import CPU, to_dlpack
from .interop.numpy_protocols import by_ufunc, replacement
from .methods import Methods
from .operators import Operators
from .tasks.methods import Awaitable
from .values import assigned
from .views import share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow

    from ..graph.expr.expr import Expr
    from .storage import Steps
    from .typing import ArrayLike, DTypeLike, KeyLike


def _assigned(x: Array, key: KeyLike, value: object) -> tuple[Expr, Steps]:
    """Return the expression of all elements, once a key's are set; or of the key's alone, and the steps to them."""
    steps = steps_to(x.expr, key) if x._steps else None
    return (as_value(x, value, assigned).expr, steps) if steps else (assign(x, key, value).expr, ())


class Array(Operators, Methods, LocalParts, Looks, Awaitable):
    """A lazy, chunked array with the methods and operators of NumPy's.

    Functions such as `ones`, `arange`, `from_array` and `random.default_rng` make arrays; operations on them make new
    ones. Nothing is computed before `compute`, `persist`, or a conversion such as `float` or `np.asarray`.

    Parameters
    ----------
    expr : Expr
        The expression that the array stands for. Programs don't call the class: functions make arrays.

    Notes
    -----
    What is a view in NumPy is one here: setting elements of a slice, a transposed or a reshaped array sets those of the
    array that it was taken of, too. Chunks never change; the arrays stand for other expressions from then on.

    >>> x = wr.ones((1000, 1000), chunks=500)
    >>> y = (x + x.T).sum(axis=0)
    >>> y
    Array(shape=(1000,), dtype=float64, chunksize=(500,), op=sum)
    >>> y[:2].compute()
    array([2000., 2000.])
    """

    __slots__ = ()
    __array_priority__ = 100

    def __init__(self, expr: Expr) -> None:
        super().__init__(expr)
        if "pandas" in sys.modules:
            pandas.open_gates()

    def __repr__(self) -> str:
        waiting = self._unsized
        if waiting is not None:
            return f"Array(shape={waiting.shape}, dtype={self.dtype}, chunksize=None, op={waiting.label})"
        return f"Array(shape={self.shape}, dtype={self.dtype}, chunksize={self.chunksize}, op={self.expr.label})"

    # ------------------------------------------------------------------ verbs

    def compute(self) -> Any:
        """Compute the array; see `windrow.compute` for several at once.

        Returns
        -------
        numpy.ndarray or numpy scalar
            The elements, in the driver's memory; a scalar for a 0-d array.

        >>> wr.arange(3).compute()
        array([0, 1, 2])
        """
        return verbs.compute_array(self)

    def persist(self, spread: bool | None = None) -> Array:
        """Start computing the array, and keep its chunks in the memory of the ranks; see `windrow.persist`.

        Parameters
        ----------
        spread : bool, optional
            Whether each rank keeps an equal run of the chunks; None: small arrays in SPMD mode do.

        Returns
        -------
        Array
            The same elements. It returns at once; `windrow.wait` waits.

        Raises
        ------
        ArgumentError
            `spread` is no bool.
        ClusterError
            The cluster is closed.

        >>> x = wr.arange(3).persist()
        >>> x.sum().compute()
        np.int64(3)
        """
        return verbs.persist_array(self, spread)

    _put = staticmethod(put)
    release = method(verbs.release)
    owners = method(verbs.owners)
    to_arrow = method(arrow.to_arrow)

    @property
    def blocks(self) -> BlockView:
        """The chunks: `x.blocks[i, j]` is an array of some of them."""
        return BlockView(self)

    partitions = blocks

    @property
    def vindex(self) -> PointView:
        """The elements at points: `x.vindex[i, j]` has those at (i[k], j[k])."""
        return PointView(self)

    def compute_chunk_sizes(self) -> Array:
        """Compute the lengths that depend on data, and return the array itself.

        Returns
        -------
        Array
            The array, whose shape and chunks are known from then on.

        Notes
        -----
        Unlike in dask this is rarely needed: they are computed when something needs them.

        >>> x = wr.arange(6)
        >>> x[x > 2].compute_chunk_sizes().shape
        (3,)
        """
        _ = self.expr
        return self

    # ------------------------------------------------------------------ Python's protocols

    def __getitem__(self, key: KeyLike) -> Array:
        while True:
            known = self.expr if self._unsized is None else self._expr
            part, steps = pick(self, key)
            if steps is None or share(part, self, known, steps):
                return part  # else another thread has set elements meanwhile

    def __setitem__(self, key: KeyLike, value: object) -> None:
        if isinstance(value, ArrayBase) and self._is_part(value, key):
            check_writable("setitem", self)
            return  # x[1:] += y has set the elements of x already
        while True:
            known = self._known()
            if self._write(known, *_assigned(self, key, value)):
                return  # else another thread has set elements meanwhile

    def __delitem__(self, key: object) -> None:
        raise BadValue("delitem: elements of an array can't be deleted; wr.delete(x, key, axis) makes one without them")

    def _is_part(self, value: ArrayBase, key: KeyLike) -> bool:
        """Whether a value is the view that a key gives."""
        if value._storage is None or value._storage is not self._storage:
            return False
        steps = steps_to(self.expr, key)
        return steps is not None and value._steps == self._steps + steps

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len: the array has no axes")
        return self.expr.grid.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.ndim:
            raise TypeError("iteration: the array has no axes")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def _single(self, operation: str) -> Any:
        if self.expr.grid.size != 1:
            raise ArgumentError(f"{operation}: array has shape {self.shape}; expected a single element")
        scalar = element(self)
        if scalar is not None:
            return scalar
        warn_turns(1)
        return compute_value(self).reshape(())[()]

    def item(self, *args: int) -> Any:
        """Compute the single element, or the one at a position, as a Python number.

        Parameters
        ----------
        *args : int or tuple of int
            Nothing, for an array of one element; a flat index in C order; or a position on each axis.

        Returns
        -------
        bool, int, float, complex or str
            The element.

        Raises
        ------
        ArgumentError
            The array has several elements, or there are not as many positions as axes.
        IndexingError
            The position is out of bounds.
        TypeError
            A position is not an integer.

        >>> wr.arange(6).reshape(2, 3).item(1, 0)
        3
        """
        if not args:
            return self._single("item").item()
        at = args[0] if len(args) == 1 else args
        if not isinstance(at, tuple):
            return self.reshape(-1)[operator.index(at)].item()
        if len(at) != self.ndim:
            raise ArgumentError(bad("item", "args", args, f"one position, or {self.ndim}, one for each axis"))
        return self[tuple(map(operator.index, at))].item()

    def tobytes(self, order: str = "C") -> bytes:
        """Compute the array and return its elements' bytes.

        Parameters
        ----------
        order : {"C", "F", "A", "K"}
            "F": the first axis runs fastest; the others: the last one does.

        Returns
        -------
        bytes
            The elements, without gaps.

        Raises
        ------
        ValueError
            `order` is unknown.

        >>> wr.arange(3, dtype="u1").tobytes()
        b'\\x00\\x01\\x02'
        """
        return np.asarray(self.compute()).tobytes(order)  # type: ignore[arg-type]

    def fill(self, value: Any) -> None:
        """Set all elements to one value.

        Parameters
        ----------
        value : scalar
            The value; it is cast to the array's dtype.

        Raises
        ------
        ArgumentError
            `value` is an array with axes.

        >>> x = wr.zeros(2)
        >>> x.fill(7)
        >>> x.compute()
        array([7., 7.])
        """
        if np.ndim(value):
            raise ArgumentError(bad("fill", "value", value, "a number"))
        check_writable("fill", self)
        self[...] = value

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name == "_typ" and (kind := pandas.type_for_pandas(self)) is not None:
                return kind
            raise importlib.import_module(".interop.unsupported", __package__).missing_method(self, name)

    def __bool__(self) -> bool:
        if self.expr.grid.size > 1:
            raise ShapeError(
                f"bool: array has shape {self.shape}; expected a single element; take all() or any() of it, "
                "or windrow.testing.assert_equal in tests"
            )
        return bool(self._single("bool"))

    def __float__(self) -> float:
        return float(self._single("float"))

    def __int__(self) -> int:
        return int(self._single("int"))

    def __complex__(self) -> complex:
        return complex(self._single("complex"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError(f"index: array has dtype {self.dtype} and shape {self.shape}; expected a single integer")
        return operator.index(self._single("index"))

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self.ndim:
            raise ArgumentError(
                f"format: argument 'spec' is {spec!r} for an array of shape {self.shape}; expected no spec, or an "
                "0-d array; compute() it, and format its elements"
            )
        return format(self._single("format"), spec)

    def __round__(self, ndigits: int | None = None) -> Array:
        return self.round(0 if ndigits is None else ndigits)

    def copy(self, order: str = "C") -> Array:
        """Return a copy: setting elements of one leaves the other as it is.

        Parameters
        ----------
        order : str
            Accepted for NumPy and ignored: chunks are in C order.

        Returns
        -------
        Array
            Lazy, with the same elements; nothing is computed.

        >>> x = wr.zeros(2)
        >>> y = x.copy()
        >>> y[0] = 1
        >>> x.compute()
        array([0., 0.])
        """
        return alias(self)

    def __copy__(self) -> Array:
        return alias(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return alias(self)

    def __reduce__(self) -> Any:
        if is_travelling():
            return unpacked, (packed(self),)
        raise NotPickled

    def __dask_tokenize__(self) -> tuple[str, str]:
        return "windrow.Array", self.expr.token

    def tolist(self) -> Any:
        """Compute the array and return it as nested lists.

        Returns
        -------
        list or number
            Python numbers in lists as deep as there are axes.

        >>> wr.arange(4).reshape(2, 2).tolist()
        [[0, 1], [2, 3]]
        """
        return self.compute().tolist()

    # ------------------------------------------------------------------ NumPy's protocols

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("asarray: argument 'copy' is False; a lazy array is computed to a new one")
        if self.nbytes > config.warn_gather_bytes:
            warn(
                f"asarray gathers a whole array of {self.nbytes} bytes; "
                "raise wr.config's warn_gather_bytes, or use compute(), where this is meant"
            )
        if self.ndim or element(self) is None:
            warn_turns()
        values = np.asarray(compute_value(self), dtype)
        if copy is not True and is_blank(self.expr):
            values.flags.writeable = False  # else what a library fills would go nowhere, without a word
        return values

    @property
    def __numpy_dtype__(self) -> Any:
        # NumPy takes what has a dtype for one: libraries that are handed an array to fill would make one of their own.
        raise TypeError("an array is no dtype; write x.dtype")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        if method == "__call__" and any(out is inputs[0] for out in keywords.get("out", ())):
            warn_turns()
        return by_ufunc(ufunc, method, inputs, keywords)

    def __array_function__(
        self, function: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        return replacement(function)(*args, **keywords)

    # ------------------------------------------------------------------ the array API standard

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        return namespace(api_version)

    def to_device(self, device: str, /, *, stream: object = None) -> Array:
        """Return the array itself: there is one device, "cpu", the memory of all ranks.

        Parameters
        ----------
        device : str
            Only "cpu".
        stream : None
            Only None: the device has no streams.

        Returns
        -------
        Array
            The array itself.

        Raises
        ------
        ArgumentError
            `device` is neither None nor "cpu". `stream` is not None.

        >>> wr.ones(2).to_device("cpu").device
        'cpu'
        """
        check_device("to_device", device)
        if stream is not None:
            raise ArgumentError(bad("to_device", "stream", stream, "None, since the device has no streams"))
        return self

    def __dlpack__(
        self,
        /,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return to_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self, /) -> tuple[int, int]:
        return CPU

    # ------------------------------------------------------------------ Arrow's PyCapsules

    def __arrow_array__(self, type: object = None) -> pyarrow.Array:
        elements = arrow.elements(self)
        return elements if type is None or type == elements.type else elements.cast(type)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        from .creation.arrow_stream import arrow_array

        return arrow_array(self, requested_schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from .creation.arrow_stream import arrow_stream

        return arrow_stream(self, requested_schema)


register(Array)


def is_array(x: ArrayLike) -> bool:
    """Tell whether something is an array of Windrow."""
    return isinstance(x, ArrayBase)
