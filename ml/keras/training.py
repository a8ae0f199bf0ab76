"""Training a Keras model on shards: the driver's part in each epoch, and trials on a copy of the model beforehand."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ...workers.public_api import warn
from ..training.batching import find_batch_size
from ..training.loop import Trainable, run_epochs
from ..training.progress import Progress
from ..training.shards import warn_of_few_steps
from ..training.tasks import Update
from .backends.compiled_rounds import backend
from .checkpoints import Progressed, write_checkpoint
from .inference import evaluate_rows
from .listeners import build_metrics, listen, watch_loss
from .metrics import plain_logs
from .models.replicas import borrow_replica
from .models.state import Variables
from .pace import find_innermost
from .work import KerasWork

if TYPE_CHECKING:
    from pathlib import Path

    from ..training.averages import Averaging
    from ..training.shards import Shards
    from ..training.tasks import RoundMetrics
    from .metrics import Names
    from .models.recipe import Recipe

__all__ = ["KerasModel"]

Values = np.ndarray[Any, Any]
LEFT = ("moments", "average", "rate")
"""Parts of the state that outer steps don't change."""
HELD_OUT = 1024
"""Rows of a batch in evaluations of validation data, at least."""
FEW, MANY, ENOUGH = 64, 2048, 0.02
"""Batches to measure: `FEW`, or `MANY` if these take fewer seconds than `ENOUGH`."""


class KerasModel(Trainable):
    """Trains copies of a Keras model; the model gets the averaged weights whenever somebody looks at them.

    The arguments are those of `Distributed.fit`, checked. `recipe` is that of the copies, `held` the validation data.
    If `size` is None, it is measured.
    """

    def __init__(
        self,
        model: Any,
        recipe: Recipe,
        shards: Shards,
        averaging: Averaging,
        size: int | None,
        shuffle: bool,
        epochs: range,
        verbose: int | str,
        callbacks: list[Any],
        held: tuple[Any, Any, Any] | None,
        checkpoint: str | Path | None,
        every: int,
    ) -> None:
        mine = Variables(model)
        state, own = mine.shared(), mine.own(fresh=True)
        if size is None:
            size = find_batch_size("fit", shards, lambda rows: batch_seconds(recipe, rows, state, own))
        most = max(shards.sizes)
        whole, some = max(most // size, 1), shards.first(size)
        warn_of_few_steps("fit", shards, size, "give fewer shards, or a smaller batch_size")
        names = names_of(recipe, some, state, own)
        _warn_of_apart(names.apart)
        work = KerasWork(recipe, size, averaging.period(whole), shuffle, names.means)
        gradient = averaging.kind == "gradient"
        super().__init__(
            work=work.gradient if gradient else work,
            state=state,
            own=mine.own_apart(fresh=True) if gradient else own,
            means=names.means,
            sums=names.sums,
            update=_gradient_update(work, mine) if gradient else averaging.outer(state, LEFT),
            epochs=epochs,
            count=-(-most // size) if gradient else averaging.rounds(whole),
            progress=Progress("fit", epochs.stop, sum(shards.sizes), epochs.start, shown=verbose not in (0, 2)),
        )
        self.size = size
        self._model, self._recipe, self._batches, self._some, self._names = model, recipe, whole, some, names
        self._callbacks, self._held, self._checkpoint, self._every = callbacks, held, checkpoint, every
        self._verbose, self._rate, self._lost = verbose, mine.rate, False
        self._listeners: Any = None

    def restore(self, before: Progressed, averaging: Averaging) -> None:
        """Restore the state of a checkpoint; that of shards only if there are as many shards."""
        if averaging.kind != "gradient" and self.update is not None and before.speed:
            self.rounds.kept = before.speed
        if before.own.shape == self.rounds.owns.shape:
            self.rounds.owns = before.own

    def train(self) -> Any:
        """Run the epochs; return Keras's history. The model gets the averaged weights even after an error."""
        model = self._model
        if self._callbacks:
            build_metrics(model, self._some)
        self._listeners = listen(self._callbacks, model, self.epochs.stop, self._verbose)
        self._listeners.on_train_begin()
        model.history.seconds = self.history.seconds
        try:
            with self.progress:
                run_epochs(self)
        except BaseException:
            with contextlib.suppress(Exception):  # computing them may be what failed
                self._put()
            raise
        else:
            model.optimizer.finalize_variable_values(model.trainable_variables)
        finally:
            self._listeners.on_train_end()
        return model.history

    def begin(self, epoch: int) -> None:
        """See `Trainable`; passes on the learning rate, which a callback may have set."""
        self._listeners.on_epoch_begin(epoch)
        before, self._rate = self._rate, Variables(self._model).rate
        if self._rate is not None and self._rate != before:
            self.rounds.state = {**self.rounds.state, "rate": np.float64(self._rate)}

    def score(self, epoch: int, metrics: RoundMetrics) -> dict[str, Any]:
        """See `Trainable`."""
        with borrow_replica(self._recipe) as copy:
            logs = copy.collect_metrics(self._names, metrics.means, metrics.sums, self._some)
        self._lost = self._lost or _is_lost(epoch, logs)
        if self._callbacks or self._held is not None or self._keeps(epoch) or epoch == self.epochs[-1]:
            self._put()  # otherwise nobody looks at the weights
        if self._held is not None:
            x, y, weight = self._held
            self._listeners.on_test_begin()
            held_logs = evaluate_rows(self._model, x, y, max(self.size, HELD_OUT), weight, self._recipe)
            self._listeners.on_test_end(held_logs)
            logs |= {f"val_{name}": value for name, value in held_logs.items()}
        return logs

    def end(self, epoch: int, scores: dict[str, Any]) -> bool:
        """See `Trainable`."""
        self.progress.hide()
        watch_loss(self._callbacks, scores, self._batches)
        self._listeners.on_epoch_end(epoch, scores)
        last = epoch == self.epochs[-1] or bool(self._model.stop_training)
        if last or self._keeps(epoch):
            self._keep(epoch + 1)
        return last

    def _put(self) -> None:
        Variables(self._model).put(self.rounds.state)

    def _keeps(self, epoch: int) -> bool:
        return self._checkpoint is not None and (epoch + 1) % self._every == 0

    def _keep(self, epochs: int) -> None:
        """Put the first shard's slots into the model, for a later `fit`, and write a checkpoint."""
        kept, speed, variables = self.rounds.owns, list(self.rounds.kept), Variables(self._model)
        first = self.rounds.task.own.unpack(kept[0])
        if "apart" in first:  # one optimiser for all shards
            variables.put_apart(first)
            variables.put_slots(speed)
            speed = []
        else:
            variables.put_own(first)
        if self._checkpoint is not None:
            if getattr(find_innermost(self._model.optimizer), "use_ema", False):  # a callback may have swapped weights
                self._put()
            write_checkpoint(self._model, self._checkpoint, Progressed(epochs, kept, speed))


def _gradient_update(work: KerasWork, mine: Variables) -> Update:
    """Return the optimiser's step. Loss scaling is refused: its scale depends on gradients that shards don't see."""
    if mine.scales_loss:
        raise ArgumentError(bad("fit", "average", "gradient", "another value for an optimizer that scales the loss"))
    gradients = [np.zeros_like(w) for w in mine.shared()["weights"][: mine.trained]]
    return Update(work.update, mine.slots(), {"gradients": gradients, **mine.untrained()})


def names_of(recipe: Recipe, some: tuple[Values, ...], state: Any, own: Any) -> Names:
    """Return the names of training's logs, by training a copy on some rows; its state is discarded."""
    with borrow_replica(recipe) as copy:
        copy.variables.put(state, own)
        copy.model.reset_metrics()
        backend().find_metrics(copy.model, some)  # builds the metrics
        apart = copy.apart(some)
        copy.model.reset_metrics()
        return copy.counters.names(plain_logs(backend().find_metrics(copy.model, some)), apart)


def batch_seconds(recipe: Recipe, rows: tuple[Values, ...], state: Any, own: Any) -> float:
    """Return the seconds that a batch of all rows takes: the least of three measurements of many batches."""
    with borrow_replica(recipe) as copy:

        def time_batches(count: int) -> float:
            begin = time.perf_counter()
            blocks = np.zeros(count, np.int64)
            copy.train(lambda: copy.variables.put(state, own), rows, len(rows[0]), blocks, None)
            return time.perf_counter() - begin

        count = FEW
        time_batches(count)  # compiles
        if time_batches(count) < ENOUGH:  # most of the time would be the call's overhead
            count = MANY
            time_batches(count)
        return min(time_batches(count) for _ in range(3)) / count


def _is_lost(epoch: int, logs: dict[str, float]) -> bool:
    """Tell whether the loss isn't finite any more, and warn."""
    lost = not np.isfinite(logs.get("loss", 0.0))
    if lost:
        text = f"fit: the loss of epoch {epoch + 1} is {logs['loss']}; look for NaN among the rows, or lower the rate"
        warn(text, RuntimeWarning)
    return lost


def _warn_of_apart(names: tuple[str, ...]) -> None:
    if names:
        text = (
            f"fit: what the metric {names[0]!r} keeps doesn't add up over shards; what is told of it is the mean of "
            "the shards' values"
        )
        warn(text)
