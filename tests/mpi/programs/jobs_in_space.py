"""Members take jobs out of a space and put results there; argv: how many ranks are killed at random moments."""

import json
import random
import sys
import threading
import time

import numpy as np

import windrow as wr
from support.ranks import kill_a_rank

JOBS = 40
kills = int(sys.argv[1]) if len(sys.argv) > 1 else 0
random.seed(int(sys.argv[2]) if len(sys.argv) > 2 else 0)


def work(comm, space):
    done = 0
    while True:
        try:
            number, data = space.get("job", timeout=0)
        except wr.WaitTimeout:
            return done
        time.sleep(0.005)
        space.put("result", (number, data * 2))
        done += 1


def kill():
    if len(wr.cluster().info()) > 2:
        kill_a_rank(random.choice)


def run(space):
    for number in range(JOBS):
        space.put("job", (number, np.full(20_000 if number % 5 == 0 else 3, number)))
    counts = wr.spmd(lambda comm: work(comm, space))
    found = dict(space.get("result", timeout=10) for _ in range(JOBS))
    right = all((found[k] == 2 * k).all() for k in range(JOBS)) and len(found) == JOBS == sum(counts)
    return right and space.tags == {}


wr.spmd(lambda comm: None)
space = wr.shared.space()
right = []
for _ in range(max(kills, 1)):
    timer = threading.Timer(random.uniform(0, 0.12), kill)
    if kills:
        timer.start()
    right.append(run(space))
    timer.cancel()
    if kills and len(wr.cluster().info()) < 3:
        break
shared = wr.cluster().info()[0]["shared"]
print(json.dumps({"right": right, "lost": len(wr.cluster().losses), "shared": shared}))
