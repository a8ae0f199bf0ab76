"""What something costs, as a count that no other load of the machine changes."""

from __future__ import annotations

import sys


def count_calls(function) -> int:
    """Return how many functions, Python's and compiled ones, a function calls in this thread."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
