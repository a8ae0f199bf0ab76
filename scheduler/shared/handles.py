"""Handles of what all ranks share: made once for all scripts, and let go of with the last reference."""

from __future__ import annotations

import pickle
import weakref
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..session.cluster import session
from ..session.job import post
from ..session.result_collector import insist

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..engine.engine import Engine

Handle = TypeVar("Handle")


class HandleKeeper:
    """Keeps an object for all ranks that run the script."""

    def __init__(self, handle: object) -> None:
        self._handle: object = handle

    def release(self) -> None:
        self._handle = None


def make_once(what: str, make: Callable[[], Handle]) -> Handle:
    """Make what all ranks know by a name; in SPMD mode rank 0 makes it, as long as any rank's script refers to it."""
    current_session = session()
    if current_session.place[1] == 1:
        return make()

    def create() -> tuple[bytes, HandleKeeper]:
        original = make()
        return pickle.dumps(original, 5), HandleKeeper(original)

    packed, pin = current_session.hold_once(what, create)
    handle: Handle = pickle.loads(packed)
    weakref.finalize(handle, pin.release)
    return handle


def make_handle(engine: Engine, make: Callable[[], Handle], end: Callable[[Engine], object]) -> Handle:
    """Make something with a handle; an engine ends it when nothing refers to the handle any more.

    It ends also where an interrupt comes when it is there already, and its handle isn't: so `end` may be called twice,
    and for what was never there.
    """
    try:
        handle = make()
        when_gone(handle, engine, end)
    except BaseException:
        post(engine, end)
        raise
    return handle


def when_gone(handle: object, engine: Engine, act: Callable[[Engine], object]) -> None:
    """Have an engine do something when nothing refers to a handle any more.

    It is the engine's thread that does it, since a finalizer runs anywhere, so perhaps within a lock that is needed.
    """
    weakref.finalize(handle, insist, partial(_post, weakref.ref(engine), act)).atexit = False


def _post(reference: weakref.ref[Engine], act: Callable[[Engine], object]) -> None:
    engine = reference()
    if engine is not None:
        post(engine, act)
