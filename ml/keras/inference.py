"""Prediction and evaluation by a Keras model, block by block of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.align import regrid
from ...arrays.core import Node, as_array, make
from ...arrays.payload import payload
from ...graph.errors import ShapeError, bad
from ...graph.grid import Axis, Grid
from ...graph.kinds.mapping import MapBlocks
from .recipe import Recipe
from .replicas import borrowed
from .state import Variables

if TYPE_CHECKING:
    from ...arrays.array import Array

__all__ = ["column", "evaluated", "listed", "predicted"]

Values = np.ndarray[Any, Any]


def column(y: Any) -> Any:
    """Return y with an axis more where it has one, as Keras's losses expect: else (n, 1) less (n,) would be (n, n)."""
    return y[:, None] if np.ndim(y) == 1 else y


def predicted(model: Any, X: Any, batch_size: int, verbose: int | str = 0) -> Any:
    """Return a model's predictions, lazily for a Windrow array."""
    if not isinstance(X, Node):
        return model.predict(X, batch_size=batch_size, verbose=verbose)
    rows = _rows("predict", X)
    shape = model.compute_output_shape(rows.shape)[1:]
    dtype = np.dtype(str(getattr(model, "compute_dtype", "float32")))
    task = _Predict(Recipe.of(model), Variables(model).shared(), batch_size, dtype)
    grid = Grid([rows.expr.grid.axes[0], *(Axis.regular(n, n) for n in shape)])
    ways = ((0, *(None,) * (rows.ndim - 1)),)
    return make(MapBlocks(payload("predict", task, (), {}), ways), (rows,), grid, dtype)


def evaluated(
    model: Any, X: Any, y: Any, batch_size: int, weight: Any = None, recipe: Recipe | None = None
) -> dict[str, float]:
    """Return a model's loss and metrics, averaged by rows over blocks of Windrow arrays.

    A copy evaluates: on TensorFlow a model that has seen targets of one axis fails on columns, and the other way round.
    """
    recipe, state = recipe or Recipe.of(model), Variables(model).shared()
    given = [X, y] if weight is None else [X, y, weight]
    if not any(isinstance(one, Node) for one in given):
        found = tuple(column(np.asarray(one)) if i == 1 else np.asarray(one) for i, one in enumerate(given))
        _check_lengths(found)
        with borrowed(recipe) as copy:
            copy.variables.put(state)
            return copy.test(found, batch_size)
    rows = _rows("evaluate", X)
    names = ("y", "sample_weight")
    rest = [as_array("evaluate", name, one) for name, one in zip(names, given[1:], strict=False)]
    arrays = [rows, *(column(one) if i == 0 else one for i, one in enumerate(rest))]
    _check_lengths(arrays)
    first = rows.expr.grid.axes[0]
    arrays = [regrid(a, Grid([first, *(Axis.regular(n, n) for n in a.shape[1:])])) for a in arrays]
    with borrowed(recipe) as copy:
        told = copy.tells(tuple(np.zeros((1, *a.shape[1:]), a.dtype) for a in arrays))
    task = _Evaluate(recipe, state, batch_size, told)
    grid = Grid([Axis.regular(rows.numblocks[0], 1), Axis.regular(len(told) + 1, len(told) + 1)])
    ways = tuple((0, *(None,) * (a.ndim - 1)) for a in arrays)
    op = MapBlocks(payload("evaluate", task, (), {}), ways)
    sums = np.add.reduce(np.asarray(make(op, arrays, grid, np.float64).compute()), axis=0)
    return {name: float(v / sums[0]) for name, v in zip(told, sums[1:], strict=True)}


def listed(told: dict[str, float]) -> Any:
    """Return what Keras's `evaluate` returns unless it is asked for a dict: a list, or the one number there is."""
    if "loss" in told:
        told = {"loss": told["loss"], **told}
    found = list(told.values())
    return found[0] if len(found) == 1 else found


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
        with borrowed(self.recipe) as copy:
            copy.variables.put(self.weights)
            starts = range(0, max(len(rows), 1), self.size)
            parts = [copy.model(rows[i : i + self.size], training=False) for i in starts]
            return np.concatenate([np.asarray(part, self.dtype) for part in parts])


@dataclass(frozen=True)
class _Evaluate:
    recipe: Recipe
    weights: dict[str, Any]
    size: int
    names: tuple[str, ...]

    def __call__(self, *rows: Values) -> Values:
        if not len(rows[0]):
            return np.zeros((1, len(self.names) + 1))
        with borrowed(self.recipe) as copy:
            copy.variables.put(self.weights)
            found = copy.test(rows, self.size)
        return np.array([[1.0, *(found[name] for name in self.names)]]) * len(rows[0])


def _rows(operation: str, X: Any) -> Array:
    array = as_array(operation, "x", X)
    first, *rest = array.expr.grid.axes
    return regrid(array, Grid([first, *(Axis.regular(a.length, max(1, a.length)) for a in rest)]))
