"""Many steps over persisted arrays, a rank that dies late, and what is remembered of the steps. JSON.

Words: the steps, the seed of the moment of death; "fresh": the newest array is waited for at each step.
"""

import json
import os
import random
import signal
import sys

import numpy as np

import windrow as wr
from windrow.scheduler.session.cluster import session

steps, rng, fresh = int(sys.argv[1]), random.Random(int(sys.argv[2])), sys.argv[3:] == ["fresh"]
strike = rng.randrange(steps // 2, steps)
victim = rng.choice(wr.cluster().info()[1:])["pid"]


def stages():
    return session().engine.ask(lambda engine: len(engine.ledger.records))


start = np.random.default_rng(5).random((12, 1 << 14))
u = wr.from_array(start, chunks=(2, 1 << 14)).persist()
expected, most = start, 0
for k in range(steps):
    u = (u * 0.999 + u[::-1] * 0.001).persist()
    expected = expected * 0.999 + expected[::-1] * 0.001
    if k == strike:
        wr.wait(u)
        os.kill(victim, signal.SIGKILL)
    if fresh or k % 50 == 49:
        wr.wait(u)
        most = max(most, stages())
found = {
    "same": bool((u.compute() == expected).all()),
    "stages": most,
    "losses": wr.cluster().losses,
}
json.dump(found, sys.stdout)
print()
