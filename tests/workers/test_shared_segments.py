"""Segments of memory that processes of a host find by their names, also when these mean something else by now."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from windrow.workers.shared.segment import SharedSegment


def test_who_has_the_name_maps_the_bytes():
    segment = SharedSegment.create("test", 100)
    segment.memory[:3] = 1, 2, 3
    mapped = segment.name.map()
    assert mapped[:4].tolist() == [1, 2, 3, 0]
    assert not mapped.flags.writeable
    segment.name.map(write=True)[0] = 9
    assert mapped[0] == 9


@pytest.mark.parametrize("other", ["segment", "pipe", "nothing"])
def test_a_number_that_means_another_file_by_now_is_no_segment(other):
    segment, another = (SharedSegment.create("test", 100) for _ in range(2))
    files = list(os.pipe()) if other == "pipe" else [os.dup(another.descriptor)] if other == "segment" else []
    name = replace(segment.name, descriptor=files[0] if files else 10**6)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match=str(name.descriptor)):
        name.map()
    assert os.listdir("/proc/self/fd") == before
    for each in files:
        os.close(each)


def test_a_closed_segment_touches_no_file():
    """Its number is soon another file's."""
    segment = SharedSegment.create("test", 4096)
    number = segment.descriptor
    segment.close()
    other = SharedSegment.create("other", 4096)
    assert other.descriptor == number
    other.memory[:] = 1
    for act in (lambda: segment.free(0, 4096), lambda: segment.write(memoryview(b"x")), segment.map, segment.seal):
        with pytest.raises(OSError, match="is closed"):
            act()
    with pytest.raises(OSError, match="is closed"):
        _ = segment.used
    assert (other.memory == 1).all()
    assert segment.memory.size == 0
    segment.close()


def test_what_is_taken_over_or_sealed_is_read_only():
    segment = SharedSegment.create("test", 100)
    segment.write(memoryview(b"\x07"), 5)
    taken = SharedSegment.adopt(segment.name)
    segment.seal()
    segment.close()
    assert taken.memory[5] == 7
    assert not taken.memory.flags.writeable
    sealed = SharedSegment.create("test", 10)
    sealed.seal()
    assert not sealed.memory.flags.writeable
    np.testing.assert_array_equal(sealed.memory, 0)
