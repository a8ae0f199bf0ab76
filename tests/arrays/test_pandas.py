"""pandas' masks and groups may be lazy arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import windrow as wr

pd = pytest.importorskip("pandas")


def put(frame, mask):
    made = frame.copy()
    made.loc[mask] = 0
    return made


CASES = {
    "getitem": lambda df, mask, group: df[mask],
    "loc": lambda df, mask, group: df.loc[mask],
    "loc_column": lambda df, mask, group: df.loc[mask, "b"],
    "iloc": lambda df, mask, group: df.iloc[mask],
    "series": lambda df, mask, group: df.b[mask],
    "index": lambda df, mask, group: df.index[mask],
    "set": lambda df, mask, group: put(df, mask),
    "groupby": lambda df, mask, group: df.groupby(group).b.sum(),
    "groupby_two": lambda df, mask, group: df.groupby([group, "a"]).b.sum(),
    "series_groupby": lambda df, mask, group: df.b.groupby(group).mean(),
}


def check(name):
    """Compare with what comes of NumPy's arrays."""
    frame = pd.DataFrame({"a": np.arange(6) % 2, "b": np.arange(6.0)}, index=list("abcdef"))
    lazy = wr.from_array(np.arange(6), chunks=4)
    expected = CASES[name](frame, np.arange(6) > 3, np.arange(6) % 3)
    assert CASES[name](frame, lazy > 3, lazy % 3).equals(expected)


@pytest.mark.parametrize("name", CASES)
def test_masks_and_groups(name):
    check(name)


@pytest.mark.parametrize("name", ["iloc", "loc", "groupby"])
def test_the_first_one_of_a_process(launch, name):
    """What stands before pandas' functions is put there by the first call, in time for it."""
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_pandas as t; t.check({name!r})"
    )
    ended = launch(0, "-c", program)
    assert ended.status == 0, ended.err


def test_a_mask_of_another_length():
    with pytest.raises(IndexError, match="wrong length: 3 instead of 6"):
        pd.Series(range(6))[wr.arange(3, chunks=2) > 1]
