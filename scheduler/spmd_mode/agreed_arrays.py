"""Shared arrays in SPMD mode: rank 0 has them, all ranks change them together, and each reads by itself.

What is read is the version that the last collective call has left, so that all scripts see the same, however far each
has come: rank 0 leases that version, and tells its name with the call's answer.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import pickle
import weakref
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...workers.shared.pickled_by_name import note_use
from ...workers.shared.shared_objects import resolve
from ..shared.handles import HandleKeeper
from ..shared.pages.lease import Elsewhere, Lease
from ..shared.pages.shared_array import SharedArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...workers.shared.pages.additions import Addition
    from ...workers.shared.pages.snapshot import PageLayout
    from ...workers.shared.segment import SegmentName
    from .member import MemberSession

Array = np.ndarray[Any, Any]
T = TypeVar("T")


@dataclass(eq=False)
class LedArray:
    """A shared array as rank 0 has it, and the version that all ranks know."""

    array: SharedArray
    lease: Lease | None = None

    def change(self, act: Callable[[SharedArray], T]) -> T:
        """Do something with the array; the version that was known need not be kept, as all ranks are in the call."""
        self.lease = None
        return act(self.array)

    def renew(self) -> SegmentName | None:
        """Return the present version's name, unless it is known."""
        if self.lease is not None and self.array._is_at(self.lease):
            return None
        self.lease = None
        self.lease = self.array._lease()
        return self.lease.version.shared._name


class AgreedArray(SharedArray):
    """A shared array as a rank's script has it, as long as `pin` keeps it; see the module."""

    def __init__(self, layout: PageLayout, session: MemberSession, pin: object) -> None:
        self._layout, self._session, self._pin = layout, session, pin
        weakref.finalize(self, session.versions.pop, layout.token, None).atexit = False

    @property
    def _name(self) -> SegmentName:
        return self._session.versions[self._layout.token]

    @staticmethod
    def _named_by(each: AgreedArray) -> bytes:
        return each._name.token

    def __reduce__(self) -> tuple[Any, ...]:
        led = self._led
        lease = Elsewhere() if led is None else led.lease
        if lease is not None and not note_use(lease):
            weakref.finalize(self, id, lease)
        return resolve, (self._name,)

    @property
    def _led(self) -> LedArray | None:
        leader = self._session.leader
        return None if leader is None else leader.arrays[self._layout.token]

    def _gather(self, index: Any) -> Any:
        return resolve(self._name)[index]

    def _change(self, operation: str, change: Addition) -> None:
        content = blake2b(pickle.dumps((change.index, change.values), 5), digest_size=16).hexdigest()
        self._together(operation, content, lambda array: array._change(operation, change))

    def _tell(self) -> dict[str, int]:
        info: dict[str, int] = self._together("info", "", lambda array: array._tell())
        return info

    def _fill(self, index: Any, values: Array) -> None:
        if self._led is not None:
            self._led.array._fill(index, values)

    def _begin(self) -> None:
        self._together("array", "", lambda array: None)

    def _stand_in(self, other: SharedArray) -> None:
        assert isinstance(other, AgreedArray)
        if self._led is not None and other._led is not None:
            self._led.array._stand_in(other._led.array)

    def _together(self, what: str, content: str, act: Callable[[SharedArray], Any]) -> Any:
        led = self._led
        about = (self._layout.token, content)
        return self._session.once(what, about, lambda: None if led is None else led.change(act))


def make_agreed(session: MemberSession, layout: PageLayout) -> AgreedArray:
    """Make a shared array; collective over all ranks."""

    def make() -> tuple[PageLayout, HandleKeeper]:
        assert session.leader is not None
        session.leader.arrays[layout.token] = led = LedArray(SharedArray(layout))
        return layout, HandleKeeper(led)

    agreed, pin = session.hold_once("shared array", make)
    return AgreedArray(agreed, session, pin)
