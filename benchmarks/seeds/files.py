"""Files: zarr, sharded or not, and Parquet, written and read back on 2 ranks; moments of more than memory holds.

Peers are dask on 2 processes of one thread, for the last row on 2 threads, and a plain loop of 2 threads over the same
codecs. What is written lies in memory before: in ranks, in dask's processes, in one NumPy array.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from row import Row

KINDS = {"plain": "a plain loop of 2 threads", "dask": "dask, 2 processes"}
COLUMNS = 20
_MEMORY = "1 GiB"


def side(quick: bool) -> int:
    """Return the side of the square array: of 2 GB."""
    return 4_000 if quick else 16_000


def pattern(xp: Any, n: int, **more: Any) -> Any:
    """Return a square array that codecs find neither trivial nor random."""
    axis = xp.arange(n, **more)
    return xp.rint(xp.sin(axis * 0.01)[:, None] * xp.cos(axis * 0.013) * 1000) * 0.25


def layout(kind: str, n: int) -> tuple[int, dict[str, Any]]:
    """Return the side of the chunks in memory, and zarr's arguments."""
    if kind == "zarr":
        return n // 8, {"chunks": (n // 8, n // 8)}
    return n // 4, {"chunks": (n // 16, n // 16), "shards": (n // 4, n // 4)}


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call, and what it returns."""
    begin = time.perf_counter()
    found = act()
    return time.perf_counter() - begin, found


def windrow(what: str, folder: str, quick: bool) -> dict[str, float]:
    """Write and read on ranks."""
    import windrow as wr

    path, n = f"{folder}/{what}", side(quick)
    if what == "moments":
        y = wr.from_zarr(path)
        seconds, (mean, std) = timed(lambda: wr.compute(y.mean(), y.std()))
        return {"read": seconds, "sum": float(mean), "std": float(std), "peak": peak()}
    if what == "parquet":
        rows = n * n // COLUMNS
        flat = [pattern_column(wr, rows, k, chunks=rows // 16).persist() for k in range(COLUMNS)]
        wr.wait(flat)
        table = {f"c{k:02}": column for k, column in enumerate(flat)}
        write, _ = timed(lambda: wr.to_parquet(path, table))
        read, sums = timed(lambda: wr.compute(*[c.sum() for c in wr.read_parquet(path).values()]))
        return {"write": write, "read": read, "sum": float(np.sum(sums))}
    chunk, options = layout(what, n)
    x = pattern(wr, n, chunks=chunk).persist()
    wr.wait(x)
    write, _ = timed(lambda: x.to_zarr(path, **options))
    read, total = timed(lambda: wr.from_zarr(path).sum().compute())
    return {"write": write, "read": read, "sum": float(total)}


def pattern_column(xp: Any, rows: int, k: int, **more: Any) -> Any:
    """Return a column of the table."""
    return xp.rint(xp.sin(xp.arange(rows, **more) * (0.01 + 0.001 * k)) * 1000) * 0.25


def peak() -> float:
    """Return the most memory that this process has used, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024


def dask(what: str, folder: str, quick: bool) -> dict[str, float]:
    """Write and read with dask."""
    import dask.array as da

    path, n = f"{folder}/{what}", side(quick)
    if what == "moments":
        import dask as base

        y = da.from_zarr(path)
        with base.config.set(scheduler="threads", num_workers=2):
            seconds, (mean, std) = timed(lambda: base.compute(y.mean(), y.std()))
        return {"read": seconds, "sum": float(mean), "std": float(std), "peak": peak()}
    from distributed import Client, LocalCluster, wait

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="10GiB"
    )
    with cluster, Client(cluster):
        if what == "parquet":
            import dask.dataframe as dd

            rows = n * n // COLUMNS
            flat = [pattern_column(da, rows, k, chunks=rows // 16) for k in range(COLUMNS)]
            frame = dd.concat([dd.from_dask_array(c, columns=f"c{k:02}") for k, c in enumerate(flat)], axis=1).persist()
            wait(frame)
            write, _ = timed(lambda: frame.to_parquet(path, write_index=False))
            read, sums = timed(lambda: dd.read_parquet(path).sum().compute())
            return {"write": write, "read": read, "sum": float(sums.sum())}
        chunk, options = layout(what, n)
        x = pattern(da, n, chunks=chunk).rechunk(chunk).persist()
        wait(x)
        write, _ = timed(lambda: da.to_zarr(x, path, **options))
        read, total = timed(lambda: da.from_zarr(path).sum().compute())
        return {"write": write, "read": read, "sum": float(total)}


def plain(what: str, folder: str, quick: bool) -> dict[str, float]:
    """Write and read in a loop."""
    path, n = f"{folder}/{what}", side(quick)
    with ThreadPoolExecutor(2) as pool:
        if what == "parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            rows = n * n // COLUMNS
            table = {f"c{k:02}": pattern_column(np, rows, k) for k in range(COLUMNS)}
            os.mkdir(path)
            bounds = [(b, min(b + rows // 16, rows)) for b in range(0, rows, rows // 16)]

            def put(number: int) -> None:
                begin, end = bounds[number]
                pq.write_table(pa.table({k: v[begin:end] for k, v in table.items()}), f"{path}/{number}.parquet")

            def get(number: int) -> float:
                found = pq.read_table(f"{path}/{number}.parquet", use_threads=False)
                return float(sum(column.to_numpy().sum() for column in found.columns))

            write, _ = timed(lambda: list(pool.map(put, range(len(bounds)))))
            read, total = timed(lambda: sum(pool.map(get, range(len(bounds)))))
            return {"write": write, "read": read, "sum": total}
        import zarr

        x = pattern(np, n)
        chunk, options = layout(what, n)
        spots = [np.s_[i : i + chunk, j : j + chunk] for i in range(0, n, chunk) for j in range(0, n, chunk)]
        z = zarr.create_array(path, shape=x.shape, dtype=x.dtype, **options)
        write, _ = timed(lambda: list(pool.map(lambda spot: z.__setitem__(spot, x[spot]), spots)))
        again = zarr.open_array(path, mode="r")
        read, total = timed(lambda: sum(pool.map(lambda spot: float(again[spot].sum()), spots)))
        return {"write": write, "read": read, "sum": total}


def make_large(folder: str, quick: bool) -> None:
    """Write the array whose moments are taken: of 6 GB."""
    import zarr

    n = side(quick)
    x = pattern(np, n)
    z = zarr.create_array(f"{folder}/moments", shape=(3 * n, n), dtype=x.dtype, chunks=(n // 8, n // 8))
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(lambda i: z.__setitem__(np.s_[i : i + n // 8], x[i % n : i % n + n // 8]), range(0, 3 * n, n // 8))
        )


def measure(kind: str, what: str, folder: str, quick: bool) -> dict[str, float]:
    """Measure in a process of its own."""
    from row import ROOT, mpirun

    words = [__file__, kind, what, folder, *(["quick"] if quick else [])]
    command = mpirun(2, "-m", "windrow", *words) if kind == "windrow" else [sys.executable, *words]
    more = {"WINDROW_MEMORY": _MEMORY} if what == "moments" else {}
    done = subprocess.run(command, env=os.environ | ROOT | more, capture_output=True, timeout=400, check=False)
    if done.returncode:
        raise RuntimeError(f"{kind}, {what}: {done.stderr.decode()[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.decode().strip().splitlines()[-1])
    return found


def rows(quick: bool) -> list[Row]:
    """Measure all in turn, twice; the least counts."""
    from row import Row

    made = []
    for what in ("zarr", "sharded zarr", "parquet", "moments"):
        found: dict[str, dict[str, float]] = {}
        peers = ("dask",) if what == "moments" else tuple(KINDS)
        with tempfile.TemporaryDirectory() as folder:
            if what == "moments":
                make_large(folder, quick)
            for _ in range(1 if quick else 2):
                for kind in ("windrow", *peers):
                    new = measure(kind, what, folder, quick)
                    found[kind] = {k: min(v, found.get(kind, new)[k]) for k, v in new.items()}
                    if what != "moments":
                        shutil.rmtree(f"{folder}/{what}")
        own = found["windrow"]
        for kind in peers:
            assert np.isclose(own["sum"], found[kind]["sum"]), (what, kind)
        if what == "moments":
            assert np.isclose(own["std"], found["dask"]["std"])
            made.append(
                Row(
                    "mean and std of 6 GB of zarr, 2 ranks of 1 GiB",
                    own["read"],
                    "dask, 2 threads",
                    found["dask"]["read"],
                    0.67,
                )
            )
            made.append(Row("peak of rank 0 in it", own["peak"] / 2**30, "", 0, 1.3, "GiB"))
            continue
        for act in ("write", "read"):
            for kind in peers:
                most = 1.0 if kind == "dask" else 1.5
                made.append(Row(f"{what}, 2 GB: {act}", own[act], KINDS[kind], found[kind][act], most))
    return made


if __name__ == "__main__":
    kind, what, folder, *rest = sys.argv[1:]
    told = {"windrow": windrow, "dask": dask, "plain": plain}[kind](what, folder, "quick" in rest)
    print(json.dumps(told))
