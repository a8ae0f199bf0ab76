"""Objects that ranks share: read-only views of one copy, kept as long as something needs them."""

from __future__ import annotations

import copy
import gc
import operator
import os
import pickle
import threading
import time
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.workers.rank import task_context
from windrow.workers.shared import shared_objects
from windrow.workers.shared.object_segments import read, write
from windrow.workers.shared.shared_objects import count_bytes


def back(value):
    """What an object is after it was written and read."""
    segment = write(value)
    raw = np.frombuffer(os.pread(segment.name.descriptor, segment.name.nbytes, 0), np.uint8)
    assert raw.nbytes == segment.name.nbytes
    return read(raw, segment.name.token), raw


@given(
    st.lists(
        st.tuples(st.sampled_from(["f8", "i1", "c16", "?", "U3", "M8[s]"]), st.integers(0, 50), st.booleans()),
        max_size=5,
    )
)
def test_arrays_are_views_of_what_was_written(arrays):
    given = {f"{k}": np.arange(n).astype("i8").astype(t) for k, (t, n, _) in enumerate(arrays)}
    given |= {f"{k} every other": np.arange(2 * n)[::2] for k, (_, n, apart) in enumerate(arrays) if apart}
    found, raw = back({"arrays": given, "more": [1, "x", None]})
    assert found["more"] == [1, "x", None]
    for name, expected in given.items():
        array = found["arrays"][name]
        np.testing.assert_array_equal(array, expected)
        assert array.dtype == expected.dtype
        if array.size and "every" not in name:
            assert not array.flags.writeable
            assert np.shares_memory(array, raw)


def test_other_peoples_objects():
    from scipy.spatial import cKDTree
    from sklearn.linear_model import LinearRegression

    points = np.random.default_rng(0).random((500, 3))
    tree, _ = back(cKDTree(points))
    np.testing.assert_array_equal(tree.query(points[:5])[1], np.arange(5))
    model, _ = back(LinearRegression().fit(points, points @ [1, 2, 3]))
    np.testing.assert_allclose(model.predict(points[:3]), points[:3] @ [1, 2, 3])
    table, _ = back(pa.table({"a": [1, 2, None], "b": ["x", "y", "z"]}))
    assert table.column("b").to_pylist() == ["x", "y", "z"]


def test_functions_use_it_as_what_it_is():
    table = wr.shared.object({"square": np.arange(100) ** 2})
    x = wr.arange(10, chunks=3)

    def look(block):
        assert isinstance(table, dict | wr.shared.Shared)
        return table["square"][block]

    np.testing.assert_array_equal(wr.map_blocks(look, x).compute(), np.arange(10) ** 2)
    np.testing.assert_array_equal(wr.map_blocks(lambda b, t: t["square"][b], x, table).compute(), np.arange(10) ** 2)
    told = wr.spmd(lambda comm: (isinstance(table, dict), table["square"].flags.writeable), members=2)
    assert told == [(True, False)] * 2


def test_it_stands_for_the_object_in_the_driver():
    listed = wr.shared.object([3, 1, 2])
    assert (len(listed), listed[0], sorted(listed), 2 in listed, listed.index(1)) == (3, 3, [1, 2, 3], True, 1)
    assert listed.value == [3, 1, 2]
    assert "list" in repr(listed)
    assert wr.shared.object(np.sqrt)(4.0) == 2
    assert wr.shared.object(listed) is listed
    array = np.arange(3.0)
    shared = wr.shared.object(array)
    array[0] = 9
    np.testing.assert_array_equal(np.asarray(shared), [0, 1, 2])
    with pytest.raises(AttributeError):
        shared.nonsense
    assert [bool(wr.shared.object(x)) for x in (0, None, [], 2, "a")] == [False, False, False, True, True]
    with pytest.raises(AttributeError, match="'columns' can't be set; share a changed one anew"):
        shared.columns = 1


def settled(count):
    """What there is once the engine has let go of what others have left, which it does when it looks at them next."""
    gc.collect()
    found, same = count(), 0
    while same < 5:
        wr.ones(3).sum().compute()
        gc.collect()
        found, same = (found, same + 1) if count() == found else (count(), 0)
    return found


def test_it_goes_with_the_last_that_needs_it():
    before = settled(count_bytes)
    table = wr.shared.object(np.arange(10_000))
    assert count_bytes() - before >= 80_000
    assert wr.cluster().info()[0]["shared"] == count_bytes()
    x = wr.map_blocks(lambda block: table[block], wr.arange(10, chunks=5), dtype=int)
    table = None
    gc.collect()
    assert count_bytes() > before, "a lazy array needs it"
    y = x.persist()
    wr.wait(y)
    x = None
    gc.collect()
    assert count_bytes() > before, "what was lost would be made again with it"
    np.testing.assert_array_equal(y.compute(), np.arange(10))
    y = None
    for _ in range(50):
        gc.collect()
        if count_bytes() == before:
            break
        wr.ones(3).sum().compute()  # the engine lets go of the stages when it looks at them next
    assert count_bytes() == before


def mapped():
    """How many objects are in this process' memory."""
    with open("/proc/self/maps", encoding="ascii") as file:
        return sum("memfd:windrow-shared" in line for line in file)


def test_its_memory_goes_with_it():
    before = settled(mapped)
    for _ in range(3):
        table = wr.shared.object(np.arange(10_000))
        nested = wr.shared.object({"table": table})
        x = wr.map_blocks(lambda block, t=table, n=nested: t[block] + n["table"][block], wr.arange(10, chunks=5))
        np.testing.assert_array_equal(x.compute(), np.arange(10) * 2)
        assert mapped() > before
        table = nested = x = None
    deadline = time.monotonic() + 20
    while mapped() > before and time.monotonic() < deadline:
        gc.collect()
        wr.ones(3).sum().compute()  # the engine lets go of the stages when it looks at them next
    assert mapped() == before


def test_what_another_names_lives_as_long():
    inner = wr.shared.object(np.arange(5))
    outer = wr.shared.object({"inner": inner, "look": lambda k: inner[k]})
    inner = None
    gc.collect()
    assert outer["inner"][3] == outer["look"](3) == 3


class Slow:
    """What takes long to unpickle."""

    begun, end = threading.Event(), threading.Event()

    def __setstate__(self, state):
        self.begun.set()
        assert self.end.wait(20)


def test_a_rank_lets_go_while_it_loads(monkeypatch):
    class Rank:
        class copies:
            @staticmethod
            def read(name):
                return np.frombuffer(os.pread(name.descriptor, name.nbytes, 0), np.uint8)

    slow = Slow()
    slow.table = np.arange(3)
    segment = write(slow)
    monkeypatch.setattr(task_context, "_own", [Rank()])
    thread = threading.Thread(target=lambda: shared_objects.resolve(segment.name))
    thread.start()
    assert Slow.begun.wait(20)
    for each in (os.urandom(16), segment.name.token):
        shared_objects.forget(each)  # by the rank's loop, which answers nobody until it returns
    Slow.end.set()
    thread.join(20)
    assert segment.name.token not in shared_objects._loaded


def test_functions_called_in_the_driver_see_what_ranks_see():
    table = wr.shared.object(np.arange(3.0))
    x, y = wr.arange(4, chunks=2), wr.ones((4, 3), chunks=(2, 3))

    def more(block, **_):
        assert type(table) is np.ndarray
        return block + (table + 1).sum()

    for made in (
        wr.map_blocks(more, x),
        wr.map_blocks(lambda b, t, u: b + (t + u).sum(), x, table, u=table),
        wr.apply_gufunc(more, "(i)->(i)", y),
        wr.apply_along_axis(more, 1, y),
        wr.reduction(x, lambda b, **how: more(b).sum(**how), np.sum),
    ):
        assert made.dtype == float
        assert made.compute().dtype == float


def test_many_threads_load_it_once():
    loads = []

    class Loud:
        def __init__(self):
            self.numbers = np.arange(5)

        def __setstate__(self, state):
            loads.append(1)
            self.__dict__.update(state)

    shared = wr.shared.object(Loud())
    threads = [threading.Thread(target=lambda: shared.numbers.sum()) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert shared.numbers.sum() == 10


def test_what_cannot_be_shared_is_refused():
    with pytest.raises(wr.ArgumentError, match="object: argument 'value', 'lock', can't be pickled"):
        wr.shared.object(threading.Lock())
    with pytest.raises(wr.ArgumentError, match="object: argument 'value'"):
        wr.shared.object(wr.ones(3))


def test_a_name_is_worth_nothing_elsewhere():
    shared = wr.shared.object([1])
    name = pickle.dumps(shared)
    assert pickle.loads(name) == [1]
    del shared
    gc.collect()
    with pytest.raises(wr.ClusterError, match="shared object"):
        pickle.loads(name)


def test_items_of_shared_objects_stay():
    shared = wr.shared.object({"b": 1})
    with pytest.raises(TypeError, match=r"a shared object doesn't change: \['b'\] can't be set"):
        shared["b"] = 2
    with pytest.raises(TypeError, match="can't be deleted"):
        del shared["b"]


class Corner(NamedTuple):
    names: list
    size: int


def test_its_containers_refuse_to_be_changed():
    names = ["a", "b"]
    value = {"rows": [[1], [2]], "set": {1}, "corner": Corner(names, 2), "same": names, "pair": (1, {"k": []})}
    shared = wr.shared.object(value)
    assert shared.value == value
    assert shared["corner"].names is shared["same"]
    changes = {
        "append": lambda v: v["rows"].append(3),
        "__setitem__": lambda v: v["rows"][0].__setitem__(0, 9),
        "sort": lambda v: v["same"].sort(),
        "extend": lambda v: v["corner"].names.extend("c"),
        "update": lambda v: v["pair"][1].update(k=1),
        "add": lambda v: v["set"].add(2),
        "__ior__": lambda v: operator.ior(v["pair"][1], {}),
        "__iadd__": lambda v: operator.iadd(v["same"], ["c"]),
        "pop": lambda v: v["set"].pop(),
    }
    for name, change in changes.items():
        with pytest.raises(TypeError, match=f"{name}: a (list|dict|set) of a shared object doesn't change"):
            change(shared)
    with pytest.raises(TypeError, match="append: a list of a shared object doesn't change"):
        wr.map_blocks(lambda block: shared["rows"].append(3) or block, wr.arange(4, chunks=2), dtype=int).compute()
    rows = shared["rows"]
    for copied in (copy.copy(rows), copy.deepcopy(rows), pickle.loads(pickle.dumps(rows)), [*rows.copy(), 1]):
        assert type(copied) is list
        copied.append(3)
    assert type(dict(shared["pair"][1]) | {"n": 1}) is dict
    assert shared.value == value
