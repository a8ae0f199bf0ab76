"""What training needs of a Keras backend: the batches of a round as one compiled function."""

from __future__ import annotations

import contextlib
import functools
import importlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, bad

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
        Ways to compile a round, the fastest first. After them comes Keras's own `fit`.
    """

    modes: tuple[str, ...]

    @abstractmethod
    def prepare(self) -> None:
        """Set up a process before its first model: a rank's threads are its tasks."""

    @abstractmethod
    def take(self, rows: Values) -> Any:
        """Return rows as a model takes them; texts become tensors where the backend has such."""

    def read(self, value: Any) -> Values:
        """Return the numbers of a variable or tensor: where they lie, as far as NumPy can look at them there.

        A step of training leaves what is looked at as it is, and writes elsewhere.
        """
        return np.asarray(value)

    def write(self, variable: Any, value: Values) -> None:
        """Set a variable, which keeps none of the memory that the value lies in."""
        variable.assign(value)

    @abstractmethod
    def unfit(self, model: Any, rows: tuple[Values, ...], mode: str) -> str | None:
        """Return why a mode is not to be tried with a model on such rows, or None."""

    @abstractmethod
    def batches(self, model: Any, size: int, mode: str) -> Callable[..., dict[str, Any]]:
        """Return `train(rows, order, count)`: it trains on the first `count` blocks of `size` rows that `order` names.

        `rows` are NumPy arrays whose memory may go when the call is over. It returns the metrics so far.
        """

    @abstractmethod
    def batch(self, model: Any, mode: str) -> Callable[..., dict[str, Any]]:
        """Return `train(rows)`, which trains on all rows as one batch, and returns the metrics so far."""

    @abstractmethod
    def gradients(self, model: Any) -> Callable[..., tuple[dict[str, Any], list[Any]]]:
        """Return `gradients(rows)`, a step on all rows as one batch up to where the optimiser would change weights.

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
    """Have a function in the place of an optimiser's method, by which a model's own `train_step` steps."""
    vars(optimizer)[name] = function
    try:
        yield
    finally:
        del vars(optimizer)[name]


def take_gradients(found: list[list[Any]]) -> list[Any]:
    """Return the gradients of the one step that a `train_step` took."""
    if len(found) != 1:
        expected = "one whose train_step lets its optimizer step once, for average='gradient'"
        raise ArgumentError(bad("fit", "model", f"one whose train_step steps {len(found)} times", expected))
    return found[0]


@functools.cache
def backend() -> Backend:
    """Return the backend that this process's Keras uses."""
    name = importlib.import_module("keras").backend.backend()
    if name not in MODULES:
        raise ArgumentError(bad("distribute", "KERAS_BACKEND", name, f"one of {', '.join(MODULES)}"))
    implementation: Backend = importlib.import_module(MODULES[name], __package__).BACKEND
    return implementation
