"""Training any model on the chunks: `windrow.ml.train`, with a step of the user's own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.user_functions.travel.pickling import name_of, payload
from ...graph.arguments import check_flag, check_integer
from ...graph.errors import ArgumentError, DTypeError, InWords, WindrowError, bad
from ...workers.public_api import publish
from ...workers.shared.shared_objects import as_ranks_see
from .asynchronous import STALENESS
from .averages import Averaging
from .batching import FIRST, find_batch_size
from .loop import History, Trainable, run_epochs, start_rounds
from .progress import Progress
from .shards import cut_shards
from .shuffling import order_of
from .state import StateLayout, map_leaves
from .tasks import NEW, Round, RoundMetrics, Update

if TYPE_CHECKING:
    from collections.abc import Callable

    from .shards import Shards

__all__ = ["train"]

Values = np.ndarray[Any, Any]
ENOUGH = 0.03
"""Seconds for which a batch size is measured."""


def train(
    step: Callable[..., Any],
    state: Any,
    X: Any,
    y: Any = None,
    *,
    epochs: int = 1,
    average: str | int | tuple[str, int] = "epoch",
    batch_size: int | str = 32,
    shards: int | None = None,
    shuffle: bool = True,
    seed: int = 0,
    staleness: int = STALENESS,
    outer_momentum: float = 0.0,
    outer_learning_rate: float = 1.0,
    outer_nesterov: bool = False,
    update: Callable[[Any, Any], Any] | None = None,
    callback: Callable[[int, Any, dict[str, float]], Any] | None = None,
    verbose: bool = True,
) -> tuple[Any, History]:
    """Train any model on the chunks: a step of the user's on batches of each shard, states averaged.

    Parameters
    ----------
    step : callable
        `step(state, X, y) -> state` or `(state, metrics)`: takes a batch of rows as NumPy arrays (without y where there
        is none), returns the new state and means over the batch, such as {"loss": 0.5}: the same names each time. It
        may use any library, and may write into the arrays that it is given. It is called once ahead, on the driver,
        to see what it gives.
    state : array, or nested dict, list, tuple or dataclass of arrays
        At the start; whatever `numpy.asarray` takes will do. Floats are averaged by the rows that each shard saw; of
        integers the greatest is taken. Each array keeps its shape and dtype.
    X, y : array
        A row for each sample: Windrow arrays, or others, which are cut into shards. `y` may be left out.
    epochs : int
        Passes over all rows.
    average : {"epoch", "batch", "gradient", "async"}, int or ("async", int)
        When states are averaged: after each epoch, each batch, or so many batches. "gradient": `step` returns a
        gradient (arrays in any nesting) in the place of a state, or (gradient, metrics); gradients are averaged over
        the shards by rows at each batch (integers as float64), and `update` makes the new state of the mean, in one
        place.
        "async": no shard waits for another; 16 times in each of its epochs (after so many of its batches) it adds its
        change, by its share of the rows, to the state that all share, and goes on from there. When all keep step that
        comes to averaging as often.
    batch_size : int or "auto"
        Rows of a batch; the last one of a shard may have fewer. "auto": doubled from 32 as long as that gives at least
        15 % more rows a second, as memory suffices, and so that a shard makes 16 steps an epoch. It is measured on the
        driver and told by `history.batch_size`; to get the same state again, give that number.
    shards : int, optional
        None: the number of ranks (of threads, on the embedded engine). At most one for each row.
    shuffle : bool
        Whether rows are shuffled over all shards at first, and within shards in each epoch.
    seed : int
        The same seed and number of shards give the same state to the bit on any ranks; not with "async", where it
        depends on who comes first.
    staleness : int
        With "async": how many rounds a shard may be ahead of the slowest (Ho et al., 2013).
    outer_momentum : float
        Momentum of the averages, each of which is a step of the state's floats from what they were before (BMUF; Chen
        and Huo, 2016). It wants a short period: over whole epochs it tends to oscillate.
    outer_learning_rate : float
        Of these steps: by how much of the way to the average they go.
    outer_nesterov : bool
        Whether they are Nesterov's: each shard goes on from where the momentum will lead.
    update : callable, optional
        With "gradient": `update(state, gradient) -> state`, called once for each batch. What an optimiser keeps is part
        of the state.
    callback : callable, optional
        `callback(epoch, state, metrics)` after each epoch; training ends early when it returns True. With "async" an
        epoch is over when every shard has done it; some may be further.
    verbose : bool
        Whether long training shows a progress bar; at a terminal only, unless `config.progress` says otherwise.

    Returns
    -------
    state : array, or nested dict, list, tuple or dataclass of arrays
        As it came in, of NumPy arrays: the average over the shards after the last epoch.
    history : History
        What the step told, by epochs.

    Raises
    ------
    ArgumentError
        An argument is none of what it may be; `step` can't be pickled, or gives a state of another structure, or other
        metrics than at first.
    ShapeError
        `y` hasn't a row for each of X's, or `step` gives arrays of other shapes than the state's.
    DTypeError
        A metric is no number.
    Exception
        What the step raises.

    Notes
    -----
    The state depends on the rows, `shards`, `seed` and `batch_size`, not on chunks, ranks or their schedule; with
    "async" it does depend on these.

    References
    ----------
    Asynchronous: J. Dean et al.: Large scale distributed deep networks, NIPS (2012). S. Zhang, A. Choromanska,
    Y. LeCun: Deep learning with elastic averaging SGD, NIPS (2015). Q. Ho et al.: More effective distributed ML via a
    stale synchronous parallel parameter server, NIPS (2013).

    >>> import numpy as np
    >>> import windrow as wr
    >>> from windrow.ml import train
    >>> def step(w, X, y):
    ...     off = X @ w - y
    ...     return w - 0.1 * X.T @ off / len(y), {"loss": float((off**2).mean())}
    >>> X = wr.random.default_rng(1).normal(size=(4000, 2), chunks=(1000, 2))
    >>> w, history = train(step, np.zeros(2), X, X[:, 0] * 2 - X[:, 1], epochs=3, shards=2)
    >>> w.round(3)
    array([ 2., -1.])
    """
    auto = isinstance(batch_size, str) and batch_size == "auto"
    for name, value in (("epochs", epochs), ("batch_size", 1 if auto else batch_size)):
        check_integer("train", name, value, 1, expected="" if name == "epochs" else "an integer from 1 on, or 'auto'")
    seed = check_integer("train", "seed", seed, 0)
    check_flag("train", "shuffle", shuffle)
    for name, function in (("step", step), ("callback", callback)):
        if not callable(function) and (name == "step" or function is not None):
            raise ArgumentError(bad("train", name, function, "a function"))
    StateLayout.of(state)  # what is wrong with these is told before rows are moved
    payload("train", step, (), {})
    averaging = Averaging("train", average, outer_momentum, outer_learning_rate, outer_nesterov)
    if (averaging.kind == "gradient") != (update is not None) or not (update is None or callable(update)):
        raise ArgumentError(bad("train", "update", update, "a function with average='gradient', else None"))
    with Progress("train", epochs, shown=verbose) as progress:
        parts = cut_shards("train", [X] if y is None else [X, y], shards, shuffle, int(seed))
        progress.rows = sum(parts.sizes)
        names, zero, size = _try(step, update, state, parts, None if auto else int(batch_size))
        batches = max(-(-n // size) for n in parts.sizes)
        work = StepWork(step, size, averaging.period(batches), shuffle, names, update)
        model = UserModel(
            work=work,
            state=state,
            means=names or (),
            update=Update(work.update, (), zero) if update else averaging.outer(state),
            epochs=range(epochs),
            count=averaging.rounds(batches),
            progress=progress,
            history=History(batch_size=size),
            callback=callback,
        )
        start_rounds(model, parts, averaging, int(seed), staleness)
        run_epochs(model)
        return model.rounds.state, model.history


def _try(
    step: Callable[..., Any], update: Callable[[Any, Any], Any] | None, state: Any, parts: Shards, size: int | None
) -> tuple[tuple[str, ...] | None, Any, int]:
    """Return the names of what a step tells, zeros such as its gradient, and a batch's rows: `size`, or as measured.

    Copies of the state, and of what the functions hold, are gone when it returns.
    """
    step, update = as_ranks_see((step, update))
    trial = _Trial(step, update, state)
    names, zero = trial.run(parts.first(size or FIRST))
    return names, zero, size or find_batch_size("train", parts, trial.seconds)


@dataclass(frozen=True)
class StepWork:
    """Runs a user's step over the batches of one round.

    Attributes
    ----------
    step : callable
    size, period : int
        Rows of a batch, batches of a round.
    shuffle : bool
    names : tuple of str, optional
        Of what the step tells; None where it tells nothing.
    change : callable, optional
        The user's update, where the step gives gradients.
    """

    step: Callable[..., Any]
    size: int
    period: int
    shuffle: bool
    names: tuple[str, ...] | None
    change: Callable[[Any, Any], Any] | None = None

    @property
    def name(self) -> str:
        """The step's, by which messages speak of a round."""
        return name_of(self.step)

    def __call__(self, state: Any, own: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        count = len(rows[0])
        begin, end = at.number * self.period * self.size, min((at.number + 1) * self.period * self.size, count)
        if begin >= end:
            return state if self.change is None else None, own, RoundMetrics(0.0)
        order = order_of(at, count) if self.shuffle else np.arange(count)
        sums = dict.fromkeys(self.names or (), 0.0)
        for lo in range(begin, end, self.size):
            mine = order[lo : min(lo + self.size, end)]
            try:
                state, metrics = self._call_step(state, *(np.take(r, mine, axis=0) for r in rows))
            except Exception as error:
                error.add_note(f"in batch {lo // self.size} of the shard")
                raise
            for name, value in metrics.items():
                sums[name] += value * len(mine)
        return state, own, RoundMetrics(float(end - begin), {n: v / (end - begin) for n, v in sums.items()})

    def _call_step(self, state: Any, *batch: Values) -> tuple[Any, dict[str, float]]:
        """Return what a step makes of a batch: a state, or a gradient, and what it tells."""
        returned = self.step(state, *batch)
        if self.names is None:
            return returned, {}
        if not isinstance(returned, tuple) or len(returned) != 2:
            came = InWords(f"of type {type(returned).__name__}")
            raise ArgumentError(bad("train", "result of step", came, "(state, metrics), as before"))
        return returned[0], _numbers(returned[1], self.names)

    def update(self, state: Any, slots: Any, mean: Any) -> tuple[Any, Any]:
        """Return the state that follows from the mean of the gradients."""
        assert self.change is not None
        return self.change(state, mean), slots


@dataclass(kw_only=True, eq=False, repr=False)
class UserModel(Trainable):
    """Trains a state by a user's step; `callback` is called after each epoch."""

    callback: Callable[..., Any] | None

    def score(self, epoch: int, metrics: RoundMetrics) -> dict[str, float]:
        """See `Trainable`."""
        return metrics.means

    def end(self, epoch: int, scores: dict[str, float]) -> bool:
        """See `Trainable`."""
        if self.callback is None:
            return False
        self.progress.hide()
        return bool(self.callback(epoch, self.rounds.state, dict(scores)))


class _Trial:
    """Steps on the driver ahead of the training, which show what a step gives and how long it takes.

    What they give is dropped.
    """

    def __init__(self, step: Callable[..., Any], update: Callable[[Any, Any], Any] | None, state: Any) -> None:
        self._step, self._update = step, update
        self._layout = StateLayout.of(state)
        self._packed = self._layout.pack(state)

    def run(self, rows: tuple[Values, ...]) -> tuple[tuple[str, ...] | None, Any]:
        """Return the names of what a step tells (None: nothing), and zeros such as its gradient, where it gives one."""
        layout, update = self._layout, self._update
        returned = self._step(layout.unpack(self._packed), *rows)
        tells = self._is_with_metrics(returned)
        new, zero = (returned[0] if tells else returned), None
        if update is not None:
            gradients = StateLayout.of(map_leaves(_as_float, "", StateLayout.of(new).zeros()))
            zero = gradients.zeros()
            new = update(layout.unpack(self._packed), gradients.unpack(gradients.pack(new)))
        layout.pack(new, name=NEW)
        if not tells:
            return None, zero
        metrics = returned[1]
        if not isinstance(metrics, dict):
            raise ArgumentError(bad("train", "metrics of step", metrics, "a dict of numbers, such as {'loss': 0.5}"))
        if "rows" in metrics or not all(isinstance(name, str) for name in metrics):
            raise ArgumentError(bad("train", "metrics of step", list(metrics), "names as strings, none of them 'rows'"))
        return tuple(_numbers(metrics, tuple(metrics))), zero

    def _is_with_metrics(self, returned: Any) -> bool:
        """Tell whether a step gave metrics beside a state or a gradient, which may be a pair itself."""
        if not isinstance(returned, tuple) or len(returned) != 2:
            return False
        named = isinstance(returned[1], dict)
        if self._update is not None:
            return named
        return (named or _is(self._layout, returned[0])) and not _is(self._layout, returned)

    def seconds(self, rows: tuple[Values, ...]) -> float:
        """Return how long a step on some rows takes at least."""
        best, begin = np.inf, time.perf_counter()
        while time.perf_counter() - begin < ENOUGH:
            mine, copies = self._layout.unpack(self._packed), [r.copy() for r in rows]
            at = time.perf_counter()
            self._step(mine, *copies)
            best = min(best, time.perf_counter() - at)
        return float(best)


def _as_float(_: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array of a gradient; integers as floats, since the mean of these would be the greatest."""
    return array.astype(np.float64) if array.dtype.kind in "biu" else array


def _is(layout: StateLayout, value: Any) -> bool:
    """Tell whether something is a state of a layout."""
    try:
        layout.pack(value)
    except WindrowError:
        return False
    return True


def _numbers(metrics: Any, names: tuple[str, ...]) -> dict[str, float]:
    if not isinstance(metrics, dict) or metrics.keys() != set(names):
        came = sorted(map(str, metrics)) if isinstance(metrics, dict) else type(metrics).__name__
        raise ArgumentError(bad("train", "metrics of step", came, f"{sorted(names)}, as with the first batch"))
    numbers = {}
    for name, value in metrics.items():
        try:
            numbers[name] = float(value)
        except (TypeError, ValueError) as error:
            raise DTypeError(bad("train", f"metrics of step[{name!r}]", value, "a number")) from error
    return numbers


publish(__name__)
