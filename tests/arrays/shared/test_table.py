"""Tables: a dictionary's manners over whole arrays of keys, versions for tasks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.arrays.shared import tables
from windrow.workers.shared.pages.lookup import Direct, Sorted

KEYS = {
    "dense": st.integers(-5, 30),
    "wide": st.integers(-(2**62), 2**62),
    "texts": st.text("abcé", min_size=0, max_size=6).map(lambda s: s.rstrip("\0")),
    "bytes": st.binary(max_size=3).map(lambda s: s.rstrip(b"\0")),
}


def make(kind, keys):
    """An array of keys, which may be empty."""
    return np.array(keys, {"texts": "U6", "bytes": "S3"}.get(kind, np.int64))


@pytest.mark.parametrize("kind", KEYS)
@given(data=st.data())
def test_against_a_dictionary(kind, data):
    begin = data.draw(st.lists(KEYS[kind], unique=True, max_size=20))
    width = data.draw(st.sampled_from([(), (2,)]))
    expected = {key: np.full(width, float(i)) for i, key in enumerate(begin)}
    table = wr.shared.Table(make(kind, begin), np.array(list(expected.values())).reshape(len(begin), *width))
    for _ in range(data.draw(st.integers(0, 6))):
        keys = data.draw(st.lists(KEYS[kind], max_size=10))
        values = np.arange(1.0, len(keys) + 1).reshape(len(keys), *(1 for _ in width))
        if data.draw(st.booleans()):
            table.put(make(kind, keys), values)
            expected.update((key, np.full(width, float(v.item()))) for key, v in zip(keys, values, strict=True))
        else:
            table.add(make(kind, keys), values)
            for key, v in zip(keys, values, strict=True):
                expected[key] = expected.get(key, np.zeros(width)) + v
    assert len(table) == len(expected)
    assert set(table.keys().tolist()) == set(expected)
    asked = make(kind, [*expected, *data.draw(st.lists(KEYS[kind], max_size=5))])
    wanted = [expected.get(key, np.full(width, -1.0)) for key in asked.tolist()]
    np.testing.assert_array_equal(table.get(asked, default=-1), np.array(wanted).reshape(len(asked), *width))
    if len(asked):
        lazy = table.get(wr.from_array(asked, chunks=3), default=-1)
        np.testing.assert_array_equal(lazy.compute(), np.array(wanted).reshape(len(asked), *width))
        assert asked[0].item() in table or asked[0].item() not in expected


def test_new_keys_are_merged_and_make_room(monkeypatch):
    monkeypatch.setattr(tables, "FEW", 10)
    table = wr.shared.Table(np.array([5, 3]), np.array([50, 30]))
    for k in range(0, 1000, 7):
        table.add(np.array([k, 3]), np.array([k, 1]))
    assert isinstance(table._index, Sorted)
    table.put(np.arange(1000, 2000), 0)
    assert isinstance(table._index, Direct)
    np.testing.assert_array_equal(table.get(np.arange(7, 1000, 7)), np.arange(7, 1000, 7))
    assert table.get(3) == 30 + 143
    assert table[5] == 50
    texts = wr.shared.Table(["b", "a"], [2, 1])
    for k in range(100):
        texts.put([f"{k}", "a"], [k, -k])
    assert isinstance(texts._index, Sorted)
    np.testing.assert_array_equal(texts.get([f"{k}" for k in range(100)]), np.arange(100))
    assert texts.get(["a", "a long one"], default=0).tolist() == [-99, 0]


def test_tasks_look_up_the_version_they_were_made_with_and_add():
    table = wr.shared.Table(["a", "b"], [1.0, 2.0])
    words = wr.from_array(np.array(["a", "b", "a", "b"]), chunks=2)
    before = table.get(words)
    table.put("a", 10)
    np.testing.assert_array_equal(before.compute(), [1, 2, 1, 2])

    def count(block):
        table.add(block, 1)
        return table.get(block) + table["b"]

    np.testing.assert_array_equal(wr.map_blocks(count, words, dtype=float).compute(), [12, 4, 12, 4])
    np.testing.assert_array_equal(table.get(["a", "b"]), [12, 4])
    assert "a" in table
    assert "c" not in table


def test_what_tasks_add_reaches_a_table_that_has_grown(monkeypatch):
    monkeypatch.setattr(tables, "FEW", 2)
    table = wr.shared.Table([1, 2], [0, 0])

    def count(block):
        table.add(block, 1)
        return block

    lazy = wr.map_blocks(count, wr.from_array(np.array([1, 2, 1]), chunks=1), dtype=int)
    table.put(np.arange(3, 50), 7)
    lazy.compute()
    np.testing.assert_array_equal(table.get([1, 2, 3]), [2, 1, 7])


def test_missing_keys():
    table = wr.shared.Table([10, 20], [[1, 2], [3, 4]])
    assert table.get(99, default=0).tolist() == [0, 0]
    assert table.get([[10], [99]], default=-1).tolist() == [[[1, 2]], [[-1, -1]]]
    with pytest.raises(KeyError, match="99"):
        table.get([10, 99])
    lazy = table.get(wr.from_array(np.array([[10], [99]]), chunks=1))
    assert lazy.shape == (2, 1, 2)
    with pytest.raises(KeyError, match="99"):
        lazy.compute()


def test_bad_input_is_refused_at_the_call():
    with pytest.raises(wr.BadValue, match="Table: argument 'keys' has 3 twice"):
        wr.shared.Table([3, 1, 3], [1, 2, 3])
    with pytest.raises(wr.ShapeError, match=r"Table: argument 'rows' has shape \(2,\); expected a row for each of 3"):
        wr.shared.Table([3, 1, 2], [1, 2])
    with pytest.raises(wr.ArgumentError, match="Table: argument 'keys' is of shape"):
        wr.shared.Table([1.5], [1])
    for keys in (["a", 1], [1, "a"], [b"a", "a"]):
        with pytest.raises(wr.ArgumentError, match=r"Table: argument 'keys' is .*; expected texts alone"):
            wr.shared.Table(keys, [1, 2])
    with pytest.raises(wr.ArgumentError, match="get: argument 'keys' is 1; expected texts alone"):
        wr.shared.Table(["1"], [1]).get(["1", 1])
    with pytest.raises(wr.ArgumentError, match=r"Table: argument 'rows' is .* no Python objects"):
        wr.shared.Table([1], [object()])
    table = wr.shared.Table([3, 1], [1.0, 2.0])
    for lazy in (["a"], wr.from_array(np.array(["a"]))):
        with pytest.raises(wr.ArgumentError, match="get: argument 'keys' has dtype <U1; expected integers"):
            table.get(lazy)
    with pytest.raises(wr.BadValue, match="put: argument 'rows' has shape"):
        table.put([1, 3], [1, 2, 3])
    with pytest.raises(wr.ArgumentError, match="Table: argument 'page'"):
        wr.shared.Table([3, 1], [1.0, 2.0], page=0)
    for default in ("x", 1j, None):
        with pytest.raises(wr.DTypeError, match="get: argument 'default' has dtype"):
            table.get(99, default=default)
    with pytest.raises(wr.BadValue, match="get: argument 'default' has shape"):
        table.get(wr.asarray([99]), default=[1.0, 2.0])
    with pytest.raises(wr.DTypeError, match="get: argument 'default' has dtype float64; expected one that fits int64"):
        wr.shared.Table([1], [1]).get(2, default=0.5)


def test_keys_beyond_int64_are_refused():
    large = np.array([2**63], "u8")
    with pytest.raises(
        wr.ArgumentError, match="Table: argument 'keys' has 9223372036854775808; expected integers that"
    ):
        wr.shared.Table(large, [1])
    table = wr.shared.Table([-(2**63), 2**63 - 1], [1, 2])
    with pytest.raises(wr.ArgumentError, match="get: argument 'keys' has 9223372036854775808"):
        table.get(large)
    assert table.get(np.array([2**63 - 1], "u8")).tolist() == [2]


def test_iterating_goes_through_keys():
    table = wr.shared.Table([3, 1], [0.5, 1.5])
    table.put(7, 0.0)
    assert list(table) == [1, 3, 7]
    assert list(wr.shared.Table(["b", "a"], [0, 1])) == ["a", "b"]
