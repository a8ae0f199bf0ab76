"""A rank's copies of a Keras model, and rounds of training on them.

A copy is a cache: it has compiled functions, and variables that each use overwrites. It holds no rows: a task reads its
rows in place. A copy serves one task at a time, for any shard; there are as many copies as tasks have run side by
side.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....arrays.creation.filled import zeros
from ....arrays.user_functions.map_blocks import map_blocks
from ....graph.errors import ArgumentError, bad
from ....scheduler.session.cluster import session
from ..backends.compiled_rounds import Backend, backend
from ..metrics import Counters, Names, plain_logs
from .recipe import LOG_LEVEL
from .state import Variables, build_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .recipe import Recipe

__all__ = ["Replica", "borrow_replica", "import_ahead"]

Values = np.ndarray[Any, Any]
MOST = 8
"""Models of which a rank keeps copies, at most."""
ALIGNED = 64
_log = logging.getLogger("windrow")
_lock = threading.Lock()
_building = threading.Lock()
_idle: OrderedDict[bytes, list[Replica]] = OrderedDict()


class Replica:
    """A copy of a model and its compiled functions.

    Attributes
    ----------
    model : keras.Model
    variables : Variables
    counters : Counters
        The states of the metrics after the last call.
    mode : int
        How rounds run: an index into the backend's modes, or their number for `fit`.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        build_optimizer(model)
        self.variables = Variables(model)
        self.counters = Counters(model)
        self.mode = len(backend().modes) if model.run_eagerly else 0
        self._compiled: dict[Any, Callable[..., Any]] = {}
        self._tells: Names | None = None
        self._tests_compiled = not model.run_eagerly

    def train(
        self, begin: Callable[[], None], rows: tuple[Values, ...], size: int, blocks: Values, rest: slice | None
    ) -> dict[str, Any]:
        """Train on batches, which are numbered blocks of `size` rows, then on a rest; return the logs of the last step.

        `begin` writes the initial state. It is called again after a mode has failed, since that may have changed it.
        """
        modes = backend().modes
        while self.mode < len(modes):
            begin()
            self.model.reset_metrics()
            reason = backend().unfit(self.model, rows, modes[self.mode])
            try:
                if reason is None:
                    return self._by(backend(), modes[self.mode], rows, size, blocks, rest)
            except Exception as error:
                reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            _log.info("training by %s is not for this model (%s), a slower mode is taken", modes[self.mode], reason)
            self.mode += 1
            self._compiled.clear()
        begin()
        return self._fit(rows, size, blocks, rest)

    def gradients(self, rows: tuple[Values, ...]) -> tuple[dict[str, Any], list[Values]]:
        """Return the logs and gradients of a step on all rows as one batch; weights stay as they are."""
        self.model.reset_metrics()
        step = self._function(("gradients",), lambda: backend().gradients(self.model))
        logs, gradients = step(rows)
        return plain_logs(logs), [backend().read(g) for g in gradients]

    def apply(self, gradients: list[Values]) -> None:
        """Take a step of the optimiser by these gradients."""
        self._function(("apply",), lambda: backend().apply(self.model))(gradients)

    def test(self, rows: tuple[Values, ...], size: int) -> dict[str, Any]:
        """Evaluate rows in batches of `size`; return the metrics over all of them.

        Keras's own `evaluate` sets up an input pipeline each time, which takes longer than most chunks do.
        """
        return self.test_all(lambda: (rows,), size)

    def test_all(self, blocks: Callable[[], Iterable[tuple[Values, ...]]], size: int) -> dict[str, Any]:
        """Evaluate blocks of rows, one after the other, as `test` does."""
        if self._tests_compiled:
            self.model.reset_metrics()
            test = self._function(("test",), lambda: backend().test(self.model))
            try:
                logs: dict[str, Any] = {}
                for rows in blocks():
                    tensors = tuple(_as_keras(r) for r in rows)
                    for i in range(0, len(tensors[0]), size):
                        logs = test(tuple(r[i : i + size] for r in tensors))
                return plain_logs(logs)
            except Exception as error:
                self._tests_compiled = False
                _log.info("evaluation can't be compiled for this model (%s)", type(error).__name__)
        parts = [np.concatenate(some) for some in zip(*blocks(), strict=True)]
        weights = {"sample_weight": parts[2]} if len(parts) > 2 else {}
        how = {"batch_size": size, "verbose": 0, "return_dict": True}
        metrics: dict[str, Any] = self.model.evaluate(*parts[:2], **weights, **how)
        return plain_logs(metrics)

    def tells(self, rows: tuple[Values, ...], some: Callable[[], tuple[Values, ...]]) -> Names:
        """Return the names of the logs of `test`, by a trial on `rows`, which are zeros.

        If the test step or a metric is the user's own, real rows, which `some` returns, are needed to see how it adds
        up.
        """
        if self._tells is None:
            names = self.counters.names(self.test(rows, 1))
            if names.means or any(self.counters.of_users()):
                rows = some()
                apart = self.apart(rows)
                names = self.counters.names(self.test(rows, len(rows[0])), apart)
            self._tells = names
        return self._tells

    def apart(self, rows: tuple[Values, ...]) -> tuple[str, ...]:
        """Return the names of the metrics whose states don't add up, by a trial on some rows."""
        count = len(rows[0])
        half = max(1, count // 2)
        return self.counters.apart(lambda a, b: self.test(tuple(r[a:b] for r in rows), half), count)

    def collect_metrics(
        self, names: Names, means: dict[str, float], sums: Values, rows: tuple[Values, ...]
    ) -> dict[str, Any]:
        """Return all logs for these means and sums of states; `rows` are used to build the metrics if needed."""
        if not self.counters.built or self.counters.sums().size != names.sums:
            self.test(tuple(r[:1] for r in rows), 1)
        known = {**self.counters.read_metrics(sums), **means}
        return {name: known[name] for name in names.all}

    def _by(
        self, by: Backend, mode: str, rows: tuple[Values, ...], size: int, blocks: Values, rest: slice | None
    ) -> dict[str, Any]:
        logs: dict[str, Any] = {}
        if len(blocks):
            batches = self._function(("batches", size), lambda: by.batches(self.model, size, mode))
            logs = batches(*_lay_rows(rows, size, blocks), len(blocks))
        if rest is not None:
            batch = self._function(("batch",), lambda: by.batch(self.model, mode))
            logs = batch(tuple(r[rest] for r in rows))
        return plain_logs(logs)

    def _function(self, key: Any, make: Callable[[], Any]) -> Callable[..., Any]:
        if key not in self._compiled:
            self._compiled[key] = make()
        return self._compiled[key]

    def _fit(self, rows: tuple[Values, ...], size: int, blocks: Values, rest: slice | None) -> dict[str, Any]:
        numbers = (blocks[:, None] * size + np.arange(size)).ravel()
        if rest is not None:
            numbers = np.concatenate([numbers, np.arange(rest.start, rest.stop)])
        picked = [r[numbers] for r in rows]
        weights = {"sample_weight": picked[2]} if len(picked) > 2 else {}
        history = self.model.fit(*picked[:2], **weights, batch_size=size, epochs=1, shuffle=False, verbose=0)
        return {name: values[-1] for name, values in history.history.items()}


def _as_keras(rows: Values) -> Values:
    """Return floats in the precision to which Keras converts arrays."""
    return rows.astype(sys.modules["keras"].backend.floatx(), copy=False) if rows.dtype.kind == "f" else rows


def _lay_rows(rows: tuple[Values, ...], size: int, blocks: Values) -> tuple[tuple[Values, ...], Values]:
    """Return rows and the order of their blocks; blocks are copied in order if the rows aren't aligned for a tensor.

    The length of the order is a power of two, so that rounds of about as many batches share a compiled function.
    """
    order = np.zeros(1 << (len(blocks) - 1).bit_length(), np.int32)
    if all(r.flags.c_contiguous and r.__array_interface__["data"][0] % ALIGNED == 0 for r in rows):
        order[: len(blocks)] = blocks
        return rows, order
    order[: len(blocks)] = np.arange(len(blocks))
    return tuple(_copy_blocks(r, size, blocks) for r in rows), order


def _copy_blocks(rows: Values, size: int, blocks: Values) -> Values:
    """Return blocks of rows one after the other, in aligned memory."""
    shape = (len(blocks), size, *rows.shape[1:])
    count = int(np.prod(shape, dtype=np.int64)) * rows.itemsize
    raw = np.empty(count + ALIGNED, np.uint8)
    begin = -raw.__array_interface__["data"][0] % ALIGNED
    out = raw[begin : begin + count].view(rows.dtype).reshape(shape)
    whole = len(rows) // size
    np.take(rows[: whole * size].reshape(whole, size, *rows.shape[1:]), blocks, axis=0, out=out, mode="clip")
    return out.reshape(-1, *rows.shape[1:])


@contextlib.contextmanager
def borrow_replica(recipe: Recipe) -> Iterator[Replica]:
    """Lend a copy of a model of this rank, made if none is idle; its variables are those of its last use."""
    with _lock:
        idle = _idle.setdefault(recipe.name, [])
        _idle.move_to_end(recipe.name)
        while len(_idle) > MOST:
            _idle.popitem(last=False)
        replica = idle.pop() if idle else None
    if replica is None:
        with _building:
            _prepare(recipe.backend, recipe.log_level)
            replica = Replica(recipe.load())
    yield replica
    with _lock:  # not returned after an error, which may have left it in any state
        _idle.get(recipe.name, []).append(replica)


def import_ahead() -> object:
    """Have the other ranks begin to import the backend; return an object that must live until they do.

    The import takes longer than most first epochs. Meanwhile rows are shuffled and the model is examined.
    """
    if session().ranks == 1 or session().place[1] > 1:
        return None
    begin = partial(_begin_import, sys.modules["keras"].backend.backend(), os.environ.get(LOG_LEVEL, ""))
    return map_blocks(begin, zeros(session().ranks, dtype=bool, chunks=1), dtype=bool).persist(spread=True)


def _begin_import(wanted: str, log_level: str, block: Values) -> Values:
    def begin() -> None:
        with contextlib.suppress(Exception), _building:  # the first task raises what went wrong
            _prepare(wanted, log_level)

    threading.Thread(target=begin, name="windrow-imports", daemon=True).start()
    return block


@functools.cache
def _prepare(wanted: str, log_level: str) -> None:
    if "keras" not in sys.modules:  # on a rank that doesn't run the script
        os.environ["KERAS_BACKEND"] = wanted
        if log_level:
            os.environ.setdefault(LOG_LEVEL, log_level)
    by = backend()
    by.prepare()
    keras = sys.modules["keras"]
    if keras.backend.backend() != wanted:
        raise ArgumentError(bad("distribute", "KERAS_BACKEND", keras.backend.backend(), f"{wanted!r} as on the driver"))
