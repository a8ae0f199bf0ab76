"""Einstein's summation: NumPy's notation, as pairwise contractions in a greedy order."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.keyword_hints import refuse
from ..base import ArrayBase, as_array, check_dtype
from ..creation.diagonals import diagonal
from ..ops.elementwise.functions import astype
from ..ops.elementwise.ufuncs import logical_and, multiply
from ..ops.moves.axis_moves import expand_dims, squeeze, transpose
from ..ops.moves.sliding_window import reduce_below
from ..ops.outputs import deliver
from ..ops.products.matrices import contract
from ..ops.reductions.extremes import any as any_of
from ..ops.reductions.sums import sum as summed
from ..views import gives_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array
    from ..typing import DTypeLike, OutLike

__all__ = [
    "einsum",
    "einsum_path",
]

Label = str | int
Labels = tuple[Label, ...]


@dataclass(frozen=True)
class Term:
    """An operand with a label for each axis, each label once."""

    array: Array
    labels: Labels

    def length(self, label: Label) -> int:
        """Return the length of an axis; 1 for one that the operand lacks."""
        return self.array.shape[self.labels.index(label)] if label in self.labels else 1


@gives_view
def einsum(*operands: Any, out: OutLike = None, optimize: Any = False, **keywords: Any) -> Any:
    """Evaluate Einstein's summation over operands.

    Parameters
    ----------
    *operands : str and arrays, or arrays and lists of labels
        "ij,jk->ik", with "..." for axes that broadcast; without "->" the labels that occur once are kept, sorted. Or
        `a, [0, 1], b, [1, 2], [0, 2]`.
    out : Array or numpy.ndarray, optional
        Takes the result: a lazy array stands for it from then on, a NumPy array is filled at the call.
    optimize : bool, str or list
        A path as a list, from `einsum_path`, is followed; anything else makes no difference.
    **keywords : optional
        `dtype`: in which to compute, None that of the operands; `casting`: how operands may be cast to it, "safe" by
        default; `order`: makes no difference.

    Returns
    -------
    Array
        With an axis for each label of the result, in the dtype of the operands together.

    Raises
    ------
    ArgumentError
        Subscripts can't be read, there are more or fewer operands than they say, a keyword is unknown, or a path
        doesn't fit.
    ShapeError
        An operand has other axes than its labels, a label has two lengths, the result's labels aren't the operands', or
        the result doesn't broadcast to `out`.
    DTypeError
        Operands aren't numbers or bool, or aren't cast to `dtype` or to that of `out`.

    Notes
    -----
    Operands are contracted in pairs, those first whose product is smallest, whatever `optimize` says; NumPy contracts
    them all at once by default. A label that only one operand has is summed before products are taken, as with NumPy's
    `optimize=True`, which matters for axes without elements and for infinities of both signs. Windows of
    `sliding_window_view` are summed over other axes first, and weighted by a vector without being formed, so that the
    last digits may differ from those of an explicit product.

    >>> x = wr.arange(6).reshape(2, 3)
    >>> wr.einsum("ij,kj->ik", x, x).compute()
    array([[ 5, 14],
           [14, 50]])
    """
    known = ["dtype", "casting", "order"]
    refuse("einsum", {name: value for name, value in keywords.items() if name not in known}, [*known, "optimize"])
    inputs, result, arrays = parse_operands(operands)
    arrays = _cast(arrays, keywords.get("dtype"), keywords.get("casting", "safe"))
    dtype = np.result_type(*(a.dtype for a in arrays))
    if dtype.kind not in "biufc":
        raise DTypeError(bad("einsum", "operands", dtype, "numbers or bool"))
    terms = [
        _once(array, labels, subscript)
        for array, labels, subscript in zip(arrays, *_label_axes(inputs, arrays), strict=True)
    ]
    output = _order_output(result, inputs, terms)
    lengths = _lengths(terms)
    for label in output:
        if label not in lengths:
            raise ShapeError(bad("einsum", "subscripts", result, f"labels of the operands; {label!r} is none"))
    terms = [_drop_broadcast(term, lengths) for term in terms]
    for pair in _read_path(optimize, len(terms)):
        terms = _contract_terms(terms, pair, output, dtype)
    while len(terms) > 1:
        terms = _contract_terms(terms, _cheapest(terms, output), output, dtype)
    return deliver("einsum", _finish(terms[0], output, lengths, dtype), out)


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """Return the order in which NumPy would contract operands.

    Parameters
    ----------
    *operands : str and arrays, or arrays and lists of labels
        As for `einsum`; only shapes matter, nothing is computed.
    optimize : bool, str or list
        How to look for an order, as in NumPy: "greedy" or "optimal"; False: none.
    einsum_call : bool
        As in NumPy: whether to return its list of contractions instead of the text.

    Returns
    -------
    tuple
        The path, for `einsum(..., optimize=path)`, and a text that explains it.

    Raises
    ------
    ValueError
        Subscripts and operands don't fit, or `optimize` is unknown; as NumPy raises it.

    >>> wr.einsum_path("ij,jk", wr.ones((2, 3)), wr.ones((3, 4)))[0]
    ['einsum_path', (0, 1)]
    """
    hollow = [np.broadcast_to(np.zeros((), x.dtype), x.shape) if isinstance(x, ArrayBase) else x for x in operands]
    return np.einsum_path(*hollow, optimize=optimize, einsum_call=einsum_call)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- reading


def parse_operands(operands: Sequence[Any]) -> tuple[list[str | list[Any]], Any, list[Array]]:
    """Return the labels of each operand, those of the result (None: not given), and the operands."""
    if not operands:
        raise ArgumentError("einsum: no operands came; expected subscripts and arrays")
    if isinstance(operands[0], str):
        text = operands[0].replace(" ", "")
        left, arrow, right = text.partition("->")
        inputs: list[Any] = left.split(",")
        for part in (*inputs, right):
            rest = part.replace("...", "", 1)
            if rest and not (rest.isascii() and rest.isalpha()):
                raise ArgumentError(bad("einsum", "subscripts", operands[0], "letters, commas, '...' and one '->'"))
        arrays = list(operands[1:])
        result: Any = right if arrow else None
    else:
        pairs = list(operands)
        result = [_sublabel(v) for v in pairs.pop()] if len(pairs) % 2 else None
        arrays = pairs[::2]
        inputs = [[_sublabel(v) for v in labels] for labels in pairs[1::2]]
    if len(inputs) != len(arrays):
        raise ArgumentError(bad("einsum", "operands", f"{len(arrays)} arrays", f"{len(inputs)}, as the subscripts say"))
    if not arrays:
        raise ArgumentError("einsum: no operands came; expected subscripts and arrays")
    return inputs, result, [as_array("einsum", f"operands[{i}]", a) for i, a in enumerate(arrays)]


def _sublabel(value: object) -> Any:
    if value is Ellipsis:
        return value
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < 52:
        raise ArgumentError(bad("einsum", "sublists", value, "integers from 0 to 51, or Ellipsis"))
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[int(value)]


def _split(subscript: Any) -> tuple[list[Any], list[Any] | None]:
    """Return the labels before the ellipsis and those after it (None: it has none)."""
    if isinstance(subscript, str):
        before, dots, after = subscript.partition("...")
        return list(before), list(after) if dots else None
    if Ellipsis not in subscript:
        return list(subscript), None
    at = subscript.index(Ellipsis)
    if Ellipsis in subscript[at + 1 :]:
        raise ArgumentError(bad("einsum", "sublists", subscript, "one Ellipsis"))
    return subscript[:at], subscript[at + 1 :]


def _label_axes(inputs: Sequence[Any], arrays: Sequence[Array]) -> tuple[list[Labels], list[Any]]:
    """Give every axis a label: those of ellipses are negative numbers, counted from the last one."""
    labels: list[Labels] = []
    for number, (subscript, array) in enumerate(zip(inputs, arrays, strict=True)):
        before, after = _split(subscript)
        named = len(before) + len(after or ())
        wide = array.ndim - named
        if wide < 0 or (after is None and wide):
            expected = f"as many axes as labels in {subscript!r}"
            raise ShapeError(bad("einsum", f"operands[{number}]", array.shape, expected))
        labels.append((*before, *range(-wide, 0), *(after or ())))
    return labels, list(inputs)


def _order_output(result: Any, inputs: Sequence[Any], terms: Sequence[Term]) -> Labels:
    wide = max((sum(1 for label in t.labels if isinstance(label, int)) for t in terms), default=0)
    dots = tuple(range(-wide, 0))
    if result is None:
        counts = Counter(label for subscript in inputs for part in _split(subscript) for label in part or ())
        return (*dots, *sorted(str(label) for label, n in counts.items() if n == 1))
    before, after = _split(result)
    labels = (*before, *dots, *(after or ())) if after is not None else tuple(before)
    if after is None and wide:
        raise ShapeError(bad("einsum", "subscripts", result, "'...' in the result, as operands have axes for it"))
    if len(set(labels)) != len(labels):
        raise ShapeError(bad("einsum", "subscripts", result, "each label of the result once"))
    return labels


def _cast(arrays: list[Array], dtype: DTypeLike, casting: str) -> list[Array]:
    if dtype is None:
        return arrays
    wanted = check_dtype("einsum", "dtype", dtype)
    for i, array in enumerate(arrays):
        if not np.can_cast(array.dtype, wanted, casting):  # type: ignore[arg-type]
            raise DTypeError(
                bad("einsum", f"operands[{i}]", array.dtype, f"what casts to {wanted} by rule {casting!r}")
            )
    return [astype(a, wanted) for a in arrays]


def _once(array: Array, labels: Labels, subscript: Any) -> Term:
    """Take diagonals of operands with repeated labels, so that each label stands for one axis."""
    while len(set(labels)) < len(labels):
        label = next(a for a in labels if labels.count(a) > 1)
        first = labels.index(label)
        second = labels.index(label, first + 1)
        lengths = array.shape[first], array.shape[second]
        if lengths[0] != lengths[1]:
            if 1 not in lengths:
                raise ShapeError(
                    bad("einsum", "operands", array.shape, f"equal lengths for {label!r} in {subscript!r}")
                )
            short = first if lengths[0] == 1 else second
            array = squeeze(array, short)
            labels = labels[:short] + labels[short + 1 :]
            continue
        array = diagonal(array, 0, first, second)
        labels = (*(a for i, a in enumerate(labels) if i not in (first, second)), label)
    return Term(array, labels)


def _lengths(terms: Sequence[Term]) -> dict[Label, int]:
    """Return the length of each label; size-1 axes broadcast."""
    lengths: dict[Label, int] = {}
    for term in terms:
        for label, n in zip(term.labels, term.array.shape, strict=True):
            known = lengths.get(label, 1)
            if n != known and 1 not in (n, known):
                raise ShapeError(f"einsum: label {label!r} has lengths {known} and {n}; expected one length")
            lengths[label] = n if known == 1 else known
    return lengths


def _drop_broadcast(term: Term, lengths: dict[Label, int]) -> Term:
    """Drop size-1 axes where other operands are longer: they broadcast."""
    gone = tuple(
        i for i, (label, n) in enumerate(zip(term.labels, term.array.shape, strict=True)) if n == 1 != lengths[label]
    )
    if not gone:
        return term
    return Term(squeeze(term.array, gone), tuple(a for i, a in enumerate(term.labels) if i not in gone))


# ---------------------------------------------------------------------- contracting


def _read_path(optimize: Any, count: int) -> list[tuple[int, ...]]:
    """Return the steps of a path that the user gave."""
    if not isinstance(optimize, list | tuple) or not optimize or optimize[0] != "einsum_path":
        return []
    path = [tuple(int(i) for i in step) for step in optimize[1:]]
    for step in path:
        if not step or max(step) >= count or min(step) < 0 or len(set(step)) != len(step):
            raise ArgumentError(bad("einsum", "optimize", optimize, "a path for these operands"))
        count -= len(step) - 1
    return path


def _find_needed(terms: Sequence[Term], chosen: Sequence[int], output: Labels) -> set[Label]:
    """Return the labels that are needed after some terms have been contracted."""
    rest = {label for i, term in enumerate(terms) if i not in chosen for label in term.labels}
    return rest | set(output)


def _cheapest(terms: Sequence[Term], output: Labels) -> tuple[int, int]:
    """Return the pair whose product takes the least memory, compared with its operands, then the fewest operations."""
    best: tuple[float, float, int, int] | None = None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            a, b = terms[i], terms[j]
            both = {label: max(a.length(label), b.length(label)) for label in (*a.labels, *b.labels)}
            kept = _find_needed(terms, (i, j), output)
            size = math.prod(n for label, n in both.items() if label in kept)
            cost = (size - a.array.size - b.array.size, math.prod(both.values()), i, j)
            best = cost if best is None or cost < best else best
    assert best is not None
    return best[2], best[3]


def _contract_terms(terms: list[Term], chosen: Sequence[int], output: Labels, dtype: np.dtype[Any]) -> list[Term]:
    """Contract some terms; the result comes last, as in NumPy's paths."""
    kept = _find_needed(terms, chosen, output)
    picked = [terms[i] for i in sorted(chosen)]
    product = picked[0]
    for number, other in enumerate(picked[1:], 1):
        later = {label for term in picked[number + 1 :] for label in term.labels}
        product = _pair(product, other, kept | later, dtype)
    if len(picked) == 1:
        product = _sum_out(product, kept, dtype)
    return [*(t for i, t in enumerate(terms) if i not in chosen), product]


def _pair(a: Term, b: Term, kept: set[Label], dtype: np.dtype[Any]) -> Term:
    """Contract two terms to the labels that are still needed."""
    a = _sum_out(a, kept | set(b.labels), dtype)
    b = _sum_out(b, kept | set(a.labels), dtype)
    labels = (*a.labels, *(label for label in b.labels if label not in a.labels))
    out = tuple(label for label in labels if label in kept)
    left, right = astype(a.array, dtype), astype(b.array, dtype)
    if len(out) == len(labels):  # nothing is summed
        function = logical_and if dtype == np.bool else multiply
        return Term(function(_order_axes(left, a.labels, labels), _order_axes(right, b.labels, labels)), labels)
    number = {label: i for i, label in enumerate(labels)}
    mine, theirs, wanted = (tuple(number[label] for label in some) for some in (a.labels, b.labels, out))
    return Term(contract("einsum", left, right, (mine, theirs, wanted)), out)


def _sum_out(term: Term, kept: set[Label], dtype: np.dtype[Any]) -> Term:
    """Sum over labels that nothing else needs."""
    axes = tuple(i for i, label in enumerate(term.labels) if label not in kept)
    if not axes:
        return term
    array, labels = astype(term.array, dtype), tuple(label for label in term.labels if label in kept)

    def add(array: Array, axes: tuple[int, ...]) -> Array:
        return any_of(array, axis=axes) if dtype == np.bool else summed(array, axis=axes, dtype=dtype)

    below = reduce_below(array, axes, add)
    return Term(add(array, axes) if below is None else below, labels)


def _order_axes(array: Array, mine: Labels, labels: Labels) -> Array:
    """Order an array's axes as in `labels`, with length one for those that it lacks."""
    order = sorted(range(len(mine)), key=lambda i: labels.index(mine[i]))
    ordered = transpose(array, order)
    missing = [i for i, label in enumerate(labels) if label not in mine]
    return expand_dims(ordered, missing) if missing else ordered


def _finish(term: Term, output: Labels, lengths: dict[Label, int], dtype: np.dtype[Any]) -> Array:
    term = _sum_out(term, set(output), dtype)
    ordered = _order_axes(astype(term.array, dtype), term.labels, output)
    assert ordered.shape == tuple(lengths[label] for label in output)
    return ordered
