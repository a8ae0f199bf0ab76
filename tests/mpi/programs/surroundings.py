"""What tasks on ranks find there: the script's words, random states of their own; futures of other clusters. JSON."""

import concurrent.futures
import json
import random
import sys
import time

import numpy as np

import windrow as wr


def look():
    time.sleep(0.1)
    return sys.argv


class Kept(Exception):
    """It can't be pickled."""

    def __init__(self, text):
        super().__init__(text)
        self.state = random.SystemRandom, sys._getframe()


def fail(kind):
    try:
        {}["a"]
    except KeyError as error:
        raise RuntimeError("told") from (error if kind is None else kind("why"))


def caused(kind):
    error = wr.submit(fail, kind).exception()
    return [type(error).__name__, repr(error.__cause__), repr(error.__context__)]


found = {"argv": wr.gather([wr.submit(look) for _ in range(6)]), "own": sys.argv}
draws = [*(wr.submit(np.random.rand) for _ in range(9)), *(wr.submit(random.random) for _ in range(9))]
found["drawn"] = len({*wr.gather(draws), *wr.gather(wr.map(np.random.normal, [0] * 9))})
found["lazy"] = len(set(wr.compute(*(wr.delayed(np.random.rand)() for _ in range(9)))))
found["causes"] = [caused(None), caused(Kept)]
if "dask" in sys.argv:
    import dask

    calls = [dask.delayed(draw)() for draw in (np.random.rand, random.random) for _ in range(9)]
    found["dask"] = len(set(dask.compute(*calls, scheduler=wr.dask.get)))
    found["dask apart"] = len({dask.compute(call, scheduler=wr.dask.get) for call in calls})
large, scattered = wr.submit(np.arange, 100_000), wr.scatter(np.arange(9))
concurrent.futures.wait([large])
found["refused"] = []
with wr.Cluster(threads=1):
    for future in (large, scattered):
        try:
            wr.submit(np.sum, future)
        except wr.ClusterError as error:
            found["refused"].append(str(error))
found["sum"] = int(wr.submit(np.sum, large).result())
json.dump(found, sys.stdout)
print()
