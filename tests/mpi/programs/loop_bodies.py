"""Bodies of loops drawn by chance, on ranks: prints as JSON what is wrong, and how many ran as gangs."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "arrays" / "loops"))

from loop_bodies import draw

import windrow as wr
from windrow.arrays.loops import gangs, runs

ran, run_halos = [], runs.run_halos
runs.run_halos = lambda *args: ran.append(1) or run_halos(*args)
wrong = []
with wr.config.set(jit="off"):
    for seed in range(int(sys.argv[1])):
        gangs.MAPPED = seed % 2 == 0
        program, how = draw(seed), "while" if seed % 10 == 9 else "fori"
        if program.wrong(how):
            wrong.append(program.report(how))
print(json.dumps({"wrong": wrong, "gangs": len(ran)}))
