"""Sorting, sets, searching, quantiles."""

from __future__ import annotations

from .distinct import unique, unique_all, unique_counts, unique_inverse, unique_values
from .quantiles import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
from .search import digitize, isin, searchsorted
from .sets import intersect1d, setdiff1d, setxor1d, union1d
from .sorts import argpartition, argsort, lexsort, partition, sort, sort_complex
from .top import argtopk, topk

__all__ = [
    "argpartition",
    "argsort",
    "argtopk",
    "digitize",
    "intersect1d",
    "isin",
    "lexsort",
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "partition",
    "percentile",
    "quantile",
    "searchsorted",
    "setdiff1d",
    "setxor1d",
    "sort",
    "sort_complex",
    "topk",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
