"""Searches for parameters over partial training on lazy arrays: `wr.ml.search`.

`GridSearch`, `RandomSearch`, `HalvingSearch` and `Hyperband` are estimators like scikit-learn's searches, for data
that may be larger than the memory of a rank. They train models chunk by chunk: estimators with `partial_fit`, or Keras
models that a function builds. For estimators that must see all rows at once, use scikit-learn's own searches on the
joblib backend "windrow".

How it is done:

* Rows are shuffled once and cut into blocks; folds, or the rows held out, are whole blocks. The training of a trial is
  a chain of tasks, each for some of the training blocks; each task takes the model that the one before has left on its
  rank. Many chains side by side keep the ranks busy. Each task reads its blocks where they lie. What is lost when a
  rank dies is computed again. The resource of successive halving is epochs.
* A trial runs on one rank at a time; with `shards=` on as many tasks side by side, averaged after each epoch.
* Rungs are synchronous. Asynchronous halving keeps ranks busier at the end of a rung, but which trials it promotes
  depends on which one ended first. Here the same seed gives the same table on any ranks, after any death.
* Between rungs no trial is in training, so a search can be resumed after each rung.
"""

from ...arrays.interop.spaces import publish_space
from .searches import GridSearch, HalvingSearch, Hyperband, RandomSearch

__all__ = ["GridSearch", "HalvingSearch", "Hyperband", "RandomSearch"]


publish_space(__name__, "ml.search")
