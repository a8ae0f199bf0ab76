"""Arguments of Keras's `fit` that are translated (`validation_split`, `class_weight`) or refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays.base import ArrayBase, as_array, make
from ...arrays.user_functions.travel.pickling import payload
from ...graph.chunks.grid import Grid
from ...graph.errors import ArgumentError, InWords, ShapeError, bad
from ...graph.kinds.mapping import MapBlocks
from ..rows import whole_rows
from .inference import column

__all__ = ["check_part", "refuse", "split", "weights_of"]

Values = np.ndarray[Any, Any]
REFUSED = {
    "steps_per_epoch": (None, "none: an epoch is all rows; give a slice of them"),
    "validation_steps": (None, "none: give a slice of the rows as validation_data"),
    "validation_batch_size": (
        None,
        "none: batches of validation data have 1024 rows, or batch_size",
    ),
    "validation_freq": (1, "1: for another, evaluate in a callback's on_epoch_end"),
}
"""For each refused argument the only value that is accepted, and what to use instead."""


def refuse(others: dict[str, Any]) -> None:
    """Raise for arguments that training on shards doesn't support."""
    for name, value in others.items():
        if name not in REFUSED:
            raise ArgumentError(bad("fit", name, value, "an argument of fit"))
        taken, expected = REFUSED[name]
        if value is not None and value != taken:
            raise ArgumentError(bad("fit", name, value, expected))


def check_part(part: Any) -> float:
    """Check and return `validation_split`."""
    number = isinstance(part, int | float | np.number) and not isinstance(part, bool)
    if part is not None and (not number or not 0 <= part < 1):
        raise ArgumentError(bad("fit", "validation_split", part, "a number from 0 up to 1"))
    return float(part or 0.0)


def split(part: float, *arrays: Any) -> tuple[tuple[Any, ...], tuple[Any, Any, Any]]:
    """Return arrays without their last rows, and the last rows; None stays None."""
    inputs: list[Any] = [a if a is None or isinstance(a, ArrayBase) else np.asarray(a) for a in arrays]
    shapes = [a.shape for a in inputs if a is not None]
    rows = shapes[0][0]
    if any(not s or s[0] != rows for s in shapes):
        raise ShapeError(bad("fit", "x, y", ", ".join(map(str, shapes)), "equally many rows"))
    at = math.floor(rows * (1.0 - part))
    if not 0 < at < rows:
        raise ArgumentError(
            bad("fit", "validation_split", part, f"a part of {rows} rows that leaves some on both sides")
        )
    x, y, weight = (None if a is None else a[at:] for a in inputs)
    return tuple(None if a is None else a[:at] for a in inputs), (x, y, weight)


def weights_of(class_weight: Any, y: Any, sample_weight: Any) -> Any:
    """Return rows' weights by their classes; the class of one-hot rows is their greatest column, as in Keras."""
    if sample_weight is not None:
        raise ArgumentError(bad("fit", "class_weight", "given beside sample_weight", "one of them"))
    if not isinstance(class_weight, dict) or not all(isinstance(c, int | np.integer) for c in class_weight):
        raise ArgumentError(
            bad("fit", "class_weight", class_weight, "a dict of classes, which are integers, to weights")
        )
    labels = column(as_array("fit", "y", y))
    if labels.dtype.kind not in "biuf":
        raise ArgumentError(bad("fit", "class_weight", InWords(f"given with y of {labels.dtype}"), "y of numbers"))
    labels = whole_rows(labels)
    classes = np.array(sorted(class_weight), np.int64)
    task = _Weigh(classes, np.array([class_weight[c] for c in classes.tolist()], np.float32))
    operand_axes = ((0, *(None,) * (labels.ndim - 1)),)
    grid = Grid(labels.expr.grid.axes[:1])
    return make(MapBlocks(payload("fit", task, (), {}), operand_axes), (labels,), grid, np.float32)


@dataclass(frozen=True)
class _Weigh:
    classes: Values
    weights: Values

    def __call__(self, labels: Values) -> Values:
        class_ids = np.argmax(labels, axis=-1) if labels.shape[-1] != 1 else labels[..., 0]
        class_ids = np.round(class_ids).astype(np.int64)
        if not len(self.classes):
            return np.ones(class_ids.shape, np.float32)
        at = np.minimum(np.searchsorted(self.classes, class_ids), len(self.classes) - 1)
        return np.where(self.classes[at] == class_ids, self.weights[at], np.float32(1.0))
