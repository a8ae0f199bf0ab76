"""What ranks ask for in their collective calls, and how it is told apart."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph.errors import ClusterError
from ...graph.expr import origin
from ...workers.wire.rpc import pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...graph.expr.expr import Expr
    from ...workers.shared.segment import SegmentName

SHOWN = 3
"""Arrays that an error names."""


@dataclass(frozen=True)
class RankReport:
    """What a rank asks for: in its so many-th call, from a line of the script, some expressions by their names.

    `dropped` are persisted arrays of which this rank has let go since its last call. `said` describes the arrays.
    """

    number: int
    kind: str
    call: str
    where: str
    names: tuple[str, ...]
    said: str = ""
    dropped: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What must be the same on all ranks."""
        return self.kind, self.names

    def describe(self) -> str:
        """Tell what is asked for, and from where."""
        what = self.call if self.call in ("", self.kind) else f"{self.call}: {self.kind}"
        return f"{what or self.kind}{f' of {self.said}' if self.said else ''} at {self.where or 'an unknown line'}"


@dataclass(frozen=True)
class Answer:
    """What all ranks are told: a pickled value or error, what is persisted no more, and which ranks live.

    `versions` are shared arrays, by their tokens, that a call has changed, with the names of what they are now.
    """

    packed: bytes
    failed: bool
    gone: tuple[str, ...]
    living: tuple[int, ...]
    versions: tuple[tuple[str, SegmentName], ...] = ()


def report(number: int, kind: str, names: Iterable[str], roots: Sequence[Expr], dropped: tuple[str, ...]) -> RankReport:
    """Return the report of a call that the user's line makes."""
    here = origin.find_origin()
    shown = [f"{root.label} {root.shape}" for root in roots[:SHOWN]]
    more = [f"{len(roots) - SHOWN} more"] if len(roots) > SHOWN else []
    return RankReport(number, kind, here.call, here.where, tuple(names), ", ".join([*shown, *more]), dropped)


def name_ranks(ranks: Iterable[int]) -> str:
    """Return ranks for people.

    Examples
    --------
    >>> name_ranks([2, 0]), name_ranks([1])
    ('ranks 0, 2', 'rank 1')
    """
    ordered = sorted(ranks)
    return f"rank{'s' * (len(ordered) > 1)} {', '.join(map(str, ordered))}"


def different(reports: Mapping[int, RankReport]) -> ClusterError:
    """Return the error for ranks that ask for different things."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for rank in sorted(reports):
        groups.setdefault(reports[rank].key, []).append(rank)
    descriptions = [f"{name_ranks(ranks)}: {reports[ranks[0]].describe()}" for ranks in groups.values()]
    same = len({(each.kind, each.said, each.where) for each in reports.values()}) == 1
    hint = (
        "; the arrays look the same, but what they are made from isn't: data that was handed in, a function's "
        "variables, or random numbers"
        if same
        else ""
    )
    return ClusterError(
        f"the ranks ask for different things: {'; '.join(descriptions)}{hint}; expected the same calls in the same "
        "order on all ranks"
    )


def dumps(value: object) -> bytes:
    """Pickle for another rank, which runs the same script: its classes go by name, what has none by value."""
    try:
        return pickle.dumps(value, 5)
    except Exception:
        return pack(value)


def dump_error(error: BaseException) -> bytes:
    """Pickle an exception; one that can't be becomes a `ClusterError` of its text."""
    try:
        packed = dumps(error)
        pickle.loads(packed)
    except Exception:
        substitute = ClusterError(f"{type(error).__name__}: {error}")
        for note in getattr(error, "__notes__", ()):
            substitute.add_note(note)
        packed = dumps(substitute)
    return packed
