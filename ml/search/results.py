"""Results of a search in scikit-learn's form: `cv_results_` and the best entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .trials import FoldMetrics

__all__ = ["TrialEntry", "best_of", "cv_results"]

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TrialEntry:
    """The result of a trial after some epochs.

    Attributes
    ----------
    candidate, bracket, iteration : int
    epochs : int
        Epochs of training in total.
    told : list of FoldMetrics
        Metrics of each fold; times are those of all its epochs.
    worth : list of float
        The value of each fold.
    """

    candidate: int
    bracket: int
    iteration: int
    epochs: int
    told: list[FoldMetrics]
    worth: list[float]

    @property
    def mean(self) -> float:
        """The mean value over folds."""
        return float(np.mean(self.worth))


def cv_results(
    entries: list[TrialEntry],
    candidates: list[dict[str, Any]],
    more: tuple[str, ...],
    several: tuple[str, ...] = (),
    error_score: float = np.nan,
) -> dict[str, Any]:
    """Return the table with a row for each entry; `more` are the names of further columns.

    `several` are the names of scores, if there is more than one; failed trials have `error_score`.
    """
    results: dict[str, Any] = {}
    for name in ("fit_time", "score_time"):
        times = np.array([[getattr(t, name) for t in e.told] for e in entries])
        results[f"mean_{name}"], results[f"std_{name}"] = times.mean(axis=1), times.std(axis=1)
    params = [candidates[e.candidate] for e in entries]
    for name in sorted({name for p in params for name in p}):
        column: Any = np.ma.MaskedArray(np.empty(len(entries), object), mask=True)
        for line, p in enumerate(params):
            if name in p:
                column[line] = p[name]
        results[f"param_{name}"] = column
    results["params"] = params
    tables = {"score": [e.worth for e in entries]}
    if several:
        tables = {n: [[t.scores.get(n, error_score) for t in e.told] for e in entries] for n in several}
    for name, table in tables.items():
        scores = np.array(table, np.float64)
        for fold in range(scores.shape[1]):
            results[f"split{fold}_test_{name}"] = scores[:, fold]
        results[f"mean_test_{name}"], results[f"std_test_{name}"] = scores.mean(axis=1), scores.std(axis=1)
        results[f"rank_test_{name}"] = _ranks(scores.mean(axis=1))
    columns = {
        "iter": [e.iteration for e in entries],
        "n_resources": [e.epochs for e in entries],
        "bracket": [e.bracket for e in entries],
        "candidate": [e.candidate for e in entries],
    }
    return results | {name: np.array(columns[name]) for name in more}


def _ranks(scores: Values) -> Values:
    """Return ranks from 1; equal values share the first rank, NaN comes last."""
    kept = np.where(np.isnan(scores), -np.inf, scores)
    return np.array([1 + int((kept > score).sum()) for score in kept], np.int32)


def best_of(entries: list[TrialEntry]) -> int:
    """Return the number of the best entry among the last iterations of the brackets; the first of equals."""
    last = {e.bracket: e.iteration for e in entries}
    finals = [i for i, e in enumerate(entries) if e.iteration == last[e.bracket]]
    return max(finals, key=lambda i: (-np.inf if np.isnan(entries[i].mean) else entries[i].mean, -i))
