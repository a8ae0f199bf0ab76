"""Texts as values, and records: fields that are set, records that are compared and sorted by fields; beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windrow as wr

TEXTS = np.array(["a", "f8", "ccc", "b"])
DTYPE = np.dtype([("f0", "i4"), ("f1", "f8"), ("t", "U2"), ("pair", "i2", (2,))])
RECORDS = np.array([(1, 2.5, "b", (1, 2)), (3, -1.0, "a", (3, 4)), (1, 0.0, "b", (1, 2))], DTYPE)


def _set(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


def _after(x: Any, _: Any) -> Any:
    return x


OF_TEXTS: dict[str, Any] = {
    "select": lambda m, x: m.select([x == "a"], [x], "other"),
    "select of a dtype's name": lambda m, x: m.select([x == "a"], [x], "f8"),
    "select of a text": lambda m, x: m.select([x == "a"], ["f8"], x),
    "select of texts": lambda m, x: m.select([x == "a", x == "b"], ["one", "three"], "i4"),
    "where": lambda m, x: m.where(x == "a", "f8", x),
    "where of texts": lambda m, x: m.where(x == "a", "i8", "longer"),
    "isin": lambda m, x: m.isin(x, "a"),
    "isin of one": lambda m, x: m.isin("f8", x),
    "append": lambda m, x: m.append(x, "longer"),
    "append of a dtype's name": lambda m, x: m.append(x, "f8"),
    "insert": lambda m, x: m.insert(x, 1, "longer"),
    "insert of many": lambda m, x: m.insert(x, [1, 2], "f8"),
    "searchsorted": lambda m, x: m.searchsorted(m.sort(x), "b"),
    "x.searchsorted": lambda m, x: m.sort(x).searchsorted("f8"),
    "piecewise": lambda m, x: m.piecewise(x, [x == "a"], ["f8", "zz"]),
    "full": lambda m, x: m.full(3, "f8"),
    "full_like": lambda m, x: m.full_like(x, "f8"),
    "asarray": lambda m, x: m.asarray("f8"),
    "equal": lambda m, x: x == "f8",
    "less": lambda m, x: x < "f8",
    "setitem": lambda m, x: _set(x, 0, "f8"),
    "setitem by a mask": lambda m, x: _set(x, x == "a", "f8"),
    "pad": lambda m, x: m.pad(x, 1, constant_values="f8"),
    "put": lambda m, x: _after(x, m.put(x, [0], "f8")),
    "place": lambda m, x: _after(x, m.place(x, x == "a", "f8")),
    "putmask": lambda m, x: _after(x, m.putmask(x, x == "a", "f8")),
    "copyto": lambda m, x: _after(x, m.copyto(x, "f8")),
    "fill": lambda m, x: _after(x, x.fill("f8")),
    "broadcast_to": lambda m, x: m.broadcast_to("f8", (2,)),
    "tile": lambda m, x: m.tile("f8", 2),
    "repeat": lambda m, x: m.repeat("f8", 2),
    "setdiff1d": lambda m, x: m.setdiff1d(x, "f8"),
    "union1d": lambda m, x: m.union1d(x, "f9"),
    "array_equal": lambda m, x: m.array_equal(x, "f8"),
}
OF_RECORDS: dict[str, Any] = {
    "equal": lambda m, r: r == r[::-1],
    "equal to one": lambda m, r: r == RECORDS[0],
    "equal to NumPy's": lambda m, r: r == RECORDS,
    "not equal": lambda m, r: r != r[::-1],
    "equal to those without order": lambda m, r: r[["f0", "f1"]] == RECORDS[["f0", "f1"]],
    "sort": lambda m, r: m.sort(r, order="f1"),
    "sort by several": lambda m, r: m.sort(r, order=["t", "f1"]),
    "sort by the last": lambda m, r: m.sort(r[["f0", "t"]], order=("t",)),
    "argsort": lambda m, r: m.argsort(r, order="f1"),
    "x.sort": lambda m, r: _after(r, r.sort(order="t")),
    "x.argsort": lambda m, r: r.argsort(order=["f0", "f1"]),
    "field": lambda m, r: _set(r, "f0", 1),
    "field of an array": lambda m, r: _set(r, "f1", np.array([1, 2, 3])),
    "field of another": lambda m, r: _set(r, "f1", r["f0"] * 2),
    "field of texts": lambda m, r: _set(r, "t", "xyz"),
    "field with axes": lambda m, r: _set(r, "pair", [7, 8]),
    "field with axes of one": lambda m, r: _set(r, "pair", r["f0"][:, None]),
    "fields": lambda m, r: _set(r, ["f0", "f1"], r[["f0", "f1"]][::-1]),
    "fields of one": lambda m, r: _set(r, ["f0", "f1"], (7, 8.0)),
    "field in place": lambda m, r: _set(r, "f0", r["f0"] + 1),
    "record": lambda m, r: _set(r, 0, (9, 9.0, "z", (1, 1))),
}
REFUSED: dict[str, tuple[Any, type[Exception]]] = {
    "no such field": (lambda m, r: _set(r, "nope", 1), (IndexError, ValueError)),  # type: ignore[dict-item]
    "no fields": (lambda m, r: _set(r["f0"], "f0", 1), IndexError),
    "too large a number": (lambda m, r: _set(r, "f0", 2**40), OverflowError),
    "no number": (lambda m, r: _set(r, "f0", "x"), ValueError),
    "another shape": (lambda m, r: _set(r, "f0", [1, 2]), ValueError),
    "order of no field": (lambda m, r: m.sort(r, order="nope"), ValueError),
    "order of a field twice": (lambda m, r: m.sort(r, order=["f0", "f0"]), ValueError),
    "order that is no name": (lambda m, r: m.sort(r, order=3), ValueError),
    "order without fields": (lambda m, r: m.sort(r["f0"], order="f0"), ValueError),
}


def _check(expected: Any, found: Any) -> None:
    computed = np.asarray(found.compute() if isinstance(found, wr.Array) else found)
    expected = np.asarray(expected)
    assert computed.dtype == expected.dtype
    assert computed.shape == expected.shape
    assert (computed == expected).all()


@pytest.mark.parametrize("name", OF_TEXTS)
def test_texts_are_values(name: str) -> None:
    case = OF_TEXTS[name]
    _check(case(np, TEXTS.copy()), case(wr, wr.from_array(TEXTS, chunks=2)))


@pytest.mark.parametrize("name", OF_RECORDS)
def test_records(name: str) -> None:
    case = OF_RECORDS[name]
    for chunks in (1, 2, 3):
        _check(case(np, RECORDS.copy()), case(wr, wr.from_array(RECORDS, chunks=chunks)))


@pytest.mark.parametrize("name", REFUSED)
def test_what_records_refuse(name: str) -> None:
    case, error = REFUSED[name]
    with pytest.raises(error):
        case(np, RECORDS.copy())
    with pytest.raises(error) as caught:
        case(wr, wr.from_array(RECORDS, chunks=2))
    assert isinstance(caught.value, wr.WindrowError)


def test_records_of_several_axes() -> None:
    table = np.arange(6).astype([("a", "i4"), ("b", "f4", (2, 2))]).reshape(2, 3)
    x = wr.from_array(table, chunks=(1, 2))
    x["b"], table["b"] = np.arange(4).reshape(2, 2), np.arange(4).reshape(2, 2)
    x["a"], table["a"] = wr.arange(3), np.arange(3)
    _check(table, x)
    assert (x == table).all().compute()
    x[0, 1], table[0, 1] = x[0, 0], table[0, 0]
    _check(table, x)


def test_many_records_are_sorted_by_fields_in_chunks() -> None:
    random = np.random.default_rng(0)
    records = np.empty(150_000, [("a", "i4"), ("b", "u1"), ("c", "f4")])
    records["a"], records["b"] = random.integers(0, 9, 150_000), random.integers(0, 9, 150_000)
    records["c"] = random.random(150_000)
    x = wr.from_array(records, chunks=20_000)
    for order in ("c", ["b", "c"]):
        _check(np.sort(records, order=order), wr.sort(x, order=order))
        _check(np.argsort(records, order=order, kind="stable"), x.argsort(order=order))


def test_setting_elements_of_a_field_sets_those_of_the_records() -> None:
    x = wr.from_array(RECORDS, chunks=2)
    x["f0"][0] = 7
    assert x["f0"].tolist() == [7, 3, 1]
    part = x[1:]["f0"]
    part += 1
    assert x["f0"].tolist() == [7, 4, 2]


WORDS = np.array([["Ab c", "  xY", "zz9"], ["", "é ß", "q-W"]])


@pytest.mark.parametrize("kind", ["U", "S"])
def test_functions_of_texts_with_a_known_width(kind):
    texts = WORDS if kind == "U" else np.char.encode(np.where(WORDS == "é ß", "e s", WORDS), "ascii")
    x, strings = wr.from_array(texts, chunks=(1, 2)), np.strings
    star, table = ("*", {97: 98}) if kind == "U" else (b"*", bytes(range(1, 256)) + b"a")
    calls = [(getattr(strings, name), ()) for name in ("upper", "lower", "swapcase", "capitalize", "title")]
    calls += [(function, (9, star)) for function in (strings.center, strings.ljust, strings.rjust)]
    calls += [(strings.zfill, (7,)), (strings.center, (4,)), (strings.translate, (table,))]
    for function, args in calls:
        found, expected = function(x, *args), function(texts, *args)
        assert isinstance(found, wr.Array)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.compute(), expected)
    for function, args in [(strings.ljust, (3,)), (strings.zfill, ([4, 5, 6],))]:
        with pytest.raises(wr.ArgumentError, match=f"{function.__name__}: argument 'width' is"):
            function(x, *args)
    with pytest.raises(wr.ArgumentError, match=r"replace doesn.t .*how wide its results are depends on the texts"):
        strings.replace(x, star, star)


def test_text_equals_no_bytes_and_no_number():
    text, raw, numbers = WORDS, np.array([b"zz9", b"a", b""]), np.arange(3)
    x = wr.from_array(text, chunks=(1, 2))
    for other in (b"zz9", 3, 2.5, True, raw, numbers, wr.from_array(raw, chunks=2), wr.from_array(numbers, chunks=1)):
        plain = other.compute() if isinstance(other, wr.Array) else other
        np.testing.assert_array_equal((x == other).compute(), text == plain)
        np.testing.assert_array_equal((x != other).compute(), text != plain)
    assert not (wr.from_array(raw) == "zz9").any()
    with pytest.raises(wr.ShapeError):
        x == wr.from_array(np.arange(4))  # noqa: B015
