"""Labels of connected elements, and where they are."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_integer
from ....graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ....graph.few import distinct
from ....graph.kinds.mapping import BlockFunction
from ...base import as_array, make
from ...execution.deferred import defer
from ...ops.elementwise.functions import astype
from ...ops.reductions.extremes import max as greatest
from ..bridge import find_function, find_module, numbers
from ..documents import described
from .groups import Measured
from .local import ABOUT, output_dtype

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ...array import Array
    from ...typing import ArrayLike, OutLike

Numbers = np.ndarray[Any, Any]


@described(
    {"output": ABOUT["output"]},
    "Labels, in the shape and chunks of `input`, and the number of labels, 0-d.",
    "tuple of Array",
    "ndimage",
)
def label(input: ArrayLike, structure: ArrayLike | None = None, output: OutLike = None) -> tuple[Array, Array]:
    """Label connected elements, numbered as SciPy does: by the first element of each, in C order.

    Each chunk is labelled by itself; what meets at borders of chunks is then known on the driver, for which the array
    is read when the result is computed.

    >>> import windrow as wr
    >>> labels, count = wr.ndimage.label(wr.asarray([1, 1, 0, 1, 1, 1, 0], chunks=2))
    >>> wr.compute(labels, count)
    (array([1, 1, 0, 2, 2, 2, 0], dtype=int32), np.int64(2))
    """
    x = numbers("label", "input", input, "biuf")
    connected = _structure(structure, x.ndim)
    output_dtype("label", output)
    dtype = np.dtype((np.intp if x.size >= 2**31 - 2 else np.int32) if output is None else output)
    if dtype.kind not in "biuf":
        raise DTypeError(bad("label", "output", dtype, "a dtype of numbers"))
    if x.npartitions == 1 or not x.size:
        op = BlockFunction("scipy.labels:label_whole", (connected, dtype.str))
        labels = make(op, (x,), x.expr.grid, dtype)
    else:
        labels = defer("label", _label, [x], (connected, dtype.str), x.expr.grid, dtype)
    count = astype(greatest(labels, initial=0), np.int64)
    return labels, count


def _structure(structure: ArrayLike | None, ndim: int) -> Numbers:
    if structure is None:
        return np.asarray(find_module("ndimage", "label").generate_binary_structure(ndim, 1))
    mask = np.array(as_array("label", "structure", structure).compute(), bool)
    if mask.ndim != ndim or any(n != 3 for n in mask.shape):
        raise ShapeError(bad("label", "structure", mask.shape, f"three along each of {ndim} axes"))
    if not np.array_equal(mask, np.flip(mask)):
        raise ArgumentError(bad("label", "structure", mask.astype(int).tolist(), "one that is the same turned round"))
    return mask


def _label(x: Array, structure: Numbers, dtype: str) -> Generator[Any, Any, Array]:
    """Label chunks apart; join what meets at their borders; number in the order of first places."""
    place = np.dtype(np.int32 if x.size < 2**31 - 2 else np.int64)
    op = BlockFunction("scipy.labels:label_apart", (structure, x.shape, place), where=True)
    apart = make(op, (x,), x.expr.grid, place).persist()
    first = make(BlockFunction("scipy.labels:mark_firsts"), (apart,), x.expr.grid, np.dtype(bool))
    met = [pair for axis in range(x.ndim) for pair in _meet(apart, axis, structure)]
    firsts, *ends = yield (apart[first], *(end for pair in met for end in pair))
    order = np.argsort(firsts)
    parts = firsts[order]
    names = _join(len(parts), [order[np.searchsorted(parts, end)] for end in ends])[order]
    if len(names) and names.max() > (1 if np.dtype(dtype).kind == "b" else _most(np.dtype(dtype))):
        raise ArgumentError(bad("label", "output", np.dtype(dtype), f"one that holds {names.max()} labels"))
    operands = (apart, as_array("label", "input", parts), as_array("label", "input", names))
    axes = (tuple(range(x.ndim)), (None,), (None,))
    wide = [operands[0], *(_as_one(o) for o in operands[1:])]
    op = BlockFunction("scipy.labels:rename", (x.shape, dtype), axes, where=True)
    return make(op, wide, x.expr.grid, np.dtype(dtype))


def _as_one(x: Array) -> Array:
    return x.rechunk(x.shape) if x.npartitions > 1 else x


def _most(dtype: np.dtype[Any]) -> int:
    return int(np.iinfo(dtype).max) if dtype.kind in "iu" else 2 ** (np.finfo(dtype).nmant + 1)


def _meet(apart: Array, axis: int, structure: Numbers) -> Iterator[tuple[Array, Array]]:
    """Yield the names of parts that meet at borders of chunks along an axis, for each connected pair of places."""
    borders = np.cumsum(apart.chunks[axis])[:-1]
    borders = np.unique(borders[(borders > 0) & (borders < apart.shape[axis])])
    if not len(borders):
        return
    before, after = apart.take(borders - 1, axis), apart.take(borders, axis)
    for step in product((-1, 0, 1), repeat=apart.ndim):
        if step[axis] != 1 or not structure[tuple(s + 1 for s in step)]:
            continue
        first = tuple(_cut(-s if i != axis else 0) for i, s in enumerate(step))
        other = tuple(_cut(s if i != axis else 0) for i, s in enumerate(step))
        a, b = before[first], after[other]
        if a.size:
            both = (a > 0) & (b > 0)
            yield a[both], b[both]


def _cut(step: int) -> slice:
    return slice(1, None) if step > 0 else slice(None, -1) if step < 0 else slice(None)


def _join(count: int, ends: list[Numbers]) -> Numbers:
    """Return the label of each part, where those that meet have one, in the order of parts.

    `ends` are parts that meet, by their numbers: the ends of pairs, two arrays after each other.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first = np.arange(count)
    if any(map(len, ends)):
        a, b = np.concatenate(ends[::2]), np.concatenate(ends[1::2])
        some = distinct(np.concatenate([a, b]))
        edges = np.searchsorted(some, a), np.searchsorted(some, b)
        graph = coo_array((np.ones(len(a), np.int8), edges), shape=(len(some), len(some)))
        _, component = connected_components(graph, directed=False)
        first[some] = some[np.unique(component, return_index=True)[1]][component]  # `some` ascends
    labels: Numbers = np.cumsum(first == np.arange(count))[first]
    return labels


@described(
    {"input": "array_like: Labels, integers; those below 1 are left out."},
    "For each label from 1 on the slices that hold it, None where there is none; computed now.",
    "list of tuple of slice",
    "ndimage",
)
def find_objects(input: ArrayLike, max_label: int = 0) -> list[Any]:
    """Find where labels are.

    >>> import windrow as wr
    >>> wr.ndimage.find_objects(wr.asarray([0, 1, 1, 0, 3], chunks=2))
    [(slice(1, 3, None),), None, (slice(4, 5, None),)]
    """
    x = numbers("find_objects", "input", input, "biu")
    most = check_integer("find_objects", "max_label", max_label)
    if most < 1:
        most = int(greatest(x, initial=0).compute())
    if most < 1 or not x.ndim:
        return []
    measured = Measured("find_objects", x, x, np.arange(1, most + 1))
    boxes = measured.measure("boxes", "boxes", np.int64, more=(x.ndim, 2), where=True).compute()
    return [_slices(box) for box in boxes]


def _slices(box: Numbers) -> Any:
    if (box[:, 1] < 0).any():
        return None
    return tuple(slice(int(a), int(b) + 1, None) for a, b in box)


@described({}, "A NumPy array of bool, three long along each axis.", "numpy.ndarray", "ndimage")
def generate_binary_structure(rank: int, connectivity: int) -> Numbers:
    """Return a structuring element of nearest neighbours.

    >>> import windrow as wr
    >>> wr.ndimage.generate_binary_structure(2, 1).astype(int)
    array([[0, 1, 0],
           [1, 1, 1],
           [0, 1, 0]])
    """
    return np.asarray(find_function("ndimage", "generate_binary_structure")(rank, connectivity))


@described({}, "A NumPy array of bool; with `origin` also the new origin.", "numpy.ndarray or tuple", "ndimage")
def iterate_structure(structure: ArrayLike | None, iterations: int, origin: object = None) -> Any:
    """Dilate a structuring element by itself.

    >>> import windrow as wr
    >>> wr.ndimage.iterate_structure([1, 1, 1], 2).astype(int)
    array([1, 1, 1, 1, 1])
    """
    return find_function("ndimage", "iterate_structure")(np.asarray(structure), iterations, origin)
