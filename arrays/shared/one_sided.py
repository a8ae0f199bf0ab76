"""Arrays outside lineage, which all ranks read and write at any time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, bad
from ...graph.expr.origin import find_origin
from ...scheduler.session.cluster import session
from ...scheduler.session.resources import refuse_larger
from ...scheduler.shared.handles import make_once
from ...scheduler.shared.symmetric import make
from ...workers.shared.one_sided.atomics import supports
from ...workers.shared.one_sided.base import OneSided, together
from ...workers.shared.one_sided.replicated import Replicated
from ...workers.shared.one_sided.symmetric import Symmetric
from ..base import check_dtype, check_shape

if TYPE_CHECKING:
    from ..typing import DTypeLike, ShapeLike

__all__ = [
    "Replicated",
    "Symmetric",
    "replicated",
    "symmetric",
    "sync",
]


def symmetric(shape: ShapeLike, dtype: DTypeLike = np.float64, fill: Any = 0) -> Symmetric:
    """Make an array that lies on all ranks, and whose elements any of them reads and changes at any time.

    Rank programs, functions of blocks and the driver use it alike; it is pickled as a name. Elements are counted flat,
    in C order, and dealt out in equal runs: of n elements and k ranks rank 0 has the first ``ceil(n / k)``, rank 1 the
    next ones, and so on; the last ranks may have fewer. After a rank's death those that are left share it anew.

    Parameters
    ----------
    shape : int or tuple of int
        Its shape.
    dtype : dtype
        Of its elements: bool, an integer of 1 to 8 bytes, float32 or float64.
    fill : scalar
        What all elements are at first.

    Returns
    -------
    Symmetric
        With `get`, `set`, `add`, `fetch_add`, `compare_and_swap`, `bitwise_or`, `bitwise_and`, `bitwise_xor`,
        `fetch_or`, `fetch_and`, `fetch_xor`, for one position or many; `sync`, `to_numpy` and `local`.

    Raises
    ------
    ShapeError
        `shape` is no shape.
    DTypeError
        There are no atomic operations on such elements.
    ArgumentError
        `fill` is no such element.
    OutOfMemory
        It is larger than the memory.
    ClusterError
        It can't be made on all ranks; llvmlite is missing.

    See Also
    --------
    replicated : Where each rank is to have all of it.

    Notes
    -----
    It is no part of any expression: what a function does to it happens as often as the function runs. So tell
    `map_blocks` the dtype, or it calls the function once more to learn it; and don't persist what the function makes.

    After a rank's death it is back at what its last `sync` has kept, which the log and ``wr.cluster().losses`` tell.
    Computations that used it raise `ClusterError`; but a rank program runs again by itself where nothing was written
    between `sync` and its begin. The next `sync` raises `ClusterError` if anything else is gone.

    On a host operations are the processor's own, on memory that all ranks have mapped; to other hosts they go in
    messages, so hand over many positions at once. Floats that several ranks add to may differ in the last bits from
    run to run.

    It goes when nothing refers to it any more: no variable, and no lazy or persisted array whose function uses it.

    >>> import numpy as np
    >>> import windrow as wr
    >>> histogram = wr.shared.symmetric(4, "i8")
    >>> def count(block):
    ...     histogram.add(block % 4, 1)
    ...     return block
    >>> x = wr.map_blocks(count, wr.arange(10, chunks=5), dtype=int)
    >>> total = x.sum().compute()
    >>> histogram.to_numpy()
    array([3, 3, 2, 2])
    """
    lengths = check_shape("symmetric", shape)
    kind = check_dtype("symmetric", "dtype", dtype)
    if not supports(kind):
        raise DTypeError(
            bad("symmetric", "dtype", kind, "bool, an integer of 1 to 8 bytes, float32 or float64, in this byte order")
        )
    fill_value = _fill("symmetric", fill, kind)
    description = _tell("symmetric", lengths, kind)
    what = f"symmetric of shape {lengths}, {kind}, filled with {fill_value}"

    def begin() -> Symmetric:
        engine = session().engine
        hosts = len({peer.host for peer in engine.transport.peers})
        refuse_larger("symmetric", math.prod(lengths) * kind.itemsize // hosts)
        return make(engine, Symmetric, lengths, kind, fill_value, description)

    return make_once(what, begin)


def replicated(shape: ShapeLike, dtype: DTypeLike = np.float64, fill: Any = 0) -> Replicated:
    """Make an array of which every rank has a copy of its own to change, until all copies become one.

    Parameters
    ----------
    shape : int or tuple of int
        Its shape.
    dtype : dtype
        Of its elements: booleans or numbers.
    fill : scalar
        What all elements are at first.

    Returns
    -------
    Replicated
        With `local`, the own copy; `reduce_sum`, `reduce_min`, `reduce_max` and `bcast`, which make all copies the
        same; `sync` and `to_numpy`.

    Raises
    ------
    ShapeError
        `shape` is no shape.
    DTypeError
        Elements are no numbers.
    ArgumentError
        `fill` is no such element.
    ClusterError
        It can't be made on all ranks.

    See Also
    --------
    symmetric : An array of which every rank has a part.

    Notes
    -----
    What is said there of pickling, of deaths, of `sync` and of its end goes for it, too: after a death each rank's copy
    is as `sync` has kept it.

    >>> total = wr.shared.replicated(3, "i8")
    >>> def work(comm):
    ...     total.local[comm.rank] += 10
    ...     total.reduce_sum(comm)
    >>> returned = wr.spmd(work, members=2)
    >>> total.to_numpy()
    array([10, 10,  0])
    """
    lengths = check_shape("replicated", shape)
    kind = check_dtype("replicated", "dtype", dtype)
    if kind.kind not in "biufc" or not kind.isnative:
        raise DTypeError(bad("replicated", "dtype", kind, "booleans or numbers, in this byte order"))
    fill_value = _fill("replicated", fill, kind)
    refuse_larger("replicated", math.prod(lengths) * kind.itemsize)
    description = _tell("replicated", lengths, kind)
    what = f"replicated of shape {lengths}, {kind}, filled with {fill_value}"
    return make_once(what, lambda: make(session().engine, Replicated, lengths, kind, fill_value, description))


def sync(*arrays: Symmetric | Replicated, comm: Any = None) -> None:
    """Keep several arrays that all ranks write as they are now, all or none: after a death they are as they were then.

    Parameters
    ----------
    *arrays : Symmetric or Replicated
        Those that belong together.
    comm : communicator, optional
        In a rank program the one that it was given: all members call it together, and what each has done before is
        kept. Elsewhere None: call it between computations that write.

    Raises
    ------
    ClusterError
        A death has undone what was written to one of them since it was last kept. All are as they were then.
    ArgumentError
        One is no such array; it is called in a function of blocks, or in a rank program without `comm`.

    >>> queue, tail = wr.shared.symmetric(10, "i8"), wr.shared.symmetric(1, "i8")
    >>> queue.set(tail.fetch_add(0, 1), 7)
    >>> wr.shared.sync(queue, tail)
    """
    for number, array in enumerate(arrays):
        if not isinstance(array, OneSided):
            raise ArgumentError(
                bad("sync", f"arrays[{number}]", array, "an array that shared.symmetric or shared.replicated has made")
            )
    if arrays:
        together("sync", arrays, comm)


def _fill(operation: str, fill: Any, dtype: np.dtype[Any]) -> Any:
    try:
        if np.ndim(fill) != 0 or (dtype.kind in "biu" and fill != np.array(fill, dtype)):
            _refuse(operation, fill, dtype)
        return np.array(fill, dtype)[()]
    except (TypeError, ValueError, OverflowError):
        return _refuse(operation, fill, dtype)


def _refuse(operation: str, fill: Any, dtype: np.dtype[Any]) -> Any:
    raise ArgumentError(bad(operation, "fill", fill, f"one element of {dtype}"))


def _tell(operation: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    where = find_origin().where
    return f"the {operation} array of shape {shape}, {dtype}" + (f", made at {where}," if where else "")
