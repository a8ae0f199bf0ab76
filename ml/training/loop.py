"""Training any model on the chunks: `windrow.ml.train`, with a step of the user's own."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.execution.compute import compute
from ...arrays.user_functions.travel.pickling import payload
from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, DTypeError, WindrowError, bad
from ...scheduler.session.cluster import session
from ...workers.public_api import publish
from ...workers.shared.shared_objects import as_ranks_see
from ..averaging.tasks import NEW, Round, RoundMetrics, Update
from .asynchronous import PUSHES, STALENESS, Asynchronous
from .batching import FIRST, double_batch, most_rows
from .outer import check_outer, outer_update
from .progress import Progress
from .rounds import Rounds
from .shards import Shards, cut_shards
from .shuffling import order_of
from .state import StateLayout, map_leaves

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["History", "Round", "Rounds", "train"]

Values = np.ndarray[Any, Any]
ENOUGH = 0.03
"""Seconds for which a batch size is measured."""


@dataclass
class History:
    """What training told after each epoch.

    Parameters
    ----------
    epoch : list of int
        The numbers of the epochs, from 0.
    history : dict of str to list of float
        Means over rows of what the step tells, such as "loss": a number for each epoch.
    batch_size : int or None
        Rows of a batch, where `train` knows of it.
    seconds : list of float
        That each epoch took.

    Raises
    ------
    ArgumentError
        There is no field of such a name.

    Notes
    -----
    `epoch` and `history` are as in Keras's History.

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> def step(w, X):
    ...     return w + X.mean(axis=0), {"size": float(abs(X).max())}
    >>> w, history = wr.ml.train(step, np.zeros(1), wr.ones((100, 1)), epochs=2, batch_size=50, shards=1)
    >>> history.epoch, history.history, history.batch_size, len(history.seconds)
    ([0, 1], {'size': [1.0, 1.0]}, 50, 2)
    """

    epoch: list[int] = field(default_factory=list)
    history: dict[str, list[float]] = field(default_factory=dict)
    batch_size: int | None = None
    seconds: list[float] = field(default_factory=list)

    def _named_by(self) -> tuple[Any, ...]:
        """Tell by what a function is named that holds this: clocks differ between ranks."""
        return self.epoch, self.history, self.batch_size


def add_epoch(history: History, epoch: int, values: dict[str, float], seconds: float) -> None:
    """Enter what an epoch told."""
    history.epoch.append(epoch)
    history.seconds.append(seconds)
    for name, value in values.items():
        history.history.setdefault(name, []).append(value)


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
        None: the number of ranks (of threads, on the embedded engine).
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

    Examples
    --------
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
    if not isinstance(shuffle, bool | np.bool_):
        raise ArgumentError(bad("train", "shuffle", shuffle, "True or False"))
    for name, function in (("step", step), ("callback", callback)):
        if not callable(function) and (name == "step" or function is not None):
            raise ArgumentError(bad("train", name, function, "a function"))
    StateLayout.of(state)  # what is wrong with these is told before rows are moved
    payload("train", step, (), {})
    period_of("train", average, 1)
    gradient = isinstance(average, str) and average == "gradient"
    if gradient != (update is not None) or not (update is None or callable(update)):
        raise ArgumentError(bad("train", "update", update, "a function with average='gradient', else None"))
    check_outer("train", average, outer_momentum, outer_learning_rate, outer_nesterov)
    with Progress("train", epochs, shown=verbose) as progress:
        parts = cut_shards("train", [X] if y is None else [X, y], shards, shuffle, int(seed))
        progress.rows = sum(parts.sizes)
        tried, changes = as_ranks_see((step, update))
        names, zero = _told(tried, state, parts, FIRST if auto else int(batch_size), changes)
        size = _measured(tried, state, parts) if auto else int(batch_size)
        batches = max(-(-n // size) for n in parts.sizes)
        period = min(period_of("train", average, batches), batches)
        work, count = _Batches(step, size, period, shuffle, names, zero), -(-batches // period)
        rounds: Rounds | Asynchronous
        if is_async(average):
            rounds = Asynchronous(work, state, (), parts, int(seed), names or (), range(epochs), count, staleness)
        else:
            after = outer_update(state, outer_momentum, outer_learning_rate, outer_nesterov)
            if update is not None:
                after = Update(_Apply(update), (), zero)
            rounds = Rounds(work, state, (), parts, int(seed), names or (), update=after)
        final_state, history = _epochs(rounds, epochs, count, progress, callback)
        history.batch_size = size
        return final_state, history


def _epochs(
    rounds: Rounds | Asynchronous, epochs: int, count: int, progress: Progress, callback: Callable[..., Any] | None
) -> tuple[Any, History]:
    history = History()
    with rounds:
        for epoch in range(epochs):
            begin = time.perf_counter()
            metrics = rounds.epoch(epoch, count, progress).means
            add_epoch(history, epoch, metrics, time.perf_counter() - begin)
            progress.epoch(epoch, metrics)
            if callback is None:
                continue
            progress.hide()
            if callback(epoch, rounds.state, dict(metrics)):
                break
    return rounds.state, history


def is_async(average: Any) -> bool:
    """Tell whether states are averaged without waiting."""
    return bool((average[0] if isinstance(average, tuple) and average else average) == "async")


def period_of(operation: str, average: Any, batches: int) -> int:
    """Return after how many batches states are averaged, of the most that a shard has in an epoch."""
    if isinstance(average, str) and average in ("epoch", "async"):
        return batches if average == "epoch" else -(-batches // PUSHES)
    if isinstance(average, str) and average in ("batch", "gradient"):
        return 1
    period: Any = average[1] if isinstance(average, tuple) and len(average) == 2 and average[0] == "async" else average
    expected = "'epoch', 'batch', 'gradient', 'async', a positive number of batches, or ('async', such a number)"
    return check_integer(operation, "average", period, 1, expected=expected)


def _told(
    step: Callable[..., Any], state: Any, shards: Shards, batch_size: int, update: Callable[[Any, Any], Any] | None
) -> tuple[tuple[str, ...] | None, Any]:
    """Return the names of what a step tells, None for nothing, and zeros such as its gradient, where it gives one.

    They are found by one step on a batch, whose result is dropped.
    """
    some = compute(*(a[: min(batch_size, shards.sizes[0])] for a in shards.arrays))
    layout = StateLayout.of(state)
    returned = step(layout.unpack(layout.pack(state)), *some)
    pair = isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict)
    tells = pair and (update is not None or not _is(layout, returned))
    new, zero = (returned[0] if tells else returned), None
    if update is not None:
        gradients = StateLayout.of(map_leaves(_as_float, "", _zeros(StateLayout.of(new))))
        zero = _zeros(gradients)
        new = update(layout.unpack(layout.pack(state)), gradients.unpack(gradients.pack(new)))
    layout.pack(new, name=NEW)
    if not tells:
        return None, zero
    if "rows" in returned[1] or not all(isinstance(name, str) for name in returned[1]):
        raise ArgumentError(bad("train", "metrics of step", list(returned[1]), "names as strings, none of them 'rows'"))
    return tuple(_numbers(returned[1], tuple(returned[1]))), zero


def _zeros(layout: StateLayout) -> Any:
    return layout.unpack(np.zeros(layout.size, np.uint8))


def _as_float(_: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array of a gradient; integers as floats, since the mean of these would be the greatest."""
    return array.astype(np.float64) if array.dtype.kind in "biu" else array


@dataclass(frozen=True)
class _Apply:
    """A user's update of the state."""

    update: Callable[[Any, Any], Any]

    def __call__(self, state: Any, kept: Any, gradient: Any) -> tuple[Any, Any]:
        return self.update(state, gradient), kept


def _measured(step: Callable[..., Any], state: Any, shards: Shards) -> int:
    """Return a batch size, by steps on the driver from the first state; what they give is dropped."""
    most, layout = session().once("train", (), lambda: most_rows(shards)), StateLayout.of(state)
    some = compute(*(a[: min(most, shards.sizes[0])] for a in shards.arrays))
    packed = layout.pack(state)

    def seconds(size: int) -> float:
        rows = [np.resize(r, (size, *r.shape[1:])) for r in some]
        best, begin = np.inf, time.perf_counter()
        while time.perf_counter() - begin < ENOUGH:
            mine, copies = layout.unpack(packed), [r.copy() for r in rows]
            at = time.perf_counter()
            step(mine, *copies)
            best = min(best, time.perf_counter() - at)
        return float(best)

    return int(session().once("train", (), lambda: double_batch(seconds, most)))


def _is(layout: StateLayout, found: Any) -> bool:
    """Tell whether something is a state of a layout: a pair of which one is a dict may be one."""
    try:
        layout.pack(found)
    except WindrowError:
        return False
    return True


def _numbers(told: Any, names: tuple[str, ...]) -> dict[str, float]:
    if not isinstance(told, dict) or told.keys() != set(names):
        came = sorted(map(str, told)) if isinstance(told, dict) else type(told).__name__
        raise ArgumentError(bad("train", "metrics of step", came, f"{sorted(names)}, as with the first batch"))
    numbers = {}
    for name, value in told.items():
        try:
            numbers[name] = float(value)
        except (TypeError, ValueError) as error:
            raise DTypeError(bad("train", f"metrics of step[{name!r}]", value, "a number")) from error
    return numbers


@dataclass(frozen=True)
class _Batches:
    """Runs a user's step over the batches of one round."""

    step: Callable[..., Any]
    size: int
    period: int
    shuffle: bool
    names: tuple[str, ...] | None
    zero: Any = None

    def __call__(self, state: Any, own: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        count = len(rows[0])
        begin, end = at.number * self.period * self.size, min((at.number + 1) * self.period * self.size, count)
        if begin >= end:
            return state if self.zero is None else self.zero, own, RoundMetrics(0.0)
        order = order_of(at, count) if self.shuffle else np.arange(count)
        sums = dict.fromkeys(self.names or (), 0.0)
        for lo in range(begin, end, self.size):
            mine = order[lo : min(lo + self.size, end)]
            state = self.step(state, *(np.take(r, mine, axis=0) for r in rows))
            if self.names is None:
                continue
            if not isinstance(state, tuple) or len(state) != 2:
                raise ArgumentError(bad("train", "result of step", type(state).__name__, "(state, metrics), as before"))
            state, metrics = state
            for name, value in _numbers(metrics, self.names).items():
                sums[name] += value * len(mine)
        return state, own, RoundMetrics(float(end - begin), {n: v / (end - begin) for n, v in sums.items()})


publish(__name__, ("History", "train"))
