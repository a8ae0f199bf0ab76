"""Tasks on ranks: where they run, what stays there, cancelling, programs. JSON."""

import concurrent.futures
import gc
import json
import os
import signal
import sys
import threading
import time

import numpy as np

import windrow as wr

pids = [row["pid"] for row in wr.cluster().info()]
found = {"pids": sorted(set(wr.gather([wr.submit(lambda: (time.sleep(0.05), os.getpid())[1]) for _ in range(6)])))}
found["others"] = set(found["pids"]) <= set(pids)
large = wr.submit(np.arange, 1_000_000)
found["sum"] = int(wr.submit(np.sum, large).result())
found["large"] = large.result().shape[0]
x = wr.arange(1000, chunks=100)
found["array"] = int(wr.submit(lambda a: int(a.sum()), x * 2).result())
file = wr.from_array(np.arange(10.0))
found["host"] = wr.submit(lambda a: float(a[-1]), file).result()
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    found["threads"] = list(pool.map(lambda k: wr.submit(pow, k, 2).result(), range(50)))
try:
    wr.submit(threading.Lock).result()
except wr.WindrowError as error:
    found["unpicklable"] = str(error)


def fill_dict():
    return {"a": np.arange(2_000_000.0), "when": np.arange(100_000).view("M8[s]"), "name": "x"}


def count_lent():
    time.sleep(0.02)
    return sum(len(each._lent) for each in gc.get_objects() if type(each).__name__ == "Lending")


lent = wr.submit(fill_dict)
concurrent.futures.wait([lent])
taken = wr.gather([wr.submit(lambda d: float(d["a"].sum()), lent) for _ in range(4)])
result = lent.result()
result["a"][0] = 7  # it is the caller's own
found["lent"] = [taken == [1_999_999_000_000.0] * 4, float(result["a"].sum()), str(result["when"][5]), result["name"]]
time.sleep(0.1)
found["lent memory"] = max(wr.gather([wr.submit(count_lent) for _ in range(6)]))
del lent, result
shared = [wr.submit(np.arange, 100_000) for _ in range(12)]
concurrent.futures.wait(shared)
together = threading.Barrier(4)
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    each = list(pool.map(lambda _: (together.wait(10), wr.gather(shared))[1], range(4)))
found["one object"] = all(len({id(result) for result in results}) == 1 for results in zip(*each, strict=True))
each = shared = None
placed = wr.scatter(np.ones(100_000))


def fill(a):
    time.sleep(0.02)
    return a[:50_000] * 2


def count():
    services = [each for each in gc.get_objects() if type(each).__name__ == "TaskService"]
    time.sleep(0.02)
    return len(services[0]._kept)


filled = [wr.submit(fill, placed) for _ in range(6)]
concurrent.futures.wait(filled)
found["kept"] = max(wr.gather([wr.submit(count) for _ in range(6)]))
del placed


def forever():
    while True:
        time.sleep(0.001)


def asleep():
    time.sleep(30)


running = wr.submit(forever)
time.sleep(0.2)
found["ended"] = running.cancel(running=True)
program = wr.submit(["sleep", "30"])
time.sleep(0.2)
found["program"] = program.cancel(running=True)
found["losses"] = len(wr.cluster().losses)
held = wr.submit(asleep)
time.sleep(0.2)
found["asleep"] = held.cancel(running=True)
found["left"] = [len(wr.cluster().losses), wr.submit(pow, 2, 5).result(10)]
timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
timer.start()
try:
    wr.gather([wr.submit(forever) for _ in range(30)])
except KeyboardInterrupt:
    found["after Ctrl-C"] = [wr.submit(pow, 2, 5).result(20), len(wr.cluster().losses)]


def deadly():
    os._exit(3)


try:
    wr.submit(deadly).result()
except wr.ClusterError as error:
    found["deadly"] = str(error)
found["still"] = wr.gather(wr.map(pow, range(5), [2] * 5))
found["again"] = [float(f.result()[-1]) for f in filled]
del filled, large
time.sleep(0.1)
found["dropped"] = max(wr.gather([wr.submit(count) for _ in range(6)]))
json.dump(found, sys.stdout)
print()
