"""The examples of shared arrays, trees and tables: the same in one process and on ranks, and what others find."""

from __future__ import annotations

import importlib.util
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
HOW = [0, pytest.param(2, marks=pytest.mark.ranks)]


def module(name):
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def descend(example, points, parameters, rounds):
    """The same descent by NumPy alone, in the same order."""
    width = parameters // example.FEATURES
    drawn = np.concatenate([example.draw(np.arange(k, min(k + 500, points)), width) for k in range(0, points, 500)])
    touched, labels = drawn[:, :-1], drawn[:, -1:]
    weights, losses = np.zeros(parameters, np.float32), []
    for _ in range(rounds):
        score = weights[touched].sum(axis=1, keepdims=True)
        losses.append(np.logaddexp(0, np.where(labels > 0, -score, score)).mean(dtype=np.float64))
        change = example.RATE / points * (labels - 1 / (1 + np.exp(-score)))
        np.add.at(weights, touched.reshape(-1), np.repeat(change.astype(np.float32), example.FEATURES))
    return losses


@pytest.mark.parametrize("ranks", HOW)
def test_sparse_logistic_descends_as_numpy_does(launch, ranks):
    words = ["--points", "2000", "--parameters", "50000", "--chunk", "500", "--rounds", "4"]
    ended = launch(ranks, str(EXAMPLES / "sparse_logistic.py"), *words)
    assert ended.status == 0, ended.err
    found = [float(x) for x in re.findall(r"loss (\S+)", ended.out)]
    example = module("sparse_logistic")
    np.testing.assert_allclose(found, descend(example, 2000, 50000, 4), atol=2e-6)
    assert found[-1] < found[0] / 2


@pytest.mark.parametrize("ranks", HOW)
def test_word_counts(launch, ranks):
    ended = launch(ranks, str(EXAMPLES / "word_counts.py"), "--batches", "3", "--lines", "1500")
    assert ended.status == 0, ended.err
    assert [int(n.replace(",", "")) for n in re.findall(r": ([\d,]+) words", ended.out)] == sorted(
        int(n.replace(",", "")) for n in re.findall(r": ([\d,]+) words", ended.out)
    )
    assert "most frequent: bibaba" in ended.out


@pytest.mark.ranks
def test_knn_land(launch, tmp_path):
    pytest.importorskip("matplotlib")
    try:
        distribution("global-land-mask")
    except PackageNotFoundError:
        pytest.skip("the mask of the globe is not installed")
    words = ["--step", "40", "--points", "4000", "--chunk", "1000", "--output", str(tmp_path / "coast.png")]
    ended = launch(2, str(EXAMPLES / "knn_land.py"), *words)
    assert ended.status == 0, ended.err
    land = re.search(
        r"land +(\S+)% of the points; the farthest is ([\d,]+) km from the coast, at (\S+), (\S+)", ended.out
    )
    share, far, latitude, longitude = (float(x.replace(",", "")) for x in land.groups())
    assert 27 < share < 31
    assert 2300 < far < 2700, "the pole of inaccessibility of Asia"
    assert 35 < latitude < 55
    assert 70 < longitude < 100
    assert (tmp_path / "coast.png").stat().st_size > 10_000
