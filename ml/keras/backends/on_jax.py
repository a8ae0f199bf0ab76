"""Keras on JAX: a round is one jitted loop over the model's stateless `train_step`."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import DTypeError, bad
from .compiled_rounds import Backend, replace_step, take_gradients

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BACKEND"]

Values = np.ndarray[Any, Any]
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


class Jax(Backend):
    """The model's own `train_step`: Keras's, by `stateless_call` and `optimizer.stateless_apply`, or the user's."""

    modes = ("xla",)

    def prepare(self) -> None:
        """Set one thread for each task, if JAX isn't imported yet."""
        if "jax" not in sys.modules:
            os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}".strip()

    def take(self, rows: Values) -> Any:
        """See `Backend.take`."""
        if rows.dtype.kind in "SU":
            raise DTypeError(bad("distribute", "x", rows.dtype, "numbers, as JAX has no texts"))
        return rows

    def write(self, variable: Any, value: Values) -> None:
        """See `Backend.write`; without a copy JAX would use aligned memory in place."""
        variable.assign(np.array(value))

    def unfit(self, model: Any, rows: tuple[Values, ...], mode: str) -> str | None:
        """See `Backend.unfit`."""
        return (
            "it was compiled with jit_compile=False" if model.get_compile_config().get("jit_compile") is False else None
        )

    def batches(self, model: Any, size: int, mode: str) -> Callable[..., dict[str, Any]]:
        """See `Backend.batches`."""
        jax: Any = importlib.import_module("jax")

        def loop(state: Any, rows: Any, order: Any, count: Any) -> Any:
            cut = [r[: len(r) // size * size].reshape(-1, size, *r.shape[1:]) for r in rows]

            def one(i: Any, carried: Any) -> Any:
                return model.train_step(carried[1], tuple(c[order[i]] for c in cut))

            return jax.lax.fori_loop(1, count, one, one(0, (None, state)))

        compiled = jax.jit(loop)

        def train(rows: tuple[Values, ...], order: Values, count: int) -> dict[str, Any]:
            return _run(model, rows, lambda state: compiled(state, rows, order, np.int32(count)))

        return train

    def batch(self, model: Any, mode: str) -> Callable[..., dict[str, Any]]:
        """See `Backend.batch`."""
        compiled = importlib.import_module("jax").jit(model.train_step)

        def train(rows: tuple[Values, ...]) -> dict[str, Any]:
            return _run(model, rows, lambda state: compiled(state, rows))

        return train

    def gradients(self, model: Any) -> Callable[..., tuple[dict[str, Any], list[Any]]]:
        """See `Backend.gradients`."""

        def step(state: Any, rows: Any) -> Any:
            collected: list[list[Any]] = []

            def keep(slots: Any, given: Any, weights: Any) -> Any:
                collected.append(list(given))
                return weights, slots

            with replace_step(model.optimizer, "stateless_apply", keep):
                logs, after = model.train_step(state, rows)
            return (logs, take_gradients(collected)), after

        compiled = importlib.import_module("jax").jit(step)

        def gradients(rows: tuple[Values, ...]) -> Any:
            return _run(model, rows, lambda state: compiled(state, rows))

        return gradients

    def apply(self, model: Any) -> Callable[..., None]:
        """See `Backend.apply`."""
        compiled = importlib.import_module("jax").jit(model.optimizer.stateless_apply)

        def apply(found: list[Values]) -> None:
            parts = (model.trainable_variables, model.optimizer.variables)
            _step(parts, lambda state: ({}, compiled(state[1], found, state[0])))

        return apply

    def test(self, model: Any) -> Callable[..., dict[str, Any]]:
        """See `Backend.test`."""
        compiled = importlib.import_module("jax").jit(model.test_step)

        def test(rows: tuple[Values, ...]) -> dict[str, Any]:
            model._symbolic_build(data_batch=tuple(r[:1] for r in rows))
            parts = (model.trainable_variables, model.non_trainable_variables, model.metrics_variables)
            return _step(parts, lambda state: compiled(state, rows))

        return test

    def find_metrics(self, model: Any, rows: tuple[Values, ...]) -> dict[str, Any]:
        """See `Backend.find_metrics`."""
        return _run(model, rows, lambda state: model.train_step(state, rows))


BACKEND = Jax()


def _run(model: Any, rows: tuple[Values, ...], function: Callable[[Any], Any]) -> dict[str, Any]:
    """Call a function of the model's state, and write back the state that it returns when all of it is computed."""
    model._symbolic_build(data_batch=tuple(r[:1] for r in rows))  # before it, metrics have no variables
    parts = (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )
    return _step(parts, function)


def _step(parts: tuple[Any, ...], function: Callable[[Any], Any]) -> dict[str, Any]:
    logs, state = function(tuple([v.value for v in part] for part in parts))
    importlib.import_module("jax").block_until_ready((logs, state))
    for part, values in zip(parts, state, strict=True):
        for variable, value in zip(part, values, strict=True):
            variable.assign(value)
    metrics: dict[str, Any] = logs
    return metrics
