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


def set_values(frame, key, value):
    made = frame.copy()
    made[key] = value
    return made


def set_at(frame, mask, value):
    made = frame.copy()
    made.iloc[mask, 1] = -1
    made.loc[mask, "a"] = value
    return made


CASES |= {
    "setitem_mask": lambda df, mask, group: set_values(df, mask, 0),
    "setitem_column": lambda df, mask, group: set_values(df, "c", group),
    "setitem_at": lambda df, mask, group: set_at(df, mask, group[:2]),
    "assign": lambda df, mask, group: df.assign(c=group),
    "set_index": lambda df, mask, group: df.set_index(group),
    "set_index_two": lambda df, mask, group: df.set_index([group, mask]),
    "isin": lambda df, mask, group: df.b.isin(group),
    "frame_isin": lambda df, mask, group: df.isin({"b": group}),
    "query_in": lambda df, mask, group: df.query("b in @group"),
    "query": lambda df, mask, group: df.query("b > @group"),
    "map": lambda df, mask, group: df.a.map({0: 5, 1: group[2]}),
    "replace": lambda df, mask, group: df.b.replace(group[:2], group[1:3]),
    "pivot_table": lambda df, mask, group: df.pivot_table(index=group, values="b"),
    "add": lambda df, mask, group: df.b + group,
    "add_first": lambda df, mask, group: group + df.b,
    "frame_add": lambda df, mask, group: df[["b"]] + group[:, None],
    "frame_compare": lambda df, mask, group: df[["b"]] > group[:, None],
    "series_made": lambda df, mask, group: pd.Series(group, index=group),
    "frame_made": lambda df, mask, group: pd.DataFrame({"a": group, "b": mask}),
    "index": lambda df, mask, group: pd.Index(group),
    "categorical": lambda df, mask, group: pd.Series(pd.Categorical(group)),
    "levels": lambda df, mask, group: pd.MultiIndex.from_arrays([group, mask]),
    "cut": lambda df, mask, group: pd.Series(pd.cut(group, 3)),
    "bins": lambda df, mask, group: pd.cut(df.b, group[:3]),
    "factorize": lambda df, mask, group: pd.Series(pd.factorize(group)[0]),
    "unique": lambda df, mask, group: pd.Series(pd.unique(group)),
    "where": lambda df, mask, group: df.b.where(mask, group),
    "dates": lambda df, mask, group: pd.Series(pd.date_range(group[0].astype("M8[D]"), periods=3)),
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


@pytest.mark.parametrize("name", ["iloc", "loc", "groupby", "isin", "set_index"])
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
