"""The interface to a Keras backend, which compiles the batches of a round to one function."""

from __future__ import annotations

import contextlib
import functools
import importlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, InWords, bad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Backend", "backend", "replace_step", "take_gradients"]

Values = np.ndarray[Any, Any]
MODULES = {"tensorflow": ".on_tensorflow", "jax": ".on_jax"}


class Backend(ABC):
    """Trains a model on batches in one call.

    Attributes
    ----------
    modes : tuple of str
        Ways to compile a round, the fastest first. Keras's own `fit` is used if all of them fail.
    """

    modes: tuple[str, ...]

    @abstractmethod
    def prepare(self) -> None:
        """Set up a process before its first model: one thread for each task."""

    @abstractmethod
    def take(self, rows: Values) -> Any:
        """Return rows as a model takes them; strings become tensors if the backend has such."""

    def read(self, value: Any) -> Values:
        """Return the values of a variable or tensor as an array, without a copy if NumPy can view them.

        A step of training doesn't change what was read: it writes to new memory.
        """
        return np.asarray(value)

    def write(self, variable: Any, value: Values) -> None:
        """Set a variable, which copies the value."""
        variable.assign(value)

    @abstractmethod
    def unfit(self, model: Any, rows: tuple[Values, ...], mode: str) -> str | None:
        """Return the reason why a mode doesn't suit a model and its rows, or None."""

    @abstractmethod
    def batches(self, model: Any, size: int, mode: str) -> Callable[..., dict[str, Any]]:
        """Return `train(rows, order, count)`, which trains on the first `count` blocks of `size` rows named in `order`.

        `rows` are NumPy arrays whose memory may be reused after the call. It returns the metrics so far.
        """

    @abstractmethod
    def batch(self, model: Any, mode: str) -> Callable[..., dict[str, Any]]:
        """Return `train(rows)`, which trains on all rows as one batch, and returns the metrics so far."""

    @abstractmethod
    def gradients(self, model: Any) -> Callable[..., tuple[dict[str, Any], list[Any]]]:
        """Return `gradients(rows)`: a step on all rows as one batch, which ends before the optimiser changes weights.

        It returns the metrics so far, and the gradients of the trained variables.
        """

    @abstractmethod
    def apply(self, model: Any) -> Callable[..., None]:
        """Return `apply(gradients)`, a step of the optimiser."""

    @abstractmethod
    def test(self, model: Any) -> Callable[..., dict[str, Any]]:
        """Return `test(rows)`, which evaluates all rows as one batch, and returns the metrics so far."""

    @abstractmethod
    def find_metrics(self, model: Any, rows: tuple[Values, ...]) -> dict[str, Any]:
        """Return the metrics after training on some rows, without compiling."""


@contextlib.contextmanager
def replace_step(optimizer: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Replace the optimiser's method by which a `train_step` applies gradients."""
    vars(optimizer)[name] = function
    try:
        yield
    finally:
        del vars(optimizer)[name]


def take_gradients(found: list[list[Any]]) -> list[Any]:
    """Return the gradients of the only step that a `train_step` took."""
    if len(found) != 1:
        expected = "one whose train_step lets its optimizer step once, for average='gradient'"
        raise ArgumentError(bad("fit", "model", InWords(f"one whose train_step steps {len(found)} times"), expected))
    return found[0]


@functools.cache
def backend() -> Backend:
    """Return the backend that this process's Keras uses."""
    name = importlib.import_module("keras").backend.backend()
    if name not in MODULES:
        raise ArgumentError(bad("distribute", "KERAS_BACKEND", name, f"one of {', '.join(MODULES)}"))
    implementation: Backend = importlib.import_module(MODULES[name], __package__).BACKEND
    return implementation
