"""Tasks that submit tasks, through a kill at a random moment. JSON. argv: seed."""

import json
import os
import random
import signal
import sys
import threading
import time

import numpy as np

import windrow as wr
from support.ranks import kill_a_rank
from windrow.scheduler.session.cluster import session
from windrow.workers.wire.task_messages import BoardMessage

chance = random.Random(int(sys.argv[1]))


def make(k):
    time.sleep(0.005)
    return np.full(30_000, k)


def total(*parts):
    return int(sum(part[0] for part in parts))


def tree(low, high):
    if high - low <= 4:
        made = wr.map(make, range(low, high))
        kept = made[0].result()
        return wr.submit(total, *made).result() + 0 * int(kept[-1])
    half = (low + high) // 2
    return sum(wr.gather(wr.map(tree, [low, half], [half, high])))


def fibonacci(n):
    if n < 2:
        return n
    one, two = wr.map(fibonacci, [n - 1, n - 2])
    return one.result() + two.result()


def end_rank():
    os.kill(os.getpid(), signal.SIGKILL)


def deadly():
    return wr.submit(end_rank).result()


threading.Timer(2 * chance.random(), kill_a_rank, [chance.choice]).start()
right = []
while len(right) < 4 or not wr.cluster().losses:
    one, two, three = wr.submit(tree, 0, 64), wr.submit(fibonacci, 8), wr.submit(tree, 0, 30)
    right += [one.result(60) == 63 * 32, two.result(60) == 21, three.result(60) == 29 * 15]
    del one, two, three
losses = len(wr.cluster().losses)
told = ""
if "deadly" in sys.argv:
    try:
        wr.submit(deadly).result(60)
    except wr.ClusterError as error:
        told = str(error)
board = session().calls.provided(BoardMessage).board
for _ in range(2000):
    if not board.records and not any(site.used or site.bytes for site in board.sites if site.alive):
        break
    time.sleep(0.005)
left = [len(board.records), *(site.used for site in board.sites if site.alive)]
print(json.dumps({"right": right, "losses": losses, "told": told, "left": left}))
