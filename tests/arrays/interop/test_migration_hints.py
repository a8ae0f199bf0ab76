"""Names and keywords that aren't here: what was meant, and what they are called."""

from __future__ import annotations

import inspect
import pickle
import re
from typing import Any

import numpy as np
import pytest

import windrow as wr
from windrow.graph import migration_hints

x: Any = wr.ones((4, 4), chunks=2)
anything: Any = wr


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: anything.aray, "module 'windrow' has no attribute 'aray'; did you mean 'array'?"),
        (lambda: anything.linalg.nrom, "did you mean 'norm'?"),
        (lambda: anything.Client, "windrow.Cluster(ranks=…)"),
        (lambda: anything.LocalCluster, "windrow.Cluster(ranks=…)"),
        (lambda: anything.from_netcdf, "from_hdf5(path, name) reads a variable of a netCDF-4 file"),
        (lambda: anything.from_tiledb, "a TileDB array"),
        (lambda: anything.ma.masked_equal, "windrow.ma.masked_equal: masked arrays are not here: chunks have no masks"),
        (lambda: anything.stats.norm, "SciPy's is not here: map_blocks() calls a distribution's methods"),
        (lambda: anything.stats.kendalltau, "SciPy's is not here: compute() first, or map_blocks()"),
        (lambda: x.summ, "'windrow.Array' object has no attribute 'summ'; did you mean 'sum'?"),
        (lambda: x.nansumm, "among the functions of windrow, did you mean 'nansum'?"),
        (lambda: x.Mean, "did you mean 'mean'?"),
        (lambda: x.dask, "graph()"),
        (lambda: x.median(), "windrow.median() is a function"),
        (lambda: x.mask, "chunks have no masks"),
    ],
)
def test_names(call, words):
    with pytest.raises(AttributeError, match=re.escape(words)):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: x.sum(axes=0), "sum: argument 'axes' is 0; expected no such keyword, only axis, dtype, out"),
        (lambda: x.sum(axes=0), "did you mean 'axis'?"),
        (lambda: x[x > 0].sum(axes=0), "sum: argument 'axes' is 0; expected no such keyword, only axis, dtype, out"),
        (lambda: wr.cumsum(x, axes=0), "did you mean 'axis'?"),
        (lambda: x.cumsum(axes=0), "did you mean 'axis'?"),
        (lambda: anything.ones(3, chunk=2), "ones: argument 'chunk' is 2; expected no such keyword"),
        (lambda: anything.ones(3, chunk=2), "did you mean 'chunks'?"),
        (lambda: wr.sqrt(x, outt=3), "did you mean 'out'?"),
        (lambda: x.sum(scheduler="threads"), "sum: argument 'scheduler' is 'threads'"),
        (lambda: x.sum(scheduler="threads"), "the cluster computes"),
        (lambda: x.sum(num_workers=3), "threads"),
        (lambda: anything.Cluster(num_workers=3), "threads"),
        (lambda: anything.Cluster(n_workers=3), "Cluster: argument 'n_workers' is 3"),
        (lambda: anything.Cluster(memory_limit="1 GB"), "windrow.Cluster(memory=…)"),
        (lambda: x.rechunk(2, block_size_limit=100), "chunks='64 MiB'"),
        (lambda: x.sum(memory="1 GiB"), "windrow.plan(x, memory=…) looks for chunks that fit"),
        (
            lambda: anything.asarray(x).explain(memory=3),
            "expected no such keyword, and no other; windrow.plan",
        ),
        (lambda: x.T.explain(ranks=3), "windrow.plan(x, ranks=…)"),
        (lambda: anything.linalg.norm(x, axes=0), "did you mean 'axis'?"),
    ],
)
def test_keywords(call, words):
    with pytest.raises(wr.ArgumentError, match=re.escape(words)):
        call()


def test_hints_are_taken_and_say_nothing():
    for found in (x.sum(axis=0, split_every=2), wr.sum(x, 0, split_every=2), anything.nansum(x, 0, split_every=4)):
        np.testing.assert_array_equal(found.compute(), [4.0] * 4)
    assert x[x > 0].sum(split_every=2).compute() == 16
    assert x.rechunk(4, threshold=2).numblocks == (1, 1)
    assert anything.einsum("ij->", x, split_every=2).compute() == 16
    for words in ({"optimize_graph": False}, {"scheduler": "threads", "num_workers": 2}, {"traverse": False}):
        for found in (x.compute(**words), x.persist(**words), *anything.compute(x, **words)):
            np.testing.assert_array_equal(found, np.ones((4, 4)))


def test_errors_inside_are_left_as_they_are():
    def fails(block, **more):
        raise TypeError("unexpected keyword argument 'scheduler'")

    with pytest.raises(TypeError, match="unexpected") as caught:
        wr.map_blocks(fails, x, dtype=float, scheduler=3).compute()
    assert not isinstance(caught.value, wr.ArgumentError)
    with pytest.raises(TypeError, match="missing 1 required"):
        anything.cumsum()


def test_no_name_that_is_here_is_called_foreign():
    names = {name for name in migration_hints.FUNCTIONS if name in dir(wr)}
    assert names == set()
    assert {name for name in migration_hints.METHODS if name in dir(wr.Array)} == set()
    hinted = set(inspect.signature(wr.from_array).parameters) & set(migration_hints.HINTS)
    assert hinted == set()


def test_public_functions_keep_their_signatures_and_travel():
    assert list(inspect.signature(wr.cumsum).parameters)[:4] == ["a", "axis", "dtype", "out"]
    assert pickle.loads(pickle.dumps(wr.cumsum)) is wr.cumsum
    assert pickle.loads(pickle.dumps(wr.linalg.norm)) is wr.linalg.norm
    assert np.cumsum(x, 0).shape == (4, 4)


FUNCTIONS = [name for name in dir(np.ndarray) if callable(getattr(np.ndarray, name)) and not name.startswith("_")]
FUNCTIONS += ["argtopk", "map_blocks", "map_overlap", "reduction", "rechunk", "topk"]


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if hasattr(wr, n) and n != "resize"])
def test_functions_of_an_array_are_methods(name):
    method = getattr(wr.ones(3), name)
    assert callable(method)
    assert inspect.getdoc(method)


def test_methods_whose_function_takes_another_one_first():
    assert x.map_blocks(lambda b, n: b + n, 2).sum().compute() == 48
    assert x.map_blocks(lambda b, n: b + n, n=2, dtype="f4").dtype == np.float32
    assert x.map_overlap(lambda b: b * 2, 1, "reflect").sum().compute() == 32
    assert "block_info" in inspect.getdoc(x.map_blocks)
    assert list(inspect.signature(x.map_overlap).parameters)[:3] == ["func", "args", "depth"]
