"""Rank programs: one function on all ranks at once, which communicate."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ClusterError, bad
from ...graph.expr import names
from ...graph.kinds.gang import Filled, Gang, GangOutput
from ...graph.kinds.mapping import BlockFunction
from ...scheduler.session.cluster import session
from ..base import ArrayBase, as_array, check_dtype, check_shape, few, grid_for, make
from ..execution.deferred import expand_recipes
from ..ops.moves.reshaping import reshape
from .travel.pickling import name_additions, name_of, payload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph.kinds.mapping import Payload
    from ..array import Array
    from ..typing import OutLike

__all__ = [
    "Spec",
    "spmd",
]


@dataclass(frozen=True)
class Spec:
    """What an array is like that a rank program fills.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    dtype : dtype
        Of its elements.
    chunks : int, str, tuple or dict
        Its chunks; then a tuple of sizes for each axis.

    Raises
    ------
    ShapeError
        `shape` is no shape.
    DTypeError
        `dtype` is none that chunks can have.
    ChunksError
        `chunks` can't be read or doesn't fit the shape.

    >>> wr.Spec((4, 2), "f8", chunks=(2, 2)).chunks
    ((2, 2), (2,))
    """

    shape: Any
    dtype: Any = np.float64
    chunks: Any = "auto"

    def __post_init__(self) -> None:
        dtype = check_dtype("Spec", "dtype", self.dtype)
        shape = check_shape("Spec", self.shape, "shape")
        grid = grid_for("Spec", self.chunks, shape, dtype)
        for name, value in (("shape", shape), ("dtype", dtype), ("chunks", grid.chunks())):
            object.__setattr__(self, name, value)


def spmd(
    func: Callable[..., Any],
    *args: Any,
    out: Any = None,
    members: int | Sequence[int] | None = None,
    timeout: float | None = None,
) -> Any:
    """Run a function on all ranks at once, in a communicator of their own, each with its own chunks of some arrays.

    Parameters
    ----------
    func : callable
        `func(comm, *args)`. `comm` is an mpi4py communicator of the members; on the embedded engine members are
        threads, and `comm` has the calls of mpi4py that most programs make; others raise AttributeError. In place of an
        array it is handed the member's chunks of it: a sequence of read-only NumPy arrays, in place and in the order of
        blocks, with `blocks`, `slices` and `joined()`.
        The blocks of an array are dealt out to members in runs of equal length.
    *args : Array, numpy.ndarray, or any object
        Arrays, of Windrow, NumPy or with NumPy's attributes, are what members have chunks of. All else, such as numbers
        and lists, goes to each member as it is.
    out : Spec, Array, or tuple of them, optional
        What the function makes: arrays like these, lazily. For each it is handed further chunks, which begin as zeros,
        and which it fills. Each chunk has one writer.
    members : int or sequence of int, optional
        How many there are, up to the number of ranks; of threads, any number. Or the ranks on which they run, the first
        member's first; programs with different ranks run side by side. None: all ranks; on the embedded engine as many
        as it has threads.
    timeout : float, optional
        Seconds after which a run that hasn't ended is an error: its members' calls end. None: no limit.

    Returns
    -------
    list
        Without `out` what the function returned, by member: it is run now.
    Array or tuple of Array
        With `out` lazy arrays, in whose stead what the function returns is left out.

    Raises
    ------
    ArgumentError
        `func` is no function; it or an argument can't be pickled; `members` or `timeout` isn't positive; `members`
        names a rank twice, or none; `out` is none of these.
    ClusterError
        The cluster has fewer ranks than members, or none of a number in `members`; ranks that were lost count.
    WaitTimeout
        The function, on whichever member, took longer than `timeout`.
    Exception
        What a member raises. The others' calls end, and it comes with the member's traceback.

    See Also
    --------
    map_blocks : Where no chunk needs to know of another.

    Notes
    -----
    When a rank dies the function runs again on those that are left, from its arrays; so it must not count on running
    once. If there are fewer ranks then than members, or than `members` names, one member has the chunks of several.
    On its ranks a program has a thread of its own beside those that compute: arrays are computed meanwhile. Programs
    begin in the order in which they come, each as soon as its ranks are free of others.
    A gang's results are the same bits for the same number of members as far as the function's are.

    >>> x = wr.arange(8, chunks=2)
    >>> wr.spmd(lambda comm, x: comm.allreduce(int(sum(b.sum() for b in x))), x, members=2)
    [28, 28]
    >>> wr.spmd(lambda comm, x, power: sum(int((b**power).sum()) for b in x), x, 2, members=2)
    [14, 126]
    >>> def scale(comm, x, y):
    ...     largest = comm.allreduce(max(b.max() for b in x), op=max)
    ...     for source, target in zip(x, y):
    ...         target[...] = source / largest
    >>> wr.spmd(scale, x, out=wr.Spec(x.shape, "f8", x.chunks), members=2).compute()[-1]
    np.float64(1.0)
    """
    operands = tuple(as_array("spmd", f"args[{i}]", each) for i, each in enumerate(args) if _is_array(each))
    plain = tuple((i, each) for i, each in enumerate(args) if not _is_array(each))
    outs = _outs(out)
    count, ranks = _members(members)
    packed = _payload(func, plain)
    number = 0 if outs else 1 + names.number("gang")
    adds = name_additions(packed, operands, (count, number, *ranks))
    gang = Gang(packed, count, outs, number, _limit(timeout), adds, ranks=ranks)
    array = make(gang, operands, gang.grid(), np.uint8)
    if not outs:
        return _returned(array)
    specs = out if isinstance(out, tuple | list) else (out,)
    filled = tuple(
        reshape(_fill(gang, array, k, each), spec.shape) for k, (each, spec) in enumerate(zip(outs, specs, strict=True))
    )
    return filled if isinstance(out, tuple | list) else filled[0]


@dataclass(frozen=True)
class _WithPlain:
    """A function of chunks that is handed plain values besides, each at its place among the arguments."""

    function: Callable[..., Any]
    plain: tuple[tuple[int, Any], ...]

    def __call__(self, comm: Any, *chunks: Any) -> Any:
        args = list(chunks)
        for place, value in self.plain:
            args.insert(place, value)
        return self.function(comm, *args)


def _payload(func: Callable[..., Any], plain: tuple[tuple[int, Any], ...]) -> Payload:
    if not plain or not callable(func):
        return payload("spmd", func, (), {})
    return payload("spmd", _WithPlain(func, plain), (), {}, name_of(func))


def _is_array(value: object) -> bool:
    """Return whether members are handed chunks of an argument."""
    if isinstance(value, ArrayBase):
        return True
    return not isinstance(value, np.generic) and all(hasattr(value, name) for name in ("__array__", "shape", "dtype"))


def _members(members: Any) -> tuple[int, tuple[int, ...]]:
    """Return how many members there are, and their ranks where these are named.

    Ranks that were lost count: as for a program that runs when one is lost, those that are left stand for them.
    """
    current = session()
    size: int = current.transport.size
    if members is None:
        living = len(current.living)
        return (living if living > 1 else current.threads), ()
    members = few("spmd", "members", members, "a number, or ranks", 1 << 16)
    if not isinstance(members, Iterable) or isinstance(members, str):
        check_integer("spmd", "members", members, 1)
        count = int(members)
        if not current.embedded and count > size:
            has = "1 rank" if size == 1 else f"{size} ranks"
            raise ClusterError(f"spmd: argument 'members' is {members}; the cluster has {has}")
        return count, ()
    ranks = tuple(members)
    for k, rank in enumerate(ranks):
        check_integer("spmd", f"members[{k}]", rank, 0)
    if not ranks or len(set(ranks)) < len(ranks):
        raise ArgumentError(bad("spmd", "members", members, "ranks, each once"))
    if not current.embedded and (missing := sorted(rank for rank in ranks if rank >= size)):
        words = f"rank {missing[0]}" if len(missing) == 1 else f"ranks {', '.join(map(str, missing))}"
        has = "rank 0 alone" if size == 1 else f"ranks 0 to {size - 1}"
        raise ClusterError(f"spmd: argument 'members' names {words}; the cluster has {has}")
    return len(ranks), tuple(map(int, ranks))


def _limit(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float | np.number) or not timeout > 0:
        raise ArgumentError(bad("spmd", "timeout", timeout, "a number of seconds above 0, or None"))
    return float(timeout)


def _outs(out: OutLike) -> tuple[GangOutput, ...]:
    if out is None:
        return ()
    specs = out if isinstance(out, tuple | list) else (out,)
    if not specs:
        raise ArgumentError(bad("spmd", "out", out, "a Spec, an array, or a tuple of them"))
    return tuple(_out(each) for each in specs)


def _out(spec: object) -> GangOutput:
    if isinstance(spec, ArrayBase):
        array = as_array("spmd", "out", spec)
        return GangOutput(_with_axis(array.expr.grid), array.dtype)
    if not isinstance(spec, Spec):
        raise ArgumentError(bad("spmd", "out", spec, "a Spec, an array, or a tuple of them"))
    return GangOutput(_with_axis(grid_for("spmd", spec.chunks, spec.shape, spec.dtype)), spec.dtype)


def _with_axis(grid: Grid) -> Grid:
    return grid if grid.ndim else Grid([Axis.whole(1)])


def _fill(gang: Gang, made: Array, number: int, out: GangOutput) -> Array:
    """Return one of the arrays that members fill, but for axes that it hasn't got."""
    *axes, last = out.grid.axes
    wide = Grid([*axes, Axis.of_sizes(n * out.dtype.itemsize for n in last.sizes())])
    raw = make(Filled(gang, number), (made,), wide, np.uint8)
    return make(BlockFunction("elements.unbuffered:view_as", (out.dtype,)), (raw,), out.grid, out.dtype)


def _returned(made: Array) -> list[Any]:
    """Run a gang, and return what its members returned."""
    results = []
    (root,) = expand_recipes([made.expr])
    for pickled in session().run_gang(root):
        results += pickle.loads(pickled)
    return results
