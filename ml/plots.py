"""Plots of training."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import ArgumentError, bad
from ..workers.public_api import publish

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["plot_history"]


def plot_history(history: Any, ax: Any = None) -> Any:
    """Plot the metrics of training over its epochs; those of validation (`"val_…"`) are dashed, in the same colour.

    Parameters
    ----------
    history : History, keras.callbacks.History or dict of str to list of float
        The history that training returned, or a dict of metrics, each with one number for each epoch.
    ax : matplotlib.axes.Axes, optional
        Where to plot; None: axes of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with a line for each metric.

    Raises
    ------
    ArgumentError
        `history` has no metrics, or lacks a number for some epoch.
    ImportError
        matplotlib isn't installed; it comes with ``pip install "windrow[examples]"``.

    Examples
    --------
    >>> from windrow.ml import plot_history
    >>> ax = plot_history({"loss": [0.9, 0.4, 0.3], "val_loss": [1.0, 0.6, 0.5]})
    >>> [line.get_label() for line in ax.lines]
    ['loss', 'val_loss']
    """
    epochs, curves = _curves(history)
    if ax is None:
        try:
            figure = importlib.import_module("matplotlib.figure")
        except ImportError as error:
            raise ImportError('plot_history needs matplotlib: pip install "windrow[examples]"') from error
        # If pyplot is in use already, as in a notebook, a figure of pyplot's is displayed without further ado.
        new = getattr(sys.modules.get("matplotlib.pyplot"), "figure", figure.Figure)
        ax = new(layout="constrained").subplots()
    colours: dict[str, Any] = {}
    for name in sorted(curves, key=lambda n: n.startswith("val_")):
        held_out = name.startswith("val_")
        values = curves[name]
        where = epochs[len(epochs) - len(values) :] if len(values) <= len(epochs) else range(1, len(values) + 1)
        marker = "o" if len(values) == 1 else None
        (line,) = ax.plot(
            where,
            values,
            label=name,
            marker=marker,
            linestyle="--" if held_out else "-",
            color=colours.get(name.removeprefix("val_")),
        )
        colours.setdefault(name.removeprefix("val_"), line.get_color())
    ax.set_xlabel("epoch")
    ax.xaxis.get_major_locator().set_params(integer=True)
    if len(curves) == 1:
        ax.set_ylabel(next(iter(curves)))
    else:
        ax.legend()
    return ax


def _curves(history: Any) -> tuple[list[int], Mapping[str, list[float]]]:
    """Return the numbers of epochs, from 1, and the values of each metric."""
    metrics = getattr(history, "history", history)
    if not isinstance(metrics, dict) or not metrics:
        expected = "a History with metrics, Keras's, or a dict of lists of numbers"
        raise ArgumentError(bad("plot_history", "history", metrics if isinstance(metrics, dict) else history, expected))
    curves: dict[str, list[float]] = {}
    for name, values in metrics.items():
        curve = np.asarray(values)
        if not isinstance(name, str) or curve.ndim != 1 or curve.dtype.kind not in "biuf":
            raise ArgumentError(bad("plot_history", f"history[{name!r}]", values, "a number for each epoch"))
        curves[name] = curve.tolist()
    epochs = [int(e) + 1 for e in getattr(history, "epoch", ())]
    return epochs or list(range(1, max(map(len, curves.values())) + 1)), curves


publish(__name__)
