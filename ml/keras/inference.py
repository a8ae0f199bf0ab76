"""Prediction and evaluation by a Keras model, block by block of rows."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.base import ArrayBase, as_array, make
from ...arrays.execution.compute import compute
from ...arrays.user_functions.travel.pickling import payload
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import DTypeError, ShapeError, bad
from ...graph.kinds.mapping import MapBlocks
from ...workers.public_api import warn
from ..rows import some_weight, total, whole_rows
from .backends.compiled_rounds import backend
from .models.recipe import Recipe
from .models.replicas import borrow_replica
from .models.state import Variables, build_optimizer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...arrays.array import Array

__all__ = ["build", "column", "evaluate_rows", "list_metrics", "predict"]

Values = np.ndarray[Any, Any]
SOME = 64
"""Rows on which a user's metric is tried, to see whether its states add up."""


def column(y: Any) -> Any:
    """Return a 1-D `y` as a column, as Keras's losses expect: (n, 1) minus (n,) would be (n, n)."""
    return y[:, None] if np.ndim(y) == 1 else y


def build(model: Any, X: Any) -> None:
    """Build a model's variables if it has none yet, as the first batch would."""
    if not all(layer.built for layer in model._flatten_layers()):
        model(backend().take(np.zeros((1, *np.shape(X)[1:]), getattr(X, "dtype", np.float32))), training=False)
    build_optimizer(model)


def predict(model: Any, X: Any, batch_size: int, verbose: int | str = 0) -> Any:
    """Return a model's predictions, lazily for a Windrow array."""
    if not isinstance(X, ArrayBase):
        return model.predict(X, batch_size=batch_size, verbose=verbose)
    rows = whole_rows(as_array("predict", "x", X))
    build(model, rows)
    kind = "string" if rows.dtype.kind in "SU" else str(rows.dtype)
    output_spec = model.compute_output_spec(importlib.import_module("keras").KerasTensor(rows.shape, kind))
    shape, name = output_spec.shape[1:], str(output_spec.dtype)
    dtype = np.dtype("float32" if name == "bfloat16" else name)  # NumPy has no bfloat16
    task = _Predict(Recipe.of(model), Variables(model).shared(), batch_size, dtype)
    grid = Grid([rows.expr.grid.axes[0], *(Axis.whole(n) for n in shape)])
    operand_axes = ((0, *(None,) * (rows.ndim - 1)),)
    return make(MapBlocks(payload("predict", task, (), {}), operand_axes), (rows,), grid, dtype)


def evaluate_rows(
    model: Any, X: Any, y: Any, batch_size: int, weight: Any = None, recipe: Recipe | None = None
) -> dict[str, Any]:
    """Return a model's loss and metrics over all rows; blocks of Windrow arrays are evaluated on their ranks.

    A copy of the model does it: on TensorFlow a model that has seen 1-D targets fails on columns, and vice versa.
    """
    build(model, X)
    recipe, state = recipe or Recipe.of(model), Variables(model).shared()
    inputs = [X, y] if weight is None else [X, y, weight]
    if not any(isinstance(one, ArrayBase) for one in inputs):
        ndarrays = tuple(column(np.asarray(one)) if i == 1 else np.asarray(one) for i, one in enumerate(inputs))
        _check_lengths(ndarrays)
        if weight is not None:
            some_weight("evaluate", as_array("evaluate", "sample_weight", ndarrays[2]))
        with borrow_replica(recipe) as copy:
            copy.variables.put(state)
            return copy.counters.order(copy.test(ndarrays, batch_size))
    rows = whole_rows(as_array("evaluate", "x", X))
    arguments = ("y", "sample_weight")
    rest = [as_array("evaluate", name, one) for name, one in zip(arguments, inputs[1:], strict=False)]
    arrays = [rows, *(column(one) if i == 0 else one for i, one in enumerate(rest))]
    _check_lengths(arrays)
    if weight is not None:
        some_weight("evaluate", arrays[2])
    arrays = [whole_rows(a, rows.expr.grid.axes[0]) for a in arrays]
    ones = tuple((np.ones if i == 2 else np.zeros)((1, *a.shape[1:]), a.dtype) for i, a in enumerate(arrays))
    with borrow_replica(recipe) as copy:
        copy.variables.put(state)
        names = copy.tells(ones, lambda: _first(arrays))
        if names.apart:
            _warn_of_apart(names.apart)
            return copy.counters.order(copy.test_all(lambda: _blocks(arrays), batch_size))
    width = 1 + len(names.means) + names.sums
    sums = total(evaluate, arrays, (width,), recipe, state, batch_size, names)
    means = sums[1 : 1 + len(names.means)] / sums[0]
    with borrow_replica(recipe) as copy:
        return copy.collect_metrics(
            names, dict(zip(names.means, means.tolist(), strict=True)), sums[1 + len(means) :], ones
        )


def _first(arrays: list[Array]) -> tuple[Values, ...]:
    """Return some rows, computed."""
    computed = compute(*(a[:SOME] for a in arrays))
    return tuple(np.asarray(f) for f in computed)


def _blocks(arrays: list[Array]) -> Iterator[tuple[Values, ...]]:
    """Yield blocks of rows, computed one after the other."""
    begin = 0
    for size in arrays[0].chunks[0]:
        yield tuple(np.asarray(f) for f in compute(*(a[begin : begin + size] for a in arrays)))
        begin += size


def _warn_of_apart(names: tuple[str, ...]) -> None:
    text = (
        f"evaluate: what the metric {names[0]!r} keeps doesn't add up over blocks of rows, so the driver evaluates "
        "them one after the other; a metric that adds to its variables is evaluated where the rows are"
    )
    warn(text)


def list_metrics(metrics: dict[str, float]) -> Any:
    """Return metrics as Keras's `evaluate` does without `return_dict`: a list, or the only number."""
    if "loss" in metrics:
        metrics = {"loss": metrics["loss"], **metrics}
    values = list(metrics.values())
    return values[0] if len(values) == 1 else values


def _check_lengths(arrays: Any) -> None:
    shapes = [np.shape(a) for a in arrays]
    if any(not s or s[0] != shapes[0][0] for s in shapes):
        raise ShapeError(bad("evaluate", "x, y", ", ".join(map(str, shapes)), "equally many rows"))
    if not shapes[0][0]:
        raise ShapeError(bad("evaluate", "x", shapes[0], "at least one row"))


@dataclass(frozen=True)
class _Predict:
    recipe: Recipe
    weights: dict[str, Any]
    size: int
    dtype: np.dtype[Any]

    def __call__(self, rows: Values) -> Values:
        with borrow_replica(self.recipe) as copy:
            copy.variables.put(self.weights)
            starts = range(0, max(len(rows), 1), self.size)
            parts = [copy.model(backend().take(rows[i : i + self.size]), training=False) for i in starts]
            predictions = np.concatenate([np.asarray(part) for part in parts])
        if not np.can_cast(predictions.dtype, self.dtype, "same_kind"):
            raise DTypeError(
                bad("predict", "model", predictions.dtype, f"{self.dtype}, which its output is said to have")
            )
        return predictions.astype(self.dtype, copy=False)


def evaluate(*given: Any) -> Values:
    """Return the sums of a block of rows: their number, means times that, and the states of the metrics."""
    *rows, recipe, weights, size, names = given
    count = float(len(rows[0]))
    if not count:
        return np.zeros(1 + len(names.means) + names.sums)
    with borrow_replica(recipe) as copy:
        copy.variables.put(weights)
        metrics = copy.test(tuple(rows), size)
        return np.concatenate([[count], [metrics[n] * count for n in names.means], copy.counters.sums()])
