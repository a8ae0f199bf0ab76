"""Files that Windrow has added to since arrays were made from them: what these read is still what it was.

The driver's process writes, and knows; other ranks ask it when they meet a file that isn't as it was.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ....graph.errors import ClusterError, SourceChanged
from ...wire.rpc import own_calls
from ...wire.shared_messages import FindSuccessor

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...wire.rpc import Calls
    from .places import FilePlace

MOST = 10_000
"""So many versions of a file are remembered."""

Version = tuple[int, Any]
"""A file's size, and its time of change."""


@dataclass
class _History:
    """Versions of a file one after the other, and in which of them each part was last replaced."""

    versions: dict[Version, int] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)


_histories: dict[str, _History] = {}
_guard = threading.Lock()


def note(path: str, before: Version, after: Version, replaced: Collection[str]) -> None:
    """Note that a file of one version becomes one of another, in which some parts have other contents."""
    with _guard:
        history = _histories.get(path)
        if history is None or next(reversed(history.versions)) != before:
            history = _histories[path] = _History({before: 0})
        number = history.versions[before] + 1
        history.versions.pop(after, None)
        history.versions[after] = number
        history.replaced |= dict.fromkeys(replaced, number)
        if len(history.versions) > MOST:
            del history.versions[next(iter(history.versions))]


def current(place: FilePlace, part: str) -> FilePlace:
    """Return a file as it is now, whose part is still what it was.

    SourceChanged: somebody else has changed the file, or Windrow has replaced the part.
    """
    try:
        place.check()
    except SourceChanged:
        version = _ask(place, part) if place.is_local else None
        if version is None:
            raise
        now = replace(place, size=version[0], mark=version[1])
        now.check()
        return now
    return place


def serve(calls: Calls) -> None:
    """Answer other ranks' questions."""
    calls.serve(FindSuccessor, lambda question: question.reply(_find(question.message)))


def _ask(place: FilePlace, part: str) -> Version | None:
    wanted = FindSuccessor(os.path.realpath(place.path), (place.size, place.mark), part.strip("/"))
    try:
        calls = own_calls()
    except ClusterError:
        return _find(wanted)
    return _find(wanted) if calls.rank == 0 else calls.ask(0, wanted)


def _find(wanted: FindSuccessor) -> Version | None:
    """Return the last version of a file, if its part is that of another version."""
    with _guard:
        history = _histories.get(wanted.path)
        if (
            history is None
            or wanted.version not in history.versions
            or history.replaced.get(wanted.part, 0) > history.versions[wanted.version]
        ):
            return None
        return next(reversed(history.versions))
