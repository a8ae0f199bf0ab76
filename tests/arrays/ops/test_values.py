"""Single values that are put into arrays of a dtype: what NumPy makes of each, or the class of its error."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import windrow as wr

HUGE = (2**70,)
VALUES = (
    -1,
    300,
    2**70,
    float("inf"),
    float("nan"),
    1e40,
    1.5,
    True,
    np.int64(300),
    np.float64("nan"),
    np.float32("inf"),
    np.array(300),
)
DTYPES = ("u1", "i1", "i8", "?", "f4", "c8")


def _changed(change: Any) -> Any:
    """A case that writes into the array, whose elements are the outcome."""

    def case(m: Any, x: Any, v: Any) -> Any:
        change(m, x, v)
        return x

    return case


def _sets(key: Any) -> Any:
    return _changed(lambda m, x, v: x.__setitem__(key, v))


def _sets_masked(m: Any, x: Any, v: Any) -> Any:
    x[x == x[0]] = v
    return x


MASK = np.array([True, False, True, False])
CASES: dict[str, Any] = {
    "full": lambda m, x, v: m.full(3, v, dtype=x.dtype),
    "full of no dtype": lambda m, x, v: m.full(3, v),
    "full of a list": lambda m, x, v: m.full((2,), [v, 0], dtype=x.dtype),
    "full_like": lambda m, x, v: m.full_like(x, v),
    "full_like of a list": lambda m, x, v: m.full_like(x, [v, 0, 0, 0]),
    "full_like of another dtype": lambda m, x, v: m.full_like(np.zeros(2), v, dtype=x.dtype),
    "full_like of another shape": lambda m, x, v: m.full_like(x, v, shape=(2, 2)),
    "asarray": lambda m, x, v: m.asarray(v, dtype=x.dtype),
    "asarray of a list": lambda m, x, v: m.asarray([v, 1], dtype=x.dtype),
    "array of a list": lambda m, x, v: m.array([v, 1], dtype=x.dtype),
    "arange start": lambda m, x, v: m.arange(v, v + 2, dtype=x.dtype) if abs(v) < 1e3 else None,
    "arange stop": lambda m, x, v: m.arange(v, dtype=x.dtype) if abs(v) < 1e3 else None,
    "arange step": lambda m, x, v: m.arange(0, 2 * v, v, dtype=x.dtype) if abs(v) < 1e3 else None,
    "linspace": lambda m, x, v: m.linspace(0, v, 3, dtype=x.dtype) if abs(v) < 1e3 else None,
    "pad": lambda m, x, v: m.pad(x, 1, constant_values=v),
    "pad of a pair": lambda m, x, v: m.pad(x, 1, constant_values=(0, v)),
    "pad linear_ramp": lambda m, x, v: m.pad(x, 1, mode="linear_ramp", end_values=v),
    "insert": lambda m, x, v: m.insert(x, 1, v),
    "insert of many": lambda m, x, v: m.insert(x, [1, 2], v),
    "insert of a list": lambda m, x, v: m.insert(x, [1, 2], [v, 0]),
    "append": lambda m, x, v: m.append(x, v),
    "append of a list": lambda m, x, v: m.append(x, [v]),
    "concatenate": lambda m, x, v: m.concatenate([x, [v]]),
    "piecewise": lambda m, x, v: m.piecewise(x, [x == x, x != x], [v, 0]),
    "piecewise else": lambda m, x, v: m.piecewise(x, [x != x], [0, v]),
    "piecewise of a function": lambda m, x, v: m.piecewise(x, [x == x], [lambda _: v]),
    "fill_diagonal": _changed(lambda m, x, v: m.fill_diagonal(x, v)),
    "fill_diagonal of a list": _changed(lambda m, x, v: m.fill_diagonal(x, [v, 0])),
    "put": _changed(lambda m, x, v: m.put(x, [0, 2], v)),
    "put of a list": _changed(lambda m, x, v: m.put(x, [0, 2], [v, 0])),
    "x.put": _changed(lambda m, x, v: x.put([0, 2], v)),
    "put_along_axis": _changed(lambda m, x, v: m.put_along_axis(x, np.array([0, 2]), v, 0)),
    "place": _changed(lambda m, x, v: m.place(x, MASK, v)),
    "place of a list": _changed(lambda m, x, v: m.place(x, MASK, [v, 0])),
    "putmask": _changed(lambda m, x, v: m.putmask(x, MASK, v)),
    "putmask of a list": _changed(lambda m, x, v: m.putmask(x, MASK, [v, 0])),
    "copyto": _changed(lambda m, x, v: m.copyto(x, v)),
    "copyto unsafe": _changed(lambda m, x, v: m.copyto(x, v, casting="unsafe")),
    "copyto of a list": _changed(lambda m, x, v: m.copyto(x, [v], casting="unsafe")),
    "copyto where": _changed(lambda m, x, v: m.copyto(x, v, where=MASK)),
    "x.fill": _changed(lambda m, x, v: x.fill(v)),
    "ediff1d to_end": lambda m, x, v: m.ediff1d(x, to_end=v),
    "ediff1d to_begin": lambda m, x, v: m.ediff1d(x, to_begin=v),
    "diff prepend": lambda m, x, v: m.diff(x, prepend=v),
    "diff append": lambda m, x, v: m.diff(x, append=v),
    "sum initial": lambda m, x, v: m.sum(x, initial=v),
    "sum initial dtype": lambda m, x, v: m.sum(x, initial=v, dtype=x.dtype),
    "prod initial": lambda m, x, v: m.prod(x, initial=v),
    "min initial": lambda m, x, v: m.min(x, initial=v),
    "max initial": lambda m, x, v: m.max(x, initial=v),
    "x.max initial": lambda m, x, v: x.max(initial=v),
    "nansum initial": lambda m, x, v: m.nansum(x, initial=v),
    "nanprod initial": lambda m, x, v: m.nanprod(x, initial=v),
    "nanmin initial": lambda m, x, v: m.nanmin(x, initial=v),
    "nanmax initial": lambda m, x, v: m.nanmax(x, initial=v),
    "add.reduce initial": lambda m, x, v: m.add.reduce(x, initial=v),
    "maximum.reduce initial": lambda m, x, v: m.maximum.reduce(x, initial=v),
    "setitem": _sets(0),
    "setitem tuple": _sets((0,)),
    "setitem slice": _sets(slice(1, 3)),
    "setitem all": _sets(...),
    "setitem reversed": _sets(slice(None, None, -1)),
    "setitem positions": _sets([0, 2]),
    "setitem mask": _sets(MASK),
    "setitem lazy mask": _sets_masked,
    "setitem of a list": _changed(lambda m, x, v: x.__setitem__(slice(2), [v, 0])),
    "setitem flat": _changed(lambda m, x, v: x.flat.__setitem__(1, v)),
    "setitem flat slice": _changed(lambda m, x, v: x.flat.__setitem__(slice(2), v)),
    "where": lambda m, x, v: m.where(MASK, x, v),
    "where first": lambda m, x, v: m.where(MASK, v, x),
    "clip below": lambda m, x, v: m.clip(x, v, None),
    "clip above": lambda m, x, v: m.clip(x, None, v),
    "clip both": lambda m, x, v: m.clip(x, 0, v),
    "x.clip": lambda m, x, v: x.clip(0, v),
    "select": lambda m, x, v: m.select([MASK], [x], v),
    "select choice": lambda m, x, v: m.select([MASK, MASK], [v, x]),
    "choose": lambda m, x, v: m.choose(np.array([0, 1, 1, 0]), [x, v]),
    "nan_to_num": lambda m, x, v: m.nan_to_num(x, nan=v),
    "nan_to_num posinf": lambda m, x, v: m.nan_to_num(x, posinf=v, neginf=v),
    "searchsorted": lambda m, x, v: m.searchsorted(x, v),
    "digitize": lambda m, x, v: m.digitize(v, x),
    "isin": lambda m, x, v: m.isin(x, v),
    "isin of a list": lambda m, x, v: m.isin(x, [v]),
    "union1d": lambda m, x, v: m.union1d(x, [v]),
    "interp left": lambda m, x, v: m.interp(x, [0.0, 1.0], [2.0, 3.0], left=v, right=v),
    "add": lambda m, x, v: x + v,
    "radd": lambda m, x, v: v + x,
    "multiply": lambda m, x, v: m.multiply(x, v),
    "divide": lambda m, x, v: x / v,
    "floor_divide": lambda m, x, v: x // v,
    "power": lambda m, x, v: x**v,
    "maximum": lambda m, x, v: m.maximum(x, v),
    "minimum": lambda m, x, v: m.minimum(v, x),
    "fmax": lambda m, x, v: m.fmax(x, v),
    "hypot": lambda m, x, v: m.hypot(x, v),
    "arctan2": lambda m, x, v: m.arctan2(x, v),
    "copysign": lambda m, x, v: m.copysign(x, v),
    "and": lambda m, x, v: x & v,
    "shift": lambda m, x, v: x << v,
    "less": lambda m, x, v: x < v,
    "equal": lambda m, x, v: x == v,
    "not_equal": lambda m, x, v: v != x,
    "greater_equal": lambda m, x, v: m.greater_equal(x, v),
    "logical_and": lambda m, x, v: m.logical_and(x, v),
    "add in place": lambda m, x, v: x.__iadd__(v),
    "add out": _changed(lambda m, x, v: m.add(x, v, out=x)),
    "add dtype": lambda m, x, v: m.add(x, v, dtype=x.dtype),
    "add.at": _changed(lambda m, x, v: m.add.at(x, [0, 2], v)),
    "outer": lambda m, x, v: m.multiply.outer(x, v),
    "dot": lambda m, x, v: m.dot(x, v),
    "kron": lambda m, x, v: m.kron(x, v),
    "result_type": lambda m, x, v: np.empty(0, m.result_type(x, v)),
    "stack": lambda m, x, v: m.stack([x, m.full_like(x, v)]),
    "broadcast_to": lambda m, x, v: m.broadcast_to(v, (2,)),
    "heaviside": lambda m, x, v: m.heaviside(x, v),
    "polyval": lambda m, x, v: m.polyval([1, 2], x * 0 + m.asarray(1, dtype=x.dtype)),
}


REFUSED = ("where", "where first", "select choice", "ediff1d to_end", "ediff1d to_begin")
"""Where NumPy wraps Python's integers, or refuses all for their dtype, those that the dtype can't hold are refused."""

OBJECTS = (
    "add.at", "copyto of a list", "digitize", "isin", "isin of a list", "searchsorted", "union1d",
)  # fmt: skip
"""Where NumPy makes arrays of Python objects of integers beyond 64 bits."""


def _held(dtype: str, v: Any) -> Any:
    try:
        return np.asarray(v, dtype)
    except OverflowError as error:
        return error


def _called(case: Any, m: Any, dtype: str, v: Any, dims: int) -> Any:
    start = np.array([1, 0, 1, 1], dtype).reshape((2, 2) if dims == 2 else 4)
    try:
        return case(m, start if m is np else wr.from_array(start, chunks=2), v)
    except (OverflowError, ValueError, TypeError) as error:
        return error


def _computed(each: Any) -> Any:
    try:
        return each.compute() if isinstance(each, wr.Array) else each
    except (OverflowError, ValueError, TypeError) as error:
        return error


def _at_once(results: list[Any]) -> list[Any]:
    """Compute what is lazy: together, unless there are errors."""
    lazy = [each for each in results if isinstance(each, wr.Array)]
    try:
        computed = iter(wr.compute(*lazy))
        return [next(computed) if isinstance(each, wr.Array) else each for each in results]
    except (OverflowError, ValueError, TypeError):
        return [_computed(each) for each in results]


def _same(name: str, dtype: str, v: Any, a: Any, b: Any) -> bool:
    """Whether NumPy's outcome and Windrow's are the same; see `REFUSED` and `OBJECTS`."""
    if v in HUGE and dtype == "?" and isinstance(a, Exception):  # now one class, now another
        return isinstance(b, wr.WindrowError)
    wraps = name == "select choice" and isinstance(a, np.ndarray)  # in which Windrow follows NumPy
    if name in REFUSED and type(v) is int and dtype != "?" and not wraps:
        a = _held(dtype, v)
        return isinstance(b, wr.RangeError) if isinstance(a, OverflowError) else not isinstance(b, Exception)
    if name in OBJECTS and v in HUGE:
        return isinstance(b, wr.RangeError)
    if name == "setitem flat" and isinstance(a, ValueError):  # whatever the reason
        return isinstance(b, wr.RangeError | wr.BadValue)
    if isinstance(b, Exception) and not isinstance(b, wr.WindrowError) and name not in ("digitize", "power"):
        return False  # of these two the elements tell
    if isinstance(a, np.ndarray) and a.dtype == object:  # which Windrow doesn't hold
        return isinstance(b, Exception)
    if isinstance(a, Exception) or isinstance(b, Exception):
        kinds = (OverflowError, TypeError, ValueError)
        return isinstance(a, Exception) and any(isinstance(a, k) and isinstance(b, k) for k in kinds)
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    return bool(a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))


@pytest.mark.parametrize("name", CASES)
def test_each_value_is_taken_or_refused_as_numpy_does(name: str) -> None:
    dims = 2 if "diagonal" in name else 1
    given = [(dtype, v) for dtype in DTYPES for v in VALUES]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected, got = ([_called(CASES[name], m, dtype, v, dims) for dtype, v in given] for m in (np, wr))
        got = _at_once(got)
    wrong = [
        f"{dtype} {v!r}: NumPy {a!r}, Windrow {b!r}"
        for (dtype, v), a, b in zip(given, expected, got, strict=True)
        if not _same(name, dtype, v, a, b)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("call", ["overlap", "map_overlap"])
@pytest.mark.parametrize(
    ("dtype", "boundary", "error"),
    [
        ("u1", 300, wr.RangeError), ("u1", -1, wr.RangeError), ("u1", np.int64(300), wr.RangeError),
        ("i8", float("nan"), wr.BadValue), ("i8", np.float32("nan"), wr.BadValue), ("i8", float("inf"), wr.RangeError),
        ("i8", 2**70, wr.RangeError), ("f4", "nowhere", wr.ArgumentError), ("i8", {0: 300.0, 1: 2**63}, wr.RangeError),
    ],
)  # fmt: skip
def test_a_boundary_that_the_dtype_cannot_hold_is_refused(call: str, dtype: str, boundary: Any, error: Any) -> None:
    x = wr.zeros((4, 4), dtype=dtype, chunks=2)
    put_around = {"overlap": wr.overlap.overlap, "map_overlap": partial(wr.map_overlap, np.negative, dtype=dtype)}[call]
    with pytest.raises(error, match=f"{call}: argument 'boundary' is") as caught:
        put_around(x, depth=1, boundary=boundary)
    assert boundary == "nowhere" or str(np.dtype(dtype)) in str(caught.value)


def test_boundaries_that_the_dtype_holds_are_there() -> None:
    x = wr.ones(4, dtype="u1", chunks=2)
    assert wr.overlap.overlap(x, depth=1, boundary=255).compute().tolist() == [255, 1, 1, 1, 1, 1, 1, 255]
    assert np.isnan(wr.overlap.overlap(x.astype("f4"), depth=1, boundary=np.nan).compute()[[0, -1]]).all()


def test_errors_name_the_operation_the_argument_and_the_value() -> None:
    with pytest.raises(wr.RangeError, match="full_like: argument 'fill_value' is -1; expected values that uint8 can"):
        wr.full_like(wr.zeros(3, "u1"), -1)
    with pytest.raises(wr.BadValue, match="sum: argument 'initial' is nan; expected values that int64 can hold"):
        wr.zeros(3, int).sum(initial=float("nan"))
    with pytest.raises(wr.RangeError, match="where: argument 'y' is 300; expected values that int8 can hold"):
        wr.where([True], wr.zeros(1, "i1"), 300)
    with pytest.raises(wr.RangeError, match="add: "):
        wr.zeros(3, int) + 10**30


def test_only_integers_beyond_64_bits_are_too_large() -> None:
    with pytest.raises(wr.RangeError, match=rf"isin: argument 'test_elements' is {2**70}; expected an integer of 64"):
        wr.isin(wr.arange(3), [1, 2**70])
    with pytest.raises(wr.DTypeError, match="isin: argument 'test_elements' is dtype"):
        wr.isin(wr.arange(3), [1, None])


def test_large_integers_are_floats_among_floats() -> None:
    for jit in ("off", "on"):
        with wr.config.set(jit=jit):
            x = wr.ones(5000, chunks=1000)
            assert ((x + 10**30).compute() == np.ones(5000) + 10**30).all()
            assert ((x * 2**70 < 2**71) & (x.astype("i8") < 2**70)).all().compute()
            assert (x.astype("i8") / 10**30).compute().tolist() == (np.ones(5000, "i8") / 10**30).tolist()
            assert not (wr.arange(5000, chunks=1000) == 2**70).any().compute()
    with pytest.raises(OverflowError):
        wr.ones(3) + 10**400


def test_a_zero_between_limits_keeps_its_sign() -> None:
    x = np.array([0.0, -0.0, 1.0, -1.0, np.nan, 5.0])
    for low, high in (
        (0.0, 2),
        (0, 2),
        (-2, -0.0),
        (-0.0, 2.0),
        (np.zeros(6), 2),
        (0.0, np.full(6, 2.0)),
        (1, 2),
        (3, 1),
        (np.nan, 2),
    ):
        expected, found = np.clip(x, low, high), wr.clip(wr.from_array(x, chunks=4), low, high).compute()
        assert np.array_equal(expected, found, equal_nan=True)
        assert (np.signbit(expected) == np.signbit(found))[expected == 0].all()
    assert wr.clip(wr.zeros(2, bool), 0, np.float32(2)).dtype == np.clip(np.zeros(2, bool), 0, np.float32(2)).dtype
    assert wr.clip(wr.arange(4, dtype="f4"), 0, 2, dtype="f8").compute().tolist() == [0, 1, 2, 2]
