"""Chunks that Windrow chooses beside random ones by hand: seconds by "auto", by `wr.plan`, and by the best of many.

`python benchmarks/chunkings.py [--number 50] [--only sum,median] [--cpu]`. A hand chunking has 256 KiB to 256 MiB a
chunk, whole along some axes. Each is computed twice; the quickest three, "auto" and the plan then take turns. Values
are compared.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable

    Program = Callable[[Any], Any]
    Clock = Callable[[], float]

PROGRAMS: dict[str, tuple[tuple[int, ...], Program]] = {
    "sum": ((5000, 5000), lambda x: x.sum()),
    "rows": ((50_000, 410), lambda x: x.sum(axis=1).max()),
    "standard deviation": ((5000, 5000), lambda x: x.std(axis=0).sum()),
    "transposed": ((5000, 5000), lambda x: (x + x.T).mean()),
    "double difference": ((5000, 5000), lambda x: abs(x[1:, 1:] - x[:-1, :-1]).max()),
    "product": ((3000, 3000), lambda x: (x @ x.T).sum()),
    "fft": ((4000, 4000), lambda x: abs(wr.fft.fft(x, axis=0)).max()),
    "sort": ((4000, 3000), lambda x: wr.sort(x, axis=0)[::7].sum()),
    "median": ((365, 200, 200), lambda x: wr.median(x, axis=0).sum()),
    "anomaly": ((730, 200, 200), lambda x: ((x - x.mean(axis=0)) ** 2).mean()),
    "overlap": ((4000, 4000), lambda x: wr.map_overlap(lambda block: block * 2, x, depth=1).sum()),
    "swap axes": ((60, 600, 600), lambda x: (wr.swapaxes(x, 0, 2) * 2).std()),
    "stored along time": ((365, 200, 200), lambda x: wr.median(x, axis=0).sum()),
    "stored climatology": ((730, 200, 200), lambda x: ((x - x.mean(axis=0)) ** 2).mean()),
}
STORED = (30, 100, 100)


def choose(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return chunks as someone might choose them."""
    while True:
        steps = [n if rng.random() < 0.25 else max(1, round(n / 2 ** rng.uniform(0, 0.8 * np.log2(n)))) for n in shape]
        if 1 << 18 <= 8 * math.prod(steps) <= 1 << 28 and math.prod(map(math.ceil, np.divide(shape, steps))) < 5000:
            return tuple(steps)


def take_turns(arrays: list[Any], expected: Any, turns: int, clock: Clock) -> list[float]:
    """Return the least seconds of each array's computations, by turns after a first one; raise for a wrong value."""
    least = [math.inf] * len(arrays)
    for turn in range(turns + 1):
        for number, array in enumerate(arrays):
            begin = clock()
            value = array.compute()
            took = clock() - begin
            np.testing.assert_allclose(value, expected, rtol=1e-9)
            least[number] = min(least[number], took) if turn else math.inf
    return least


def measure(name: str, number: int, folder: str, clock: Clock) -> None:
    """Measure one program, and print a line."""
    shape, program = PROGRAMS[name]
    rng = np.random.default_rng(7)
    values = wr.random.default_rng(3).random(shape)
    if name.startswith("stored"):
        wr.to_zarr(values.rechunk(STORED), f"{folder}/{name}.zarr")

    def source(chunks: Any) -> Any:
        if name.startswith("stored"):
            return wr.from_zarr(f"{folder}/{name}.zarr", chunks=chunks)
        return wr.random.default_rng(3).random(shape, chunks=chunks)

    auto = program(source("auto"))
    expected = auto.compute()
    chunks = [choose(rng, shape) for _ in range(number)]
    hand = sorted((take_turns([program(source(c))], expected, 1, clock)[0], c) for c in chunks)
    best = [program(source(c)) for _, c in hand[:3]]
    by_auto, by_plan, *by_hand = take_turns([auto, wr.plan(auto), *best], expected, 4, clock)
    print(
        f"{name:20} auto {by_auto:6.3f} s  plan {by_plan:6.3f} s  best by hand {min(by_hand):6.3f} s {hand[0][1]}  "
        f"median {hand[number // 2][0]:6.3f} s  worst {hand[-1][0]:6.3f} s  plan/best {by_plan / min(by_hand):.2f}",
        flush=True,
    )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--number", type=int, default=50, help="random chunkings of each program")
    parser.add_argument("--only", help="programs, by commas")
    parser.add_argument(
        "--cpu", action="store_true", help="the process's CPU time, on a busy machine; by the clock else"
    )
    asked = parser.parse_args()
    clock = time.process_time if asked.cpu else time.perf_counter
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.only.split(",") if asked.only else PROGRAMS:
            measure(name, asked.number, folder, clock)


if __name__ == "__main__":
    main()
