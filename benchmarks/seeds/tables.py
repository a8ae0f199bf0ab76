"""Streaming updates: ten rounds of lookups in a table of 1 GB, one key of which changes between rounds.

The peers send the table anew in each round, which is what they have for this: dask by `scatter(broadcast=True)`, and
Spark by `broadcast`, where Java and pyspark are installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from row import Row

ROUNDS = 10
CHUNKS = 8


def sizes(quick: bool) -> tuple[int, int]:
    """Return the number of rows and of lookups a round."""
    return (1 << 20, 100_000) if quick else (1 << 27, 10_000_000)


def draw(quick: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the table's rows, and the keys that are looked up: few of them often."""
    rows, lookups = sizes(quick)
    rng = np.random.default_rng(0)
    return rng.random(rows), (rng.zipf(1.2, lookups) * 2654435761) % rows


def changes(rows: np.ndarray) -> list[int]:
    """Return the key that changes behind each round: it is a frequent one."""
    return [(k + 1) * 2654435761 % len(rows) for k in range(ROUNDS)]


def expected(rows: np.ndarray, keys: np.ndarray) -> list[float]:
    """Return what each round gives."""
    counts = np.bincount(keys, minlength=len(rows))
    rows, found = rows.copy(), []
    for number, key in enumerate(changes(rows)):
        found.append(float(rows @ counts))
        rows[key] = number
    return found


def by_windrow(quick: bool) -> dict[str, Any]:
    """Look up in a shared table, on ranks."""
    import windrow as wr

    rows, keys = draw(quick)
    table = wr.shared.Table(np.arange(len(rows)), rows)
    asked = wr.from_array(keys, chunks=-(-len(keys) // CHUNKS)).persist()
    wr.wait(asked)
    wr.wait(wr.map_blocks(lambda block: block, asked).persist())
    found = []
    begin = time.perf_counter()
    for number, key in enumerate(changes(rows)):
        found.append(float(table.get(asked).sum().compute()))
        table.put(key, float(number))
    seconds = time.perf_counter() - begin
    np.testing.assert_allclose(found, expected(rows, keys))
    return {"seconds": seconds}


def look_up(rows: np.ndarray, keys: np.ndarray) -> float:
    """Sum what keys have."""
    return float(rows.take(keys).sum())


def by_dask(quick: bool) -> dict[str, Any]:
    """Send the table to all workers in each round."""
    from distributed import Client, LocalCluster

    rows, keys = draw(quick)
    found = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        parts = client.scatter(np.array_split(keys, CHUNKS))
        begin = time.perf_counter()
        for number, key in enumerate(changes(rows)):
            table = client.scatter(rows, broadcast=True, hash=False)
            found.append(sum(client.gather([client.submit(look_up, table, part, pure=False) for part in parts])))
            del table
            rows[key] = number
        seconds = time.perf_counter() - begin
    rows, keys = draw(quick)
    np.testing.assert_allclose(found, expected(rows, keys))
    return {"seconds": seconds}


def by_spark(quick: bool) -> dict[str, Any]:
    """Broadcast the table to all workers in each round."""
    from pyspark import SparkConf, SparkContext

    rows, keys = draw(quick)
    found = []
    memory = {"spark.driver.memory": "6g", "spark.driver.maxResultSize": "0", "spark.ui.enabled": "false"}
    conf = SparkConf().setMaster("local[2]").setAll([*memory.items(), ("spark.log.level", "ERROR")])
    with SparkContext(conf=conf) as context:
        parts = context.parallelize(np.array_split(keys, CHUNKS), CHUNKS).cache()
        assert parts.map(len).sum() == len(keys)
        begin = time.perf_counter()
        for number, key in enumerate(changes(rows)):
            table = context.broadcast(rows)
            found.append(parts.map(lambda part, table=table: look_up(table.value, part)).sum())
            table.destroy()
            rows[key] = number
        seconds = time.perf_counter() - begin
    rows, keys = draw(quick)
    np.testing.assert_allclose(found, expected(rows, keys))
    return {"seconds": seconds}


def peers() -> dict[str, str]:
    """Return the peers that are installed, and what each does."""
    found = {"dask": "dask scatter(broadcast=True)"}
    if importlib.util.find_spec("pyspark") is not None and shutil.which("java") is not None:
        found["spark"] = "Spark broadcast"
    return found


def rows(quick: bool) -> list[Row]:
    """Measure all."""
    from row import ROOT, Row, mpirun

    found = {}
    more = ["quick"] if quick else []
    for name in ("windrow", *peers()):
        words = mpirun(2, "-m", "windrow", __file__) if name == "windrow" else [sys.executable, __file__]
        done = subprocess.run(
            [*words, name, *more], env=os.environ | ROOT, capture_output=True, check=False, timeout=600, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        found[name] = json.loads(done.stdout.strip().splitlines()[-1])["seconds"]
    size, lookups = sizes(quick)
    name = f"{ROUNDS} rounds of {lookups:,} lookups, {size * 8 / 1e9:.2g} GB"
    return [Row(name, found["windrow"], what, found[peer], 1 / 20) for peer, what in peers().items()]


if __name__ == "__main__":
    told = {"windrow": by_windrow, "dask": by_dask, "spark": by_spark}[sys.argv[1]]("quick" in sys.argv)
    print(json.dumps(told))
