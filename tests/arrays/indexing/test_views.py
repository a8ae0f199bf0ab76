"""Views: programs that write through them, as NumPy runs them; which results are views; what is read-only."""

from __future__ import annotations

import copy
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.views import PROGRAMS, run
from windrow.arrays import base as arrays_base
from windrow.arrays import views as arrays_views


def both(program, chunks, start=None):
    """Run a program on NumPy's array and on a lazy one."""
    start = np.arange(24.0).reshape(4, 6) * 7 % 23 if start is None else start
    return run(program, np, {"a": start.copy()}), run(program, wr, {"a": wr.from_array(start.copy(), chunks=chunks)})


@pytest.mark.parametrize("chunks", [-1, (3, 4)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_that_write_through_views(program, chunks):
    expected, values = both(program, chunks)
    assert expected.keys() == values.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(values[name], array, err_msg=name)


KEYS = st.sampled_from(["1:", ":-1", "::2", "::-1", "1:-1", "1:3", "0", "-1", "..., 1:", "..., ::-2", "None", "1:2"])
TURNS = st.sampled_from(
    [".T", ".reshape(-1)", ".reshape(2, -1)", ".swapaxes(0, -1)", ".ravel()", ".view()", "[..., None]"]
)
WRITES = st.sampled_from(
    ["{} += 1", "{}[...] = {} * 2", "{}[...] = {}[::-1]", "{}[{}>9] = 0", "{}.fill(7)", "np.negative({}, out={})"]
)


@st.composite
def programs(draw):
    """A program that takes views of views, and writes to some of them and to the array in between."""
    names, lines = ["a"], []
    for number in range(draw(st.integers(1, 4))):
        of = draw(st.sampled_from(names))
        step = draw(st.one_of(KEYS.map("[{}]".format), TURNS))
        names.append(f"v{number}")
        lines.append(f"v{number} = {of}{step}")
        for _ in range(draw(st.integers(0, 2))):
            write = draw(WRITES)
            lines.append(write.replace("{}", draw(st.sampled_from(names))))
    return "\n".join(lines)


@given(program=programs(), chunks=st.integers(1, 6))
def test_programs_of_views_and_writes_drawn_by_chance(program, chunks):
    start = np.arange(24.0).reshape(4, 6) * 7 % 23
    try:
        expected = run(program, np, {"a": start.copy()})
    except (IndexError, ValueError, TypeError):
        return  # NumPy has no such view
    values = run(program, wr, {"a": wr.from_array(start.copy(), chunks=chunks)})
    assert expected.keys() <= values.keys()  # an element is an array here, and a number there
    for name, array in expected.items():
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(values[name], array, err_msg=f"{name} of {program}")


ARGUMENTS = {
    "array_split": (3,), "astype": ("f8",), "broadcast_to": ((2, 4, 6),), "delete": (1,), "expand_dims": (0,),
    "hsplit": (2,), "insert": (1, 5.0), "moveaxis": (0, 1), "append": (1.0,), "clip": (0, 100), "compress": ([True],),
    "partition": (1,), "percentile": (50,), "quantile": (0.5,), "repeat": (2,), "reshape": ((6, 4),), "roll": (1,),
    "resize": ((4, 6),), "rollaxis": (1,), "split": (2,), "swapaxes": (0, 1), "take": ([1],), "tile": (2,),
    "vsplit": (2,),
}  # fmt: skip
WRITE = {"copyto", "fill_diagonal", "fromfile", "load", "place", "put", "put_along_axis", "putmask", "save", "savez"}
UNSIZED = {"trim_zeros"}
"""Its size depends on elements, so it is an array of its own; docs/limits.md says so."""


@pytest.mark.parametrize("of", ["function", "method"])
def test_which_results_share_elements_with_the_array_they_are_made_of(of):
    """Every function, and every method, that both have and that take one array and the arguments above."""
    home, mine = (np, wr) if of == "function" else (np.ndarray, wr.Array)
    names = [n for n in dir(home) if not n.startswith("_") and hasattr(mine, n) and n not in WRITE | UNSIZED]
    tried = 0
    for name in names:
        a = np.arange(24.0).reshape(4, 6)
        x = wr.from_array(a.copy(), chunks=(3, 4))
        arguments = ARGUMENTS.get(name, ())
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                expected, result = (call(h, name, v, arguments) for h, v in ((home, a), (mine, x)))
        except (TypeError, ValueError, AttributeError, IndexError):
            continue  # it takes other arguments
        for there, here in zip(expected, result, strict=True):
            if isinstance(there, np.ndarray) and isinstance(here, wr.Array):
                tried += 1
                assert np.shares_memory(x, here) == np.shares_memory(a, there), name
                if np.shares_memory(x, here):
                    assert all(step.writable for step in here._steps) == there.flags.writeable, name
    assert tried > (120 if of == "function" else 25)


def call(home, name, array, arguments):
    attribute = getattr(home, name)
    if isinstance(attribute, type) or (home in (np, wr) and not callable(attribute)):
        raise TypeError
    value = attribute(array, *arguments) if callable(attribute) else getattr(array, name)
    return value if isinstance(value, tuple | list) else (value,)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: wr.broadcast_to(x, (2, 4, 6)),
        lambda x: wr.diagonal(x),
        lambda x: wr.diag(x)[1:],
        lambda x: wr.sliding_window_view(x, 2, axis=0).T,
    ],
)
@pytest.mark.parametrize(
    "write",
    [
        lambda v: v.__setitem__(0, 1),
        lambda v: v.__iadd__(1),
        lambda v: np.add(v, 1, out=v),
        lambda v: v.fill(3),
        lambda v: v.sort(),
        lambda v: np.copyto(v, 3),
        lambda v: v.flat.__setitem__(0, 1),
        lambda v: np.add.at(v, 0, 1),
    ],
)
def test_what_is_read_only_in_numpy_is_not_written_to(view, write):
    x = wr.from_array(np.arange(24.0).reshape(4, 6), chunks=3)
    with pytest.raises(ValueError, match=r"read-only"):
        write(view(x))
    assert int(x.sum()) == 276


def test_copies_and_what_was_persisted_stay_as_they_were():
    x = wr.from_array(np.arange(24.0).reshape(4, 6), chunks=3)
    part = x[1:]
    kept, copied, changed = part.persist(), copy.deepcopy(part), x.rechunk(2)
    computed = part.compute()
    part[...] = 0
    for each in (kept.compute(), copied.compute(), changed[1:].compute(), computed):
        np.testing.assert_array_equal(each, np.arange(24.0).reshape(4, 6)[1:])


def test_a_numpy_array_stays_as_it_is():
    a = np.zeros(6)
    x = wr.asarray(a)
    x[1:][0] = 1
    assert a.tolist() == [0] * 6
    assert x.tolist() == [0, 1, 0, 0, 0, 0]


def test_a_view_computes_what_it_shows_alone(tmp_path):
    log = str(tmp_path / "calls")

    def count(block, block_id):
        with open(log, "a") as file:
            file.write(f"{block_id[0]} ")
        return block + 1

    x = wr.map_blocks(count, wr.zeros((1000, 8), chunks=(1, 8)), dtype=float, meta=np.zeros((0, 0)))
    row = x[500]
    row *= 2
    del x
    assert row.tolist() == [2.0] * 8
    assert (tmp_path / "calls").read_text() == "500 "


def test_x_plus_is_written_once():
    x = wr.zeros((4, 4), chunks=2)
    x[1:] += 1
    assert x.expr.op.label == "setitem"
    assert len(x.expr.operands) == 2
    assert x.expr.operands[0].op.label == "full"


def test_threads_write_to_parts_of_one_array():
    x = wr.zeros((8, 50), chunks=(2, 10))
    rows = [x[i] for i in range(8)]

    def fill(row, number):
        for j in range(50):
            row[j] = number * 100 + j

    threads = [threading.Thread(target=fill, args=(row, i)) for i, row in enumerate(rows)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    np.testing.assert_array_equal(x.compute(), np.arange(8)[:, None] * 100 + np.arange(50))


def test_a_shape_that_would_need_a_copy_is_refused():
    x = wr.from_array(np.arange(24.0).reshape(4, 6), chunks=3)
    turned = x.T
    with pytest.raises(AttributeError, match="copied"):
        turned.shape = (24,)
    turned.shape = (2, 3, 4)
    turned[0] = 0
    expected = np.arange(24.0).reshape(4, 6)
    expected.T.reshape(2, 3, 4)[0] = 0
    np.testing.assert_array_equal(x.compute(), expected)


@pytest.mark.parametrize("value", [300, np.int64(300), float("nan"), 1e30, np.uint8(200), np.float32(300.5), 2.7, True])
def test_a_value_is_taken_as_where_the_whole_array_is_written_to(value):
    a, x = np.zeros(4, np.int8), wr.zeros(4, np.int8, chunks=2)
    b, y = a[1:], x[1:]
    try:
        with np.errstate(all="ignore"):
            b[0] = value
    except (OverflowError, ValueError) as error:
        with pytest.raises(type(error)):
            y[0] = value
    else:
        y[0] = value
    assert x.tolist() == a.tolist()


def test_a_read_only_array_is_not_written_to_by_a_part_of_its_own():
    x = wr.broadcast_to(wr.zeros(4, chunks=2), (2, 4))
    with pytest.raises(ValueError, match="read-only"):
        x[:1] = x[:1]


def test_a_value_that_does_not_fit_nothing_is_refused():
    part = wr.zeros((4, 6), chunks=2)[1:]
    with pytest.raises(ValueError, match="setitem: argument 'value' has shape"):
        part[0:0] = np.ones(3)


def test_another_thread_sets_elements_of_a_view_while_it_is_found(monkeypatch):
    """The view's base is gone, so that it leaves the storage it is being found from."""
    base = wr.arange(8, chunks=4)
    view = base[4:]
    base[0] = 9
    del base
    follow = arrays_base.follow

    def late(expr, steps):
        monkeypatch.undo()
        other = threading.Thread(target=view.__setitem__, args=(0, 7))
        other.start()
        other.join(60)
        return follow(expr, steps)

    monkeypatch.setattr(arrays_base, "follow", late)
    assert view.shape == (4,)
    assert view.tolist() == [7, 5, 6, 7]


VIEWS = {
    "T": lambda x: x.T,
    "reshape": lambda x: x.reshape(16),
    "ravel": lambda x: x.ravel(),
    "swapaxes": lambda x: wr.swapaxes(x, 0, 1),
    "split": lambda x: wr.split(x, 2)[0],
    "unstack": lambda x: wr.unstack(x)[1],
    "diagonal": lambda x: wr.diagonal(x),
    "view": lambda x: x.view("i8"),
    "atleast_2d": lambda x: wr.atleast_2d(wr.zeros(2), x)[1],
}


@pytest.mark.parametrize("name", VIEWS)
def test_another_thread_sets_elements_while_a_view_is_taken(name, monkeypatch):
    x, show = wr.zeros((4, 4), chunks=2), arrays_views._show

    def late(array, of, writable):
        monkeypatch.undo()
        other = threading.Thread(target=x.__setitem__, args=((1, 1), 5))
        other.start()
        other.join(60)
        return show(array, of, writable)

    monkeypatch.setattr(arrays_views, "_show", late)
    view = VIEWS[name](x)
    assert np.asarray(view.view("f8")).max() == 5
    x[...] = 7
    assert (np.asarray(view.view("f8")) == 7).all()


def test_another_thread_sets_elements_while_the_shape_is_set(monkeypatch):
    x = wr.zeros((4, 4), chunks=2)
    reshape = wr.Array.reshape

    def late(array, *shape):
        monkeypatch.undo()
        shaped = reshape(array, *shape)
        other = threading.Thread(target=x.__setitem__, args=((1, 1), 5))
        other.start()
        other.join(60)
        return shaped

    view = x[:]
    monkeypatch.setattr(wr.Array, "reshape", late)
    view.shape = (2, 8)
    assert view.tolist()[0] == [0, 0, 0, 0, 0, 5, 0, 0]


def test_what_are_scalars_in_numpy_are_no_views():
    x = wr.arange(3, chunks=2)
    first, turned = wr.unstack(x)[0], wr.flip(x[0, ...])
    x[0] = 9
    assert (int(first), int(turned), int(x[0])) == (0, 0, 9)


@pytest.mark.parametrize("dtype", ["U1", "S1", "f8", "M8[s]"])
def test_views_of_single_elements_are_reshaped(dtype):
    a = np.array(["1", "2"] if dtype != "M8[s]" else [1, 2]).astype(dtype)
    x = wr.from_array(a.copy(), chunks=1)
    for view in (lambda v: v.reshape(-1), lambda v: v.ravel(), lambda v: np.atleast_1d(v), lambda v: v.flatten()):
        np.testing.assert_array_equal(np.asarray(view(x[..., 1])), view(a[..., 1]))


def test_numpy_tells_whether_elements_are_shared():
    x = wr.zeros((4, 6), chunks=4)
    for tell in (np.shares_memory, np.may_share_memory):
        for one, other in ((x[1:], x), (x.T, x), (x[:2], x[1:]), (x[0], x.ravel())):
            assert tell(one, other)
        for one, other in ((x[:2], x[2:]), (x + 0, x), (x.copy(), x[1:]), (np.zeros(3), x), (x[:0], x)):
            assert not tell(one, other)
    assert not np.shares_memory(x[:, ::2], x[:, 1::2])
    assert np.shares_memory(wr.broadcast_to(x, (2, 4, 6)), x)


def test_elements_are_not_deleted():
    with pytest.raises(ValueError, match=r"wr\.delete"):
        del wr.zeros(3)[0]


def test_a_view_that_is_kept_lets_go_of_its_base():
    big = wr.random.default_rng(1).random((1000, 8), chunks=(100, 8))
    part, base = big[:3], weakref.ref(big._storage)
    del big
    for _ in range(3):
        float(part.sum())
    gc.collect()
    assert part.expr.pin is not None
    assert base() is None
