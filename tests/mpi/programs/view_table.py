"""All small programs that write through views, beside NumPy. JSON: how many ran, and those that differ."""

import json
import sys
from pathlib import Path

import numpy as np

import windrow as wr

sys.path.insert(0, str(Path(__file__).parents[2]))
from support.views import PROGRAMS, run

start = np.arange(24.0).reshape(4, 6) * 7 % 23
wrong = []
for program in PROGRAMS:
    expected = run(program, np, {"a": start.copy()})
    values = run(program, wr, {"a": wr.from_array(start.copy(), chunks=(3, 4))})
    if expected.keys() != values.keys() or any(not np.array_equal(expected[n], values[n]) for n in expected):
        wrong.append(program)
json.dump([len(PROGRAMS), wrong], sys.stdout)
print()
