"""Names that processes which run one program agree on: users' functions, arrays handed in, seeds."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from windrow.graph.expr import names

PROGRAM = """
import json
import numpy as np
import windrow as wr
from windrow.graph.expr import names

names.agree(b"a job's seed")
words = {"one", "two", "three", "four"}
class Scale:
    kinds = frozenset(words)
    def __init__(self, by): self.by = by
    def __call__(self, block): return block * self.by if "one" in {"one", "three", "five"} else block
    def twice(self): return Scale(2 * self.by)
def pick(block, *, among=words):
    return block[[len(w) for w in sorted(among)]]
large = np.arange(1 << 18, dtype="f8")
x = wr.from_array(large) + wr.from_array(np.arange(5.0))[0] + wr.random.default_rng().random(large.shape)
y = wr.from_array(large)
z = wr.map_blocks(pick, wr.map_blocks(Scale(3), x), dtype="f8", chunks=((4,),))
w = wr.map_blocks(lambda b: Scale(2).twice()(b), y, dtype="f8")
wr.random.seed()
print(json.dumps([a.expr.token for a in (x, y, z, w, wr.random.rand(3), wr.random.rand(3))]))
"""


@pytest.mark.ranks
def test_two_processes_make_the_same_names(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    found = [subprocess.check_output([sys.executable, str(script)], text=True, timeout=60) for _ in range(3)]
    tokens = json.loads(found[0])
    assert len(set(tokens)) == len(tokens)
    assert [json.loads(each) for each in found] == [tokens] * 3


@pytest.fixture
def agreed():
    names.agree(b"some seed")
    yield
    names.agree(b"")


def test_content_names_arrays(agreed):
    small, large = np.arange(10.0), np.arange(1 << 18, dtype="f8")
    assert names.name_array(small) == names.name_array(small.copy())
    assert names.name_array(small) != names.name_array(small[::-1])
    assert names.name_array(small) != names.name_array(small.astype("f4"))
    first, second = names.name_array(large), names.name_array(large)
    assert first != second, "a large array may have been changed where nobody looked"
    assert names.name_array(large + 1)[1] != first[1]
    assert names.name_array(np.zeros((1 << 9, 1 << 10)).T)[0] == "sample"
    assert names.name_array(np.zeros((0, 3))) == names.name_array(np.zeros((0, 3)))


def test_lines_have_numbers_of_their_own(agreed):
    here = [names.number("test") for _ in range(2)]
    there = [names.number("test") for _ in range(3)]
    assert len({*here, *there}) == 5
    names.agree(b"some seed")
    assert names.entropy("test") != names.entropy("test")


def test_alone_identity_names_arrays():
    data = np.arange(3)
    assert names.name_array(data) != names.name_array(data)
    assert names.entropy("test") is None
