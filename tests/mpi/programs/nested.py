"""Tasks that submit tasks, on ranks. JSON."""

import asyncio
import concurrent.futures
import json
import os
import time

import numpy as np

import windrow as wr


def fibonacci(n):
    if n < 2:
        return n
    one, two = wr.submit(fibonacci, n - 1), wr.submit(fibonacci, n - 2)
    return one.result() + two.result()


def merge(one, two):
    return np.sort(np.concatenate([one, two]), kind="stable")


def sort(values):
    """Mergesort by tasks, of arrays that stay on ranks."""
    if len(values) <= 20_000:
        return np.sort(values)
    half = len(values) // 2
    low, high = wr.map(sort, [values[:half], values[half:]])
    return wr.submit(merge, low, high).result()


def add(a, b=1):
    return a + b


def where():
    return os.getpid()


def deep(n):
    return 0 if not n else 1 + wr.submit(deep, n - 1).result()


def ways():
    large = wr.submit(np.ones, 100_000)
    with wr.Executor() as executor:
        executed = list(executor.map(add, range(3)))

    async def both():
        return await asyncio.gather(*map(asyncio.ensure_future, wr.map(add, range(2))))

    futures = wr.map(add, range(3))
    wr.wait(futures, timeout=30)
    ended = []
    called = wr.submit(add, 1)
    called.add_done_callback(lambda done: ended.append(done.result()))
    called.result(30)
    while not ended:
        time.sleep(0.001)
    lazy = wr.delayed(add)
    data = wr.scatter(np.arange(100_000))
    return {
        "error": repr(wr.submit(divmod, 1, 0).exception(30)),
        "large": [float(wr.submit(np.sum, large).result(30)), float(large.result(30).sum())],
        "own array": int(wr.submit(np.sum, np.arange(100_000)).result(30)),
        "scattered": int(wr.submit(np.sum, data).result(30)),
        "executed": executed,
        "awaited": asyncio.run(both()),
        "waited for": [f.result() for f in futures],
        "completed": sorted(f.result() for f in concurrent.futures.as_completed(wr.map(add, range(3)), timeout=30)),
        "chained": wr.submit(add, wr.submit(add, 1)).result(30),
        "called": ended,
        "lazy": lazy(lazy(1), 5).compute(),
        "program": wr.submit(["echo", "words"]).result(30).strip(),
        "pids": len(set(wr.gather(wr.map(lambda _: time.sleep(0.02) or os.getpid(), range(40))))),
    }


def cancel():
    blocked = wr.submit(time.sleep, 0.3, cores=wr.submit(int, 1).result())
    waiting = wr.submit(add, blocked)
    seen = waiting.cancel(), waiting.cancelled()
    try:
        waiting.result(30)
    except concurrent.futures.CancelledError:
        return [*seen, blocked.result(30)]


def forever(path):
    with open(path, "a") as file:
        file.write("x")
    while True:
        time.sleep(0.01)


def spin(path):
    return wr.gather([wr.submit(forever, path) for _ in range(8)])


def failing():
    return wr.submit(divmod, 1, 0).result()


def leak():
    return wr.submit(add, 1)


def text_of(call):
    try:
        return call()
    except Exception as error:
        return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])


def array_within():
    return wr.ones(3).sum().compute()


def board():
    from windrow.scheduler.session.cluster import session
    from windrow.workers.wire.task_messages import BoardMessage

    return session().calls.provided(BoardMessage).board


def settled():
    """Return what is left on the board, after a while."""
    for _ in range(2000):
        if not board().records and all(site.used == site.bytes == 0 for site in board().sites):
            break
        time.sleep(0.005)
    return [len(board().records), *(site.used for site in board().sites)]


values = np.random.default_rng(1).integers(0, 1000, 300_000)
found = {}
found["fibonacci"] = wr.submit(fibonacci, 12).result(60)
found["sorted"] = bool(np.array_equal(wr.submit(sort, values).result(60), np.sort(values)))
del values  # what calls took of it is kept as long
found["ways"] = wr.submit(ways).result(60)
found["deep"] = wr.submit(deep, 300).result(60)
found["thousand"] = sum(wr.submit(lambda: wr.gather(wr.map(add, range(1000)))).result(60))
found["cancelled"] = wr.submit(cancel).result(60)
path = os.path.join(os.getcwd(), "begun")
outer = wr.submit(spin, path)
while not os.path.exists(path):
    time.sleep(0.005)
found["ended"] = outer.cancel(running=True)
del outer
found["error"] = text_of(lambda: wr.submit(failing).result(60))
found["leaked"] = text_of(lambda: wr.submit(leak).result(60))
found["array"] = text_of(lambda: wr.submit(array_within).result(60))
found["left"] = settled()
found["still"] = wr.gather(wr.map(add, range(5)))
print(json.dumps(found))
