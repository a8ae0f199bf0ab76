"""Ctrl-C at each call of some files' functions, one after the other: at all moments at which it may come."""

from __future__ import annotations

import sys
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


def interrupt_at_each_call(act: Callable[[], object], *files: str) -> int:
    """Call a function until no Ctrl-C comes in it any more; return how many came.

    Parameters
    ----------
    act : callable
        The function.
    *files : str
        How the names of files end of whose functions, as this thread begins them, one is interrupted: first the first
        that begins, then the second, and so on. Python looks for a Ctrl-C there.
    """
    for number in count():
        left = number

        def trace(frame: FrameType, event: str, _: object) -> None:
            nonlocal left
            if event == "call" and frame.f_code.co_filename.endswith(files):
                left -= 1
                if left == -1:
                    raise KeyboardInterrupt

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            act()
        except KeyboardInterrupt:
            continue
        finally:
            sys.settrace(before)
        if left >= 0:
            return number
    raise AssertionError
