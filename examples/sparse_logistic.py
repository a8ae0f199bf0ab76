"""Logistic regression on click-like data: 39 one-hot features, more parameters than one would send with each round.

Each point has one category of each of 39 features, and so touches 39 of all parameters. These lie in a shared array:
functions of blocks read the few they need, and add the few that their gradients touch. The additions are made when the
round is through, always in the same order, so the losses that this prints are the same bits in one process and on any
number of ranks.

    python examples/sparse_logistic.py
    mpirun -n 2 python -m windrow examples/sparse_logistic.py --points 1000000 --parameters 200000000
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import windrow as wr

FEATURES = 39
RATE = 60.0
SKEW = 3


def draw(block: np.ndarray, width: int) -> np.ndarray:
    """Return the parameters that points touch, behind them the labels: few categories are frequent, most are rare."""
    rng = np.random.default_rng(int(block[0]))
    categories = (width * rng.random((len(block), FEATURES)) ** SKEW).astype(np.int64)
    # What each category is worth comes from its number alone.
    worth = (categories * 2654435761 % 1000) / 1000 - 0.5
    score = 2.0 * worth.sum(axis=1) + rng.logistic(size=len(block))
    return np.column_stack([categories + width * np.arange(FEATURES), score > 0])


def data(points: int, parameters: int, chunk: int) -> tuple[Any, Any]:
    """Return the touched parameters and the labels, kept by the ranks."""
    width = parameters // FEATURES
    drawn = wr.map_blocks(
        draw,
        wr.arange(points, chunks=chunk),
        width,
        dtype=np.int64,
        new_axis=1,
        chunks=(wr.arange(points, chunks=chunk).chunks[0], (FEATURES + 1,)),
    )
    touched, labels = wr.persist(drawn[:, :FEATURES], drawn[:, FEATURES:])
    wr.wait(touched, labels)
    return touched, labels


def train(weights: Any, touched: Any, labels: Any, rounds: int) -> list[float]:
    """Descend along the gradient of all points; return the mean loss before each round."""
    points = touched.shape[0]

    def step(touched: np.ndarray, labels: np.ndarray) -> np.ndarray:
        score = weights[touched].sum(axis=1, keepdims=True)
        chance = 1 / (1 + np.exp(-score))
        weights.add_at(touched, RATE / points * (labels - chance))
        return np.logaddexp(0, np.where(labels > 0, -score, score)).sum(dtype=np.float64).reshape(1, 1)

    blocks = touched.numblocks[0]
    losses = []
    for _ in range(rounds):
        partial = wr.map_blocks(step, touched, labels, dtype=np.float64, chunks=((1,) * blocks, (1,)))
        losses.append(float(partial.sum().compute()) / points)
        del partial  # the version of the weights that it read need not be kept
    return losses


def main() -> None:
    """Train, and print losses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=40_000)
    parser.add_argument("--parameters", type=int, default=2_000_000)
    parser.add_argument("--chunk", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    touched, labels = data(options.points, options.parameters, options.chunk)
    weights = wr.shared.array(np.zeros(options.parameters, np.float32))
    print(f"{options.points:,} points, {options.parameters:,} parameters, {FEATURES} of them for a point")
    begin = time.perf_counter()
    for number, loss in enumerate(train(weights, touched, labels, options.rounds)):
        print(f"round {number}  loss {loss:.6f}")
    seconds = (time.perf_counter() - begin) / options.rounds
    used = int((weights[:] != 0).sum())
    print(f"{used:,} parameters were touched; all take {weights.info()['used'] / 2**20:,.0f} MiB")
    print(f"{seconds:.2f} s a round")


if __name__ == "__main__":
    main()
