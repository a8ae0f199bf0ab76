"""Sources that take their time; see slow_sources.py."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import windrow as wr
from support.waiting import until

PROGRAM = Path(__file__).parent / "programs" / "slow_sources.py"


@pytest.mark.parametrize("ranks", [0, pytest.param(2, marks=pytest.mark.ranks)])
def test_slow_sources_are_read_at_once_beside_the_rest(launch, nothing_left, ranks):
    ended = launch(ranks, str(PROGRAM))
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    error, notes = found.pop("error"), found.pop("notes")
    both, scaled = found.pop("readings")
    assert found.pop("again") == [["FileError", True], ["SystemExit", True]]
    assert both <= 24, "20 blocks, which two reductions read at the same time"
    assert scaled <= 44
    assert ["the driver reads it" in note for note in notes] == [False, ranks > 0]
    assert "can't be read at [7:8, 0:200]: OSError: a block that can't be read" in error
    for name, (right, most) in found.items():
        assert right, name
        if "locked" in name:
            assert most == 1 if ranks == 0 or "Stuck" in name else most <= ranks, "a lock is each process's"
        else:
            assert most >= 3, f"{name}: readings wait for each other, and for what is computed beside: {most} at once"


def test_a_lock_is_checked():
    with pytest.raises(wr.ArgumentError, match="'lock' is 'yes'"):
        wr.from_array([1, 2], lock="yes")


def wait_for(path):
    """Wait until a file is there: a function's blocks and a test tell each other so."""
    until(path.exists, path)


def test_what_a_failed_computation_has_read_is_not_given_to_the_next(tmp_path):
    """Though a thread still computes with it: the source has other values by now."""
    begun, mended, go_on = (tmp_path / name for name in ("begun", "mended", "go_on"))

    class Source:
        shape, dtype, ndim = (4,), np.dtype(float), 1

        def __getitem__(self, key):
            if not mended.exists() and key[0].start == 3:
                wait_for(begun)
                raise OSError("not now")
            return np.full(4, float(mended.exists()))[key]

    def hold(block):
        if not mended.exists():
            begun.touch()
            wait_for(go_on)
        return block

    x = wr.from_array(Source(), chunks=1)
    held = wr.map_blocks(hold, x[:1], dtype=float)
    with pytest.raises(wr.FileError, match="not now"):
        wr.compute(held, x[3:])
    mended.touch()
    assert x.sum().compute() == 4
    assert held.sum().compute() == 1
    go_on.touch()
