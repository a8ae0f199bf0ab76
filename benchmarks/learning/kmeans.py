"""KMeans, k=10, 10 iterations, 5,000,000 x 10 float64 from the same centres; metric: the inertia."""

from __future__ import annotations

import os
import sys
import time
import warnings

import numpy as np
from measured import Asked, Measured, Values, kept, ranks

TURNS = 10
GIVEN = {"n_init": 1, "max_iter": TURNS, "tol": 0.0}


def _data(asked: Asked) -> Values:
    return np.random.default_rng(2).random((asked.rows(5_000_000), 10))


def scikit_learn(asked: Asked) -> Measured:
    """Scikit-learn's Lloyd with its 2 threads."""
    from sklearn.cluster import KMeans

    X = _data(asked)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KMeans(10, init=X[:10].copy(), algorithm="lloyd", **GIVEN).fit(X)
    assert model.n_iter_ == TURNS
    return Measured(time.perf_counter() - begin, float(model.inertia_))


def windrow(asked: Asked) -> Measured:
    """On 2 ranks."""
    with ranks() as wr:
        from windrow.ml.cluster import KMeans

        X = _data(asked)
        (rows,) = kept(wr, X)
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KMeans(10, init=X[:10].copy(), **GIVEN).fit(rows)
        seconds = time.perf_counter() - begin
        assert model.n_iter_ == TURNS
        return Measured(seconds, float(model.inertia_))


def spark(asked: Asked) -> Measured:
    """Spark ML's on 2 threads; it takes no centres, so they are drawn, and its inertia is its own."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    settings = {
        "spark.driver.memory": "8g",
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        names = [f"c{j}" for j in range(10)]
        columns = session.range(0, asked.rows(5_000_000), 1, 16).select(
            *[F.rand(j).alias(n) for j, n in enumerate(names)]
        )
        rows = VectorAssembler(inputCols=names, outputCol="v").transform(columns).select("v").cache()
        rows.count()
        begin = time.perf_counter()
        model = KMeans(featuresCol="v", k=10, maxIter=TURNS, tol=0.0, initMode="random", seed=1).fit(rows)
        return Measured(time.perf_counter() - begin, float(model.summary.trainingCost))
    finally:
        session.stop()


SYSTEMS = {"scikit-learn": scikit_learn, "windrow-ranks": windrow, "spark": spark}
