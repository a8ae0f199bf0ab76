"""Searches for parameters over partial training on lazy arrays: `wr.ml.search`.

`GridSearch`, `RandomSearch`, `HalvingSearch` and `Hyperband` are estimators like scikit-learn's searches, for data
that may be larger than a rank. They train what learns chunk by chunk: estimators with `partial_fit`, or Keras models
that a function builds. What must see all rows at once is searched for by scikit-learn's own classes on the joblib
backend "windrow".

How it is done:

* Rows are shuffled once and cut into blocks; folds, or the rows held out, are whole blocks. The training of a trial is
  a chain of tasks, each for some of the training blocks, and each takes the model that the one before has left on its
  rank. Many chains side by side keep the ranks busy, blocks are read where they lie, and what a dead rank takes with it
  is computed again. The resource that halving deals out is epochs.
* A trial runs on one rank at a time; with `shards=` on as many tasks side by side, averaged after each epoch.
* Rungs are synchronous. Asynchronous halving keeps ranks busier at a rung's end, but what it promotes depends on
  which trial ended first; here the same seed gives the same table on any ranks, after any kill.
* Between rungs no trial is in training, so a rung is where a search may be stopped and gone on with.
"""

from ...workers.public_api import publish
from .searches import GridSearch, HalvingSearch, Hyperband, RandomSearch

__all__ = ["GridSearch", "HalvingSearch", "Hyperband", "RandomSearch"]


publish(__name__)
