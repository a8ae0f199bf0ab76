"""What all parts of a communicator of threads need: who it is, and how its calls begin and end."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ....graph.errors import BadValue, ClusterError, bad
from ..meetings import arrive
from ..values import values
from .requests import Request

if TYPE_CHECKING:
    from ..mailboxes import Context
    from ..meetings import MemberCall, MemberPart


class Base:
    """One member's end of a communicator.

    Parameters
    ----------
    context
        What all members share.
    rank
        Which member of the communicator this is.
    """

    def __init__(self, context: Context, rank: int) -> None:
        self._context = context
        self._group = context.group
        self._member = context.members[rank]
        self._rank = rank
        self._size = len(context.members)
        self._calls = 0
        self._is_freed = False

    def _begin(self, call: MemberCall) -> MemberPart:
        if self._is_freed:
            raise ClusterError(f"{call.name}: the communicator was freed")
        self._calls += 1
        return arrive(self._context, self._rank, self._calls, call)

    def _meet(self, call: MemberCall) -> Any:
        part = self._begin(call)
        self._group.wait(self._member, part)
        return part.result()

    def _later(self, call: MemberCall) -> Request:
        return Request(self._group, self._begin(call))

    def _peer(self, call: str, argument: str, rank: Any) -> int | None:
        """Return a rank of the communicator; None for PROC_NULL."""
        if self._is_freed:
            raise ClusterError(f"{call}: the communicator was freed")
        peer = operator.index(rank)
        if 0 <= peer < self._size:
            return peer
        if peer == values().proc_null:
            return None
        raise BadValue(bad(call, argument, rank, f"a rank below {self._size}, or PROC_NULL"))

    def _root(self, call: str, root: Any) -> int:
        root_rank = operator.index(root)
        if not 0 <= root_rank < self._size:
            raise BadValue(bad(call, "root", root, f"a rank below {self._size}"))
        return root_rank
