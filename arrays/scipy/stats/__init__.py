"""SciPy's statistics of samples in chunks: `windrow.stats`."""

from __future__ import annotations

from .hypotheses import (
    chisquare,
    f_oneway,
    jarque_bera,
    linregress,
    pearsonr,
    power_divergence,
    ttest_1samp,
    ttest_ind,
    ttest_rel,
)
from .means import entropy, gmean, gstd, gzscore, hmean, iqr, pmean, zmap, zscore
from .shapes import describe, kurtosis, moment, sem, skew, variation

__all__ = [
    "chisquare",
    "describe",
    "entropy",
    "f_oneway",
    "gmean",
    "gstd",
    "gzscore",
    "hmean",
    "iqr",
    "jarque_bera",
    "kurtosis",
    "linregress",
    "moment",
    "pearsonr",
    "pmean",
    "power_divergence",
    "sem",
    "skew",
    "ttest_1samp",
    "ttest_ind",
    "ttest_rel",
    "variation",
    "zmap",
    "zscore",
]
