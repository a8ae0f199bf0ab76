"""Metrics of a model over all rows: their states are added up over blocks and shards.

The mean of a metric over blocks isn't the metric of all rows, except for plain means. Keras's own metrics keep sums (of
values and weights, or confusion counts) and compute results from them, so the sum of two states is the state of both
sets of rows. Keras relies on this, too, when it trains on several devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Counters", "Names", "plain", "plain_logs"]

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Names:
    """The names of a model's logs, and how their values are combined over blocks of rows.

    Attributes
    ----------
    all : tuple of str
        All names, in Keras's order.
    means : tuple of str
        Those whose means over rows are taken: they come from a user's `train_step` or `test_step` and not from a
        metric, or from a metric whose states don't add up.
    sums : int
        The number of numbers in all metrics' states.
    apart : tuple of str
        Metrics whose states don't add up.
    """

    all: tuple[str, ...]
    means: tuple[str, ...]
    sums: int
    apart: tuple[str, ...] = ()


class Counters:
    """The states of a model's metrics, as an array of numbers that add up."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._fresh: Values | None = None

    @property
    def built(self) -> bool:
        """Whether the metrics have seen a batch; before that they have no results."""
        return all(getattr(metric, "built", True) for metric in self.model.metrics)

    def names(self, logs: dict[str, Any], apart: tuple[str, ...] = ()) -> Names:
        """Return the names of a step's logs; the metrics must be as the step left them."""
        known = self.model.get_metrics_result()
        means = [n for n in logs if n not in known]
        if means:  # a step of the user's may return something else under a metric's name
            means = [n for n in logs if n not in known or not np.array_equal(logs[n], known[n], equal_nan=True)]
        means += [n for n in apart if n in logs and n not in means]
        return Names(tuple(self.order(logs)), tuple(means), self.sums().size, apart)

    def order(self, logs: dict[str, Any]) -> dict[str, Any]:
        """Return a step's logs in the order of the metrics; compiled functions return them in alphabetical order."""
        names = [n for n in self.model.get_metrics_result() if n in logs]
        return {n: logs[n] for n in names} | logs

    def sums(self) -> Values:
        """Return the states of the metrics, minus those after a reset."""
        counts = _numbers(self.model.metrics_variables)
        if self._fresh is None or self._fresh.size != counts.size:
            self.model.reset_metrics()
            self._fresh = _numbers(self.model.metrics_variables)
            self._write(counts)
        return counts - self._fresh

    def read_metrics(self, sums: Values) -> dict[str, Any]:
        """Return the results of the metrics for these sums of states."""
        self.sums()
        assert self._fresh is not None
        self._write(self._fresh + sums)
        return plain_logs(self.model.get_metrics_result())

    def of_users(self) -> Iterator[Any]:
        """Yield the metrics whose classes are the user's; only Keras's own are known to add up."""
        for metric in self.model.metrics:
            for one in getattr(metric, "metrics", None) or [metric]:
                if type(one).__module__.partition(".")[0] != "keras":
                    yield one

    def apart(self, test: Callable[[int, int], Any], rows: int) -> tuple[str, ...]:
        """Return the names of metrics whose states don't add up, by a trial on some rows.

        `test(begin, end)` evaluates a range of these rows; all of them in two batches.
        """
        metrics = list(self.of_users())
        if not metrics:
            return ()
        states = []
        for begin, end in ((0, 0), (0, rows // 2), (rows // 2, rows), (0, rows)):
            self.model.reset_metrics()
            if end > begin:
                test(begin, end)
            states.append([_numbers(m.variables) for m in metrics])
        names = []
        for metric, fresh, one, other, whole in zip(metrics, *states, strict=True):
            summed = all(getattr(v, "aggregation", "sum") == "sum" for v in metric.variables)
            if not summed or not np.allclose(one + other - fresh, whole, rtol=1e-4, atol=1e-5, equal_nan=True):
                names.append(metric.name)
        return tuple(names)

    def _write(self, numbers: Values) -> None:
        begin = 0
        for variable in self.model.metrics_variables:
            size = int(np.prod(variable.shape, dtype=np.int64))
            variable.assign(numbers[begin : begin + size].reshape(variable.shape).astype(str(variable.dtype)))
            begin += size


def _numbers(variables: Any) -> Values:
    return np.concatenate([*(np.array(v, np.float64).ravel() for v in variables), np.zeros(0)])


def plain_logs(logs: dict[str, Any]) -> dict[str, Any]:
    """Return a step's logs as numbers; nested dicts are flattened, as in Keras's `fit`."""
    flat_logs: dict[str, Any] = {}
    for name, value in logs.items():
        flat_logs |= plain_logs(value) if isinstance(value, dict) else {name: plain(value)}
    return flat_logs


def plain(value: Any) -> Any:
    """Return one number as a float, several as an array."""
    array = np.asarray(value)
    return float(array) if array.ndim == 0 else array
