"""The base class of searches: training rungs of trials, and the attributes and methods of a fitted search."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import KW_ONLY, asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.validation import check_is_fitted

from ...arrays.base import as_array
from ...arrays.execution.compute import compute
from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, BadValue, InWords, WindrowError, bad
from ...scheduler.session.cluster import session
from ...workers.public_api import warn
from ..fitted import METHODS, check_instance, of_model, tags_of
from ..rows import labels_as, labels_of
from .folds import cut, join_test_blocks, make_fold
from .journal import Journal
from .learners import PartialFit
from .results import TrialEntry, best_of, cv_results
from .scoring import Scoring
from .trials import FoldMetrics, Trials, begin_trial, read_model

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Rung", "Search"]


@dataclass(frozen=True)
class Rung:
    """Candidates to be trained up to a number of epochs, side by side."""

    candidates: list[int]
    epochs: int
    bracket: int = 0
    iteration: int = 0


Plan = Generator[Rung, list[float], None]
"""Yields rungs; is sent the value of each candidate after a rung."""


@dataclass(eq=False, repr=False)
class Search(MetaEstimatorMixin, BaseEstimator):
    """Base class of the searches."""

    estimator: Any
    _: KW_ONLY
    scoring: Any = "score"
    cv: int | None = None
    test_size: float = 0.2
    shards: int = 1
    shuffle: bool = True
    seed: int = 0
    threshold: float | None = None
    refit: bool | str = True
    resume: Any = None
    batch_size: int = 32
    error_score: Any = np.nan
    _columns: ClassVar[tuple[str, ...]] = ("iter", "n_resources")
    _one_line: ClassVar = False
    """Whether the table has one row for each candidate, of its last rung, instead of one for each rung."""

    def _make_plan(self, operation: str) -> tuple[list[dict[str, Any]], Plan]:
        """Return the candidates and the plan of rungs."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, *, validation_data: tuple[Any, Any] | None = None) -> Self:
        """Search.

        Parameters
        ----------
        X, y : array
            A row for each sample.
        validation_data : tuple of array, optional
            (X, y) to test on. Then all rows are trained on, and `cv` and `test_size` are ignored.

        Returns
        -------
        self
            With `cv_results_`, `best_params_` and others; with `refit`, with `best_estimator_`.

        Raises
        ------
        ArgumentError
            A parameter of the search has a value that isn't accepted, or the estimator has no `partial_fit` or no such
            parameters.
        ShapeError
            `X` isn't 2-D, or `y` doesn't have one entry for each row.
        BadValue
            All trials failed, or `y` has values that can't be labels of classes.
        """
        operation = f"{type(self).__name__}.fit"
        self._check(operation)
        self._scoring = Scoring.of(operation, self.scoring, self.refit, keras=not hasattr(self.estimator, "get_params"))
        candidates, plan = self._make_plan(operation)
        y = as_array(operation, "y", labels_as(y))
        X = as_array(operation, "X", X)
        learner, labels = self._learner(operation, X, y)
        for params in candidates:
            learner.check(operation, "parameters", params)
        folds, every = cut(
            operation,
            X,
            y,
            cv=self.cv,
            test_size=self.test_size,
            shards=self.shards,
            shuffle=self.shuffle,
            seed=self.seed,
            labels=labels if self.shuffle else None,
            tabular=learner.tabular,
        )
        if validation_data is not None:
            folds = make_fold(operation, every, *validation_data, tabular=learner.tabular)
        if learner.whole:
            folds = [join_test_blocks(fold) for fold in folds]

        def run() -> list[TrialEntry]:
            journal = self._journal(operation, X, y, candidates)
            return _Rungs(self, operation, learner, folds, candidates, journal).run(plan)

        entries = session().once(operation, (X.expr.token, y.expr.token), run)
        _warn_of_failures(operation, entries, self.error_score)
        self._set_results(entries, candidates, len(folds))
        if self.refit:
            self._refit(learner, every)
        return self

    def _check(self, operation: str) -> None:
        wrong = isinstance(self.error_score, bool) or not isinstance(self.error_score, int | float | np.number)
        if wrong and self.error_score != "raise":
            raise ArgumentError(bad(operation, "error_score", self.error_score, "a number or 'raise'"))
        for name in ("shards", "seed"):
            value = getattr(self, name)
            least = 0 if name == "seed" else 1
            check_integer(operation, name, value, least)
        if self.threshold is not None and not isinstance(self.threshold, int | float):
            raise ArgumentError(bad(operation, "threshold", self.threshold, "a number"))

    def _learner(self, operation: str, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the learner, and the labels of all rows if it is a classifier."""
        if not hasattr(self.estimator, "get_params"):
            from .models import KerasBuilder

            return KerasBuilder.of(operation, self.estimator, self.batch_size, self.seed, X, y), None
        check_instance(operation, self.estimator)
        scorers = self._scoring.scorers.items()
        if y.ndim != 1:
            raise ArgumentError(bad(operation, "y", InWords(f"an array of {y.ndim} axes"), "one value for each row"))
        if not is_classifier(self.estimator):
            return PartialFit.of(operation, self.estimator, None, False, self.seed, scorers), None
        classes = labels_of(operation, y)
        # A scoring function of a dict gets the loss, too, if the classifier has one.
        criterion = self._scoring.criterion
        loss = criterion == "loss" or (callable(criterion) and hasattr(self.estimator, "predict_proba"))
        labels = np.asarray(y.compute())
        return PartialFit.of(operation, self.estimator, classes, loss, self.seed, scorers, labels), labels

    def _journal(self, operation: str, X: Any, y: Any, candidates: list[dict[str, Any]]) -> Journal:
        if self.resume is None:
            return Journal(operation, None, {})
        mine = {k: v for k, v in self.get_params(deep=False).items() if k not in ("resume", "refit", "estimator")}
        mine = {k: v for k, v in mine.items() if not k.startswith("param_")}
        sums = X.astype(np.float64).sum().compute()
        data = (X.shape, str(X.dtype), X.chunks, float(sums), y.shape, str(y.dtype))
        named = self.estimator.get_params() if hasattr(self.estimator, "get_params") else self.estimator
        what = {"search": type(self).__name__, "estimator": (type(self.estimator).__name__, named), "data": data}
        return Journal(operation, self.resume, what | mine | {"candidates": candidates})

    def _set_results(self, entries: list[TrialEntry], candidates: list[dict[str, Any]], splits: int) -> None:
        self.history_ = entries
        if self._one_line:
            entries = list({e.candidate: e for e in entries}.values())
            entries.sort(key=lambda e: e.candidate)
            entries = [TrialEntry(e.candidate, 0, 0, e.epochs, e.told, e.worth) for e in entries]
        several = tuple(self._scoring.scorers) if self._scoring.several else ()
        self.cv_results_ = cv_results(entries, candidates, self._columns, several, self.error_score)
        self.best_index_ = best_of(entries)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = entries[self.best_index_].mean
        self.best_epochs_ = entries[self.best_index_].epochs
        self.n_splits_ = splits
        self.multimetric_ = self._scoring.several

    def _refit(self, learner: Any, every: Any) -> None:
        begin, self._by = time.perf_counter(), learner

        def train() -> Any:
            first = begin_trial(learner.start(self.best_params_))
            trials = Trials(learner, [every], self.shards, self.seed)
            ((states,),), _ = trials.advance([[[first] * self.shards]], 0, self.best_epochs_)
            return read_model(states[0])

        self.best_estimator_ = learner.model(session().once("refit", (), train))
        self.refit_time_ = time.perf_counter() - begin

    def __getattr__(self, name: str) -> Any:
        if name in ("classes_", "n_features_in_"):
            return getattr(self._best(name), name)
        if name not in METHODS:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        getattr(self._best(name), name)  # a method that the estimator lacks is missing here, too
        model = self

        def call(X: Any) -> Any:
            check_is_fitted(model, "best_estimator_")
            return model._by.call_best(model.best_estimator_, name, X)

        return of_model(call)

    def _best(self, name: str) -> Any:
        if "best_estimator_" not in vars(self):
            if "cv_results_" in vars(self):
                raise AttributeError(f"{name}: the search was made with refit=False; expected refit=True")
            return self.estimator
        return self.best_estimator_

    def score(self, X: Any, y: Any) -> Any:
        """Return the score of the best estimator.

        Parameters
        ----------
        X : array of shape (rows, features)
            The rows to predict.
        y : array of shape (rows,)
            The true targets.

        Returns
        -------
        float
            The accuracy of a classifier, R² of a regressor; of a Keras model its loss and metrics, as its `evaluate`
            returns them.

        Raises
        ------
        NotFittedError
            Raised by scikit-learn: `fit` hasn't been called, or `refit` is False.
        ShapeError
            `X` has other features than the model was fitted to, or `y` doesn't have one entry for each row.
        """
        check_is_fitted(self, "best_estimator_")
        return self._by.score_best(self.best_estimator_, X, y)

    def __sklearn_tags__(self) -> Any:
        return tags_of(super().__sklearn_tags__(), self.estimator)


def _warn_of_failures(operation: str, entries: list[TrialEntry], error_score: Any) -> None:
    """Warn of trials that failed, as scikit-learn does; raise if all of them failed."""
    wrong = [e for e in entries if any(t.error for t in e.told)]
    if not wrong:
        return
    first = next(t.error for t in wrong[0].told if t.error)
    if len(wrong) == len(entries):
        expected = "parameters with which some trial succeeds"
        came = InWords(f"one of which all {len(entries)} trials failed: {first}")
        raise BadValue(bad(operation, "estimator", came, expected))
    text = f"{operation}: {len(wrong)} of {len(entries)} trials failed, and have the score {error_score}: {first}"
    warn(text, FitFailedWarning)


class _Rungs:
    """Trains rung after rung, or reads rungs from the folder."""

    def __init__(
        self,
        search: Search,
        operation: str,
        learner: Any,
        folds: list[Any],
        candidates: list[dict[str, Any]],
        journal: Journal,
    ) -> None:
        self.search, self.operation, self.learner = search, operation, learner
        self.candidates, self.journal = candidates, journal
        self.catches = search.error_score != "raise"
        self.trials = Trials(learner, folds, search.shards, search.seed, catches=self.catches)
        self.states: dict[int, tuple[int, list[list[Any]]]] = {}
        """For each candidate its epochs, and the state of a trial for each fold and shard."""
        self.failed: dict[int, list[FoldMetrics]] = {}
        """For each candidate that couldn't be built its metrics, which are the same in every rung."""
        self.spent: dict[int, list[tuple[float, float]]] = {}

    def run(self, plan: Plan) -> list[TrialEntry]:
        """Return the entries of all rungs."""
        entries: list[TrialEntry] = []
        scores: list[float] | None = None
        for number in range(1 << 30):
            try:
                rung = next(plan) if scores is None else plan.send(scores)
            except StopIteration:
                break
            known = self.journal.rung(number)
            if known is None:
                self._restore(number - 1, rung)
                metrics = self._train(rung)
                self._write(number, rung, metrics)
            else:
                metrics = [[FoldMetrics(**fold) for fold in trial] for trial in known["told"]]
            new_entries = [self._entry(rung, c, t) for c, t in zip(rung.candidates, metrics, strict=True)]
            entries += new_entries
            scores = [e.mean for e in new_entries]
            if self.search.threshold is not None and any(value >= self.search.threshold for value in scores):
                break
        return entries

    def _entry(self, rung: Rung, candidate: int, metrics: list[FoldMetrics]) -> TrialEntry:
        before = self.spent.get(candidate, [(0.0, 0.0)] * len(metrics))
        metrics = [
            replace(t, fit_time=t.fit_time + fit, score_time=t.score_time + test)
            for t, (fit, test) in zip(metrics, before, strict=True)
        ]
        self.spent[candidate] = [(t.fit_time, t.score_time) for t in metrics]
        params = self.candidates[candidate]
        scoring = self.search._scoring
        values = [
            float(self.search.error_score) if t.error else scoring.value_of(self.operation, t, params, rung.epochs)
            for t in metrics
        ]
        return TrialEntry(candidate, rung.bracket, rung.iteration, rung.epochs, metrics, values)

    def _train(self, rung: Rung) -> list[list[FoldMetrics]]:
        for candidate in [c for c in rung.candidates if c not in self.states and c not in self.failed]:
            try:
                first = begin_trial(self.learner.start(self.candidates[candidate]))
            except WindrowError:  # an error that all trials would have
                raise
            except Exception as error:
                if not self.catches:
                    raise
                self.failed[candidate] = [FoldMetrics.of_failed(error)] * len(self.trials.folds)
            else:
                self.states[candidate] = 0, [[first] * self.search.shards for _ in self.trials.folds]
        self.states = {c: self.states[c] for c in rung.candidates if c in self.states}
        metrics = dict(self.failed)
        for begin in sorted({epochs for epochs, _ in self.states.values()}):
            some = [c for c, (epochs, _) in self.states.items() if epochs == begin]
            trained, tests = self.trials.advance([self.states[c][1] for c in some], begin, rung.epochs)
            self.states.update((c, (rung.epochs, states)) for c, states in zip(some, trained, strict=True))
            metrics.update(zip(some, tests, strict=True))
        return [metrics[c] for c in rung.candidates]

    # ---------------------------------------------------------------- the folder

    def _write(self, number: int, rung: Rung, metrics: list[list[FoldMetrics]]) -> None:
        if self.journal.folder is None:
            return
        arrays: dict[str, Any] = {}
        for candidate, (_, folds) in self.states.items():
            for fold, shards in enumerate(folds):
                for shard, state in enumerate(shards):
                    leaves = None if state.exception() else self.learner.arrays(read_model(state))
                    for leaf, value in enumerate(leaves or ()):
                        arrays[f"{candidate}.{fold}.{shard}.{leaf}"] = value
        lines = [[asdict(fold) for fold in trial] for trial in metrics]
        self.journal.enter(number, {"candidates": rung.candidates, "epochs": rung.epochs, "told": lines}, arrays)

    def _restore(self, number: int, rung: Rung) -> None:
        """Read the models of the previous rung from the folder, for candidates that have none in memory."""
        wanted = [c for c in rung.candidates if c not in self.states]
        known = self.journal.rung(number) if wanted and number >= 0 else None
        if known is None:
            return
        arrays = self.journal.models(number)
        X, y = self.trials.folds[0].steps[0][0]
        some = compute(X[:64], y[:64])
        for candidate in wanted:
            models = [
                [
                    self._restore_model(arrays, f"{candidate}.{fold}.{shard}.", candidate, some)
                    for shard in range(self.trials.shards)
                ]
                for fold in range(len(self.trials.folds))
            ]
            if candidate in known["candidates"] and all(m is not None for fold in models for m in fold):
                self.states[candidate] = known["epochs"], [[begin_trial(m) for m in fold] for fold in models]

    def _restore_model(self, arrays: dict[str, Any], head: str, candidate: int, rows: Any) -> Any:
        count = sum(name.startswith(head) for name in arrays)
        if not count:
            return None
        leaves = [arrays[f"{head}{leaf}"] for leaf in range(count)]
        return self.learner.restore(self.candidates[candidate], leaves, *rows)
