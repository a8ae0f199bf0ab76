"""Futures as arguments on a cluster that isn't theirs: small results go along, others are refused at once."""

from __future__ import annotations

import concurrent.futures
import time

import numpy as np
import pytest

import windrow as wr

REFUSED = r"submit: the future \w+-\d+ among the arguments is of another cluster"


@pytest.mark.parametrize("make", [lambda: wr.submit(np.arange, 100_000), lambda: wr.scatter(np.arange(9))])
def test_large_results_of_another_cluster(make):
    future = make()
    concurrent.futures.wait([future])
    with wr.Cluster(threads=1):
        with pytest.raises(wr.ClusterError, match=REFUSED):
            wr.submit(np.sum, [future])
        with pytest.raises(wr.ClusterError, match="map: the future"):
            wr.map(np.sum, [future])
        with pytest.raises(wr.ClusterError, match="compute: the future"):
            wr.delayed(np.sum)(future).compute()
        with wr.Executor() as executor, pytest.raises(wr.ClusterError, match=r"Executor.submit: the future"):
            executor.submit(np.sum, future)
        assert wr.submit(np.sum, future.result()).result() == future.result().sum()
        there = make()
        concurrent.futures.wait([there])
    with pytest.raises(wr.ClusterError, match=REFUSED):
        wr.submit(np.sum, there)
    assert wr.submit(np.sum, future).result() == future.result().sum()


def test_what_is_not_there_yet():
    slow = wr.submit(time.sleep, 0.5)
    with wr.Cluster(threads=1), pytest.raises(wr.ClusterError, match=REFUSED):
        wr.submit(abs, slow)
    assert slow.result(20) is None


def test_small_results_and_errors_go_along():
    small, failed = wr.submit(abs, -3), wr.submit(divmod, 1, 0)
    concurrent.futures.wait([small, failed])
    with wr.Cluster(threads=1):
        assert wr.submit(abs, small).result(20) == 3
        with pytest.raises(ZeroDivisionError):
            wr.submit(abs, failed).result(20)
