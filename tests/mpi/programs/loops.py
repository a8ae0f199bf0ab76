"""Loops on ranks, local and not, through mapped memory and by messages: prints as JSON which have the right bits."""

import json

import numpy as np

import windrow as wr
from windrow.arrays.loops import gangs, runs


def plainly(steps, body, x):
    for i in range(steps):
        x = body(np.int64(i), x).persist()
    return x.compute()


def jacobi(i, x):
    wide = wr.pad(x, 1)
    return 0.25 * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:])


def rolls(i, x):
    a = wr.roll(x, 1, 0) - x
    return wr.roll(a * a, -2, 0) * 0.5 + wr.roll(a, -2, 1) * i


def sorts(i, x):
    return wr.sort(x * -0.5, axis=0) + x.mean()


ran, run_halos = [], runs.run_halos
runs.run_halos = lambda *args: ran.append(1) or run_halos(*args)
x = wr.from_array(np.random.default_rng(0).random((61, 40)), chunks=(7, 40))
found = {}
for body in (jacobi, rolls, sorts):
    wanted = plainly(5, body, x).tobytes()
    for mapped in (True, False):
        gangs.MAPPED = mapped
        for snapshot in (None, 2):
            made = wr.fori_loop(0, 5, body, x, snapshot=snapshot).compute()
            found[f"{body.__name__} {mapped} {snapshot}"] = made.tobytes() == wanted
y, steps = wr.while_loop(lambda x: x[0].max() > 0.1, lambda x: (x[0] * 0.5, x[1] + 1), (x, 0))
found["while"] = bool(steps.compute() == 4)
print(json.dumps({"right": found, "gangs": len(ran)}))
