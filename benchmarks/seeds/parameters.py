"""Sparse logistic regression with 200 million parameters: a round of a million points on two ranks.

The peer is one process's loop in numba over the same points, divided by the ranks.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from row import Row

RANKS = 2
ROUNDS = 5


def example() -> Any:
    """Return the example as a module that travels to ranks."""
    import cloudpickle

    path = Path(__file__).parents[2] / "examples" / "sparse_logistic.py"
    spec = importlib.util.spec_from_file_location("sparse_logistic", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["sparse_logistic"] = made
    spec.loader.exec_module(made)
    cloudpickle.register_pickle_by_value(made)
    return made


def sizes(quick: bool) -> tuple[int, int, int]:
    """Return the number of points, of parameters, and of points in a chunk."""
    return (20_000, 1_000_000, 5_000) if quick else (1_000_000, 200_000_000, 125_000)


def by_windrow(quick: bool) -> dict[str, Any]:
    """Train on ranks; additions are made when the weights are next used, so they are used in each round."""
    import windrow as wr

    descent = example()
    points, parameters, chunk = sizes(quick)
    touched, labels = descent.data(points, parameters, chunk)
    weights = wr.shared.array(np.zeros(parameters, np.float32))
    losses, times = [], []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        losses += descent.train(weights, touched, labels, 1)
        float(weights[0])
        times.append(time.perf_counter() - begin)
    assert weights.info()["copied"] == 0, "nothing needs earlier versions"
    return {"seconds": min(times), "losses": losses}


def by_numba(quick: bool) -> dict[str, Any]:
    """Train in one process by two loops over the points: one reads, one adds."""
    import numba

    descent = example()
    points, parameters, chunk = sizes(quick)
    width, rate = parameters // descent.FEATURES, np.float64(descent.RATE / points)
    drawn = [descent.draw(np.arange(k, min(k + chunk, points)), width) for k in range(0, points, chunk)]
    touched = np.concatenate([part[:, :-1] for part in drawn])
    labels = np.concatenate([part[:, -1] for part in drawn]).astype(np.float32)
    del drawn

    @numba.njit
    def descend(touched: Any, labels: Any, weights: Any, change: Any, rate: Any) -> float:
        loss = 0.0
        for i in range(touched.shape[0]):
            score = np.float32(0)
            for j in range(touched.shape[1]):
                score += weights[touched[i, j]]
            change[i] = rate * (labels[i] - 1 / (1 + np.exp(-score)))
            loss += np.log1p(np.exp(-score if labels[i] > 0 else score))
        for i in range(touched.shape[0]):
            for j in range(touched.shape[1]):
                weights[touched[i, j]] += change[i]
        return loss / touched.shape[0]

    weights, change = np.zeros(parameters, np.float32), np.zeros(points, np.float32)
    descend(touched[:10], labels[:10], weights, change, 0.0)
    losses, times = [], []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        losses.append(descend(touched, labels, weights, change, rate))
        times.append(time.perf_counter() - begin)
    return {"seconds": min(times), "losses": losses}


def rows(quick: bool) -> list[Row]:
    """Measure both."""
    from row import ROOT, Row, mpirun

    found = {}
    more = ["quick"] if quick else []
    for name in ("windrow", "numba"):
        words = mpirun(RANKS, "-m", "windrow", __file__) if name == "windrow" else [sys.executable, __file__]
        done = subprocess.run(
            [*words, name, *more], env=os.environ | ROOT, capture_output=True, check=False, timeout=600, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        found[name] = json.loads(done.stdout.strip().splitlines()[-1])
    np.testing.assert_allclose(found["windrow"]["losses"], found["numba"]["losses"], rtol=1e-4)
    points, parameters, _ = sizes(quick)
    name = f"sparse logistic, {points:,} points, {parameters:,}"
    peer = found["numba"]["seconds"] / RANKS
    return [Row(name, found["windrow"]["seconds"], f"numba, one process / {RANKS}", peer, 1.5)]


if __name__ == "__main__":
    print(json.dumps({"windrow": by_windrow, "numba": by_numba}[sys.argv[1]]("quick" in sys.argv)))
