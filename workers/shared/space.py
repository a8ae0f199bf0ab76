"""What functions on ranks put into a space, and get from it; the driver keeps it (`scheduler/shared/spaces.py`).

What is put is pickled by who puts it. What is large is written to memory without a name, which the driver takes over
where it is on the same host; so it is sent nowhere, survives who put it, and is mapped by who gets it.
"""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np

from ...graph.errors import ArgumentError, WaitTimeout, bad
from ..rank.task_context import task_context
from ..wire.rpc import Calls, Recalled, own_calls
from ..wire.shared_messages import (
    SpaceBack,
    SpaceCame,
    SpaceFind,
    SpacePut,
    SpaceTags,
    SpaceWithdraw,
)
from .docstrings import SHARED
from .object_segments import write
from .pickled_by_name import note_use, noting
from .segment import SegmentName, SharedSegment
from .shared_objects import read_once

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Space"]

LARGE = 1 << 16
"""Bytes from which on an object is put as memory of its own."""


class Space:
    """Objects under tags, which all functions on ranks and the driver see: `windrow.shared.space` makes one.

    Parameters
    ----------
    token : bytes
        Its name.
    calls : Calls, optional
        How the driver is asked. None: as the rank asks whose function uses it.

    Attributes
    ----------
    tags : dict
        How many objects there are under each tag.

    Raises
    ------
    ClusterError
        By all methods: the space, or its cluster, is there no more.

    >>> space = wr.shared.space()
    >>> space.put("job", [1, 2])
    >>> space.tags, len(space), space.get("job")
    ({'job': 1}, 1, [1, 2])
    """

    def __init__(self, token: bytes, calls: Calls | None = None) -> None:
        self.token = token
        self._calls = calls

    def put(self, tag: Hashable, value: Any) -> None:
        """Put an object under a tag, behind those that are there.

        Parameters
        ----------
        tag : hashable
            Its name: a string, a number, a tuple of such.
        value : object
            Anything that pickles. It is copied; arrays of more than 64 KiB stay on the host where they are put. What is
            pickled by its name, such as shared objects, stays as long as the space.

        Raises
        ------
        ArgumentError
            The tag has no hash, or one of them can't be pickled.
        ClusterError
            The space, or the cluster, is there no more.

        Notes
        -----
        What a function puts that comes to nothing, since its rank dies, say, is taken back where nobody has got it: it
        runs again, and puts it again.

        >>> space = wr.shared.space()
        >>> def note(block):
        ...     space.put("seen", int(block.sum()))
        ...     return block
        >>> x = wr.map_blocks(note, wr.arange(4, chunks=2), dtype=int)
        >>> x.compute().tolist(), sorted(space.get("seen") for _ in range(2))
        ([0, 1, 2, 3], [1, 5])
        """
        _check_tag("put", tag)
        calls = self._own()
        with noting() as used:
            packed = _pack(value)
        named = used if calls.rank == 0 else []  # elsewhere objects are what they are, and no names
        offer = packed.name if isinstance(packed, SharedSegment) else packed
        if not calls.ask(0, SpacePut(self.token, task_context().batch, tag, offer, named)):
            assert isinstance(packed, SharedSegment)  # the driver can't reach this process
            content = packed.map().tobytes()
            calls.ask(0, SpacePut(self.token, task_context().batch, tag, offer, [], content))

    def get(self, tag: Hashable, timeout: float | None = None) -> Any:
        """Take the oldest object under a tag out; wait for one.

        Parameters
        ----------
        {tag_timeout}

        Returns
        -------
        object
            What was put, once: large arrays are read-only, in place.

        Raises
        ------
        {no_such_object}

        Notes
        -----
        What a function has got that comes to nothing goes back to its place: it runs again, and gets it again.

        >>> wr.shared.space().get("nothing", timeout=0)
        Traceback (most recent call last):
        windrow.graph.errors.WaitTimeout: get: nothing under the tag 'nothing' within 0 s
        """
        return self._find("get", tag, timeout, True)

    def read(self, tag: Hashable, timeout: float | None = None) -> Any:
        """Return the oldest object under a tag, which stays there; wait for one.

        Parameters
        ----------
        {tag_timeout}

        Returns
        -------
        object
            What was put; large arrays are read-only, in place.

        Raises
        ------
        {no_such_object}

        >>> space = wr.shared.space()
        >>> space.put("step", 0.1)
        >>> space.read("step"), space.read("step")
        (0.1, 0.1)
        """
        return self._find("read", tag, timeout, False)

    @property
    def tags(self) -> dict[Any, int]:
        """How many objects there are under each tag."""
        return self._own().ask(0, SpaceTags(self.token))

    def __len__(self) -> int:
        return sum(self.tags.values())

    def __repr__(self) -> str:
        return f"<space {self.token.hex()[:8]}>"

    def __reduce__(self) -> tuple[Any, ...]:
        note_use(self)
        return Space, (self.token,)  # not this one: a rank's functions shall not keep it

    def _own(self) -> Calls:
        return self._calls or own_calls()

    def _find(self, name: str, tag: Hashable, timeout: float | None, take: bool) -> Any:
        _check_tag(name, tag)
        if timeout is not None and not (isinstance(timeout, int | float | np.number) and timeout >= 0):
            raise ArgumentError(bad(name, "timeout", timeout, "a number of seconds, or None"))
        calls = self._own()
        ticket = os.urandom(8)
        pending = None
        try:
            pending = calls.begin(0, SpaceFind(self.token, task_context().batch, ticket, tag, take, timeout == 0))
            lent = pending.result(None if timeout == 0 else timeout)
        except WaitTimeout:
            calls.ask(0, SpaceWithdraw(self.token, ticket))  # what it was given meanwhile has come before that
            assert pending is not None
            lent = pending.result(0)
        except Recalled:
            raise
        except BaseException:  # an interrupt
            calls.tell(0, SpaceBack(self.token, ticket))
            raise
        finally:
            if pending is not None:
                pending.drop()
        if lent is None:
            raise WaitTimeout(f"{name}: nothing under the tag {tag!r} within {timeout:g} s")
        try:
            item = _unpack(lent.packed)
            calls.tell(0, SpaceCame(lent.number, task_context().batch))
        except BaseException:
            calls.tell(0, SpaceBack(self.token, ticket))
            raise
        return item


def _check_tag(name: str, tag: Hashable) -> None:
    try:
        hash(tag)
        cloudpickle.dumps(tag)
    except Exception as error:
        raise ArgumentError(f"{bad(name, 'tag', tag, 'a string, a number, a tuple of such')}: {error}") from None


def _pack(value: Any) -> bytes | SharedSegment:
    """Return an object for the driver: what is large in a segment, which the driver takes over."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        packed: bytes = cloudpickle.dumps(value, 5, buffer_callback=buffers.append)
        if len(packed) + sum(each.raw().nbytes for each in buffers) < LARGE:
            return cloudpickle.dumps(value, 5)  # type: ignore[no-any-return] # it has no types
        return write(value)
    except OSError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"put: argument 'value', {type(value).__name__!r}, can't be pickled: {type(error).__name__}: {error}"
        ) from error


def _unpack(packed: bytes | SegmentName) -> Any:
    return read_once(packed) if isinstance(packed, SegmentName) else pickle.loads(packed)


SHARED.fill(__name__)
