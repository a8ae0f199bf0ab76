"""The value by which trials are compared: score, loss, time, or a function of them. Greater is better."""

from __future__ import annotations

import difflib
import inspect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.metrics import get_scorer, get_scorer_names

from ...graph.errors import ArgumentError, InWords, bad

if TYPE_CHECKING:
    from .trials import FoldMetrics

__all__ = ["Scoring"]

OWN = ("score", "loss", "time")


@dataclass(frozen=True)
class Scoring:
    """The meaning of the argument `scoring`.

    Attributes
    ----------
    criterion : str or callable
        "score", "loss" or "time", the name of one of `scorers` or of a Keras model's metric, or a function of a dict.
    scorers : dict of str to callable
        Scikit-learn's scorers: `scorer(estimator, X, y)`.
    several : bool
        Whether each of them has columns of its own in the table.
    """

    criterion: Any
    scorers: dict[str, Any]
    several: bool = False

    @classmethod
    def of(cls, operation: str, scoring: Any, refit: Any, *, keras: bool) -> Scoring:
        """Read the argument; raise if it has no meaning."""
        if isinstance(scoring, str) and (scoring in OWN or keras):
            return cls(scoring, {})
        if isinstance(scoring, list | tuple | set) and scoring and all(isinstance(n, str) for n in scoring):
            scoring = {name: name for name in scoring}
        if isinstance(scoring, dict) and scoring and not keras:
            if not isinstance(refit, str) or refit not in scoring:
                expected = f"the name of the score by which trials are compared, of {sorted(map(str, scoring))}"
                raise ArgumentError(bad(operation, "refit", refit, expected))
            return cls(refit, {n: _scorer(operation, one) for n, one in scoring.items()}, several=True)
        if callable(scoring) and _of_dict(scoring):
            return cls(scoring, {})
        if (isinstance(scoring, str) or callable(scoring)) and not keras:
            return cls("scoring", {"scoring": _scorer(operation, scoring)})
        expected = "'score', 'loss', 'time', " + (
            "the name of a metric" if keras else "scikit-learn's names or scorers"
        )
        raise ArgumentError(bad(operation, "scoring", scoring, f"{expected}, or a function of a dict"))

    def value_of(self, operation: str, metrics: FoldMetrics, params: dict[str, Any], epochs: int) -> float:
        """Return the value of one fold of a trial; losses and times are negated."""
        if not callable(self.criterion):
            own = {"score": metrics.score, "loss": -metrics.loss, "time": -metrics.fit_time}
            if self.criterion in own and self.criterion not in self.scorers:
                return own[self.criterion]
            name = str(self.criterion)
            if name in metrics.scores:
                return metrics.scores[name]
            if name.removeprefix("neg_") in metrics.scores:
                return -metrics.scores[name.removeprefix("neg_")]
            expected = f"'score', 'loss', 'time' or a metric of the model: {sorted(metrics.scores)}"
            raise ArgumentError(bad(operation, "scoring", name, expected))
        known = {"score": metrics.score, "loss": metrics.loss, "time": metrics.fit_time, **metrics.scores}
        score: Any = self.criterion(known | {"epochs": epochs, "params": dict(params)})
        try:
            return float(score)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                bad(operation, "scoring", InWords(f"a function that returned {score!r}"), "one that returns a number")
            ) from error


def _scorer(operation: str, scoring: Any) -> Any:
    if callable(scoring):
        return scoring
    try:
        return get_scorer(scoring)
    except ValueError as error:
        names = difflib.get_close_matches(str(scoring), get_scorer_names(), 3) or ["accuracy", "r2", "neg_log_loss"]
        expected = f"'score', 'loss', 'time', a function, or a name that scikit-learn knows, such as {names}"
        raise ArgumentError(bad(operation, "scoring", scoring, expected)) from error


def _of_dict(function: Any) -> bool:
    """Tell whether a function takes one dict, and not (estimator, X, y)."""
    if hasattr(function, "_score_func"):
        return False
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(needed) < 2


def better_first(scores: list[float]) -> list[int]:
    """Return positions in descending order of value; equal values keep their order, NaN comes last."""
    return sorted(
        range(len(scores)), key=lambda i: (math.isnan(scores[i]), -scores[i] if scores[i] == scores[i] else 0, i)
    )
