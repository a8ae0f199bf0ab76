"""Plugin of pytest: dask's own tests with `wr.dask.get` as the scheduler, or with dask's threads."""

from __future__ import annotations

import os

import dask
import pytest


def pytest_sessionstart(session):
    how = os.environ.get("DASK_SUITE_SCHEDULER", "embedded")
    if how == "threads":
        scheduler = "threads"
    else:
        import windrow as wr

        if how != "embedded":
            session.config._windrow = wr.Cluster(ranks=int(how))
        scheduler = wr.dask.get
    session.config._scheduler = scheduler
    dask.config.set(scheduler=scheduler)


@pytest.fixture(autouse=True)
def _windrow_scheduler(request):
    with dask.config.set(scheduler=request.config._scheduler):
        yield


def pytest_unconfigure(config):
    cluster = getattr(config, "_windrow", None)
    if cluster is not None:
        cluster.close()
