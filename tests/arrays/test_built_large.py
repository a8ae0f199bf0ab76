"""Building what functions make of a large array takes as long, and as much memory, as for a small one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("built_large.py")


def test_functions_of_an_array_of_ten_thousand_million_elements(launch):
    pytest.importorskip("scipy")
    ended = launch(0, str(PROGRAM), limit=110)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["slow"] == {}
    assert len(found["built"]) > 250
    for name in ("repeat", "tile", "delete", "insert", "kron", "blocks", "trim", "pad reflect", "pad many turns"):
        assert name in found["built"], found["refused"].get(name)
    for name in ("filtfilt", "signal.detrend", "signal.decimate", "signal.welch", "welch of one chunk"):
        assert name in found["built"], found["refused"].get(name)
