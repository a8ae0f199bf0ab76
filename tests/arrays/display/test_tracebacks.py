"""What an error's traceback shows: the user's frames and one of Windrow's; the whole of it where that is asked for."""

from __future__ import annotations

import io
import pickle
import time
import traceback
import warnings

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.user_functions.travel.pickling import pickler
from windrow.workers import public_api


@pytest.fixture(autouse=True)
def cut():
    with wr.config.set(full_traceback=False):
        yield


def frames(error: BaseException) -> list[str]:
    """Who ran, from the outermost frame on: a function of this file, or "windrow"."""
    found = traceback.extract_tb(error.__traceback__)
    return [frame.name if frame.filename == __file__ else frame.filename.split("/")[-2] for frame in found]


def raised(function, *args) -> BaseException:
    """What a call raises, from this frame on."""
    try:
        function(*args)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def ours(error: BaseException) -> int:
    return sum(public_api.ours(frame) for frame, _ in traceback.walk_tb(error.__traceback__))


X = wr.ones((6, 4), chunks=3)


class Bad:
    def __array__(self, dtype=None, copy=None):
        raise OSError("no data")


def fails(block):
    raise RuntimeError(f"mine {block.shape}")


def sets():
    X.copy()[9.5] = 1


WRONG = {
    "operator": lambda: X + wr.ones(5),
    "reflected": lambda: [1, 2, 3] - X,
    "function": lambda: wr.cumsum(X, axis=7),
    "callable object": lambda: wr.sum(X, axis=7),
    "ufunc": lambda: wr.sqrt(X, 1, 2, 3),
    "ufunc's method": lambda: wr.add.reduce(X, axis=7),
    "NumPy's function": lambda: np.mean(X, axis=7),
    "NumPy's ufunc": lambda: np.add(X, wr.ones(5)),
    "NumPy's method": lambda: np.add.reduce(X, axis=7),
    "method": lambda: X.sum(axis=7),
    "deep method": lambda: X.reshape(5, 5),
    "index": lambda: X[9.5],
    "setting": sets,
    "blocks": lambda: X.blocks[77],
    "linalg": lambda: wr.linalg.cholesky(X),
    "fft": lambda: wr.fft.fft(X, axis=7),
    "random": lambda: wr.random.default_rng(0).normal(0, -1, 5).compute(),
    "creation": lambda: wr.ones((3, -1)),
    "constructor": lambda: wr.Cluster(ranks=-4),
    "setting of config": lambda: wr.config.set(threads=-1),
    "object": lambda: wr.vectorize(3),
    "mgrid": lambda: wr.mgrid["a"],
    "testing": lambda: wr.testing.assert_equal(X, X + 1),
    "block": lambda: wr.map_blocks(fails, X, dtype=float).compute(),
    "conversion": lambda: np.asarray(wr.map_blocks(fails, X, dtype=float)),
    "number": lambda: float(X),
}


@pytest.mark.parametrize("case", WRONG)
def test_one_frame_of_ours(case):
    error = raised(WRONG[case])
    assert ours(error) == 1, traceback.format_exception(error)
    assert public_api.ours(list(traceback.walk_tb(error.__traceback__))[-1][0])
    assert frames(error)[:2] == ["raised", "sets" if case == "setting" else "<lambda>"]
    assert error.__cause__ is None or ours(error.__cause__) <= 1
    text = "".join(traceback.format_exception(error))
    assert "public_api.py" not in text
    assert "direct cause" not in text


@pytest.mark.parametrize(
    "call",
    [
        lambda: wr.sum(),
        lambda: X.std(1, 2, 3, 4, 5, 6, 7, 8, 9),
        lambda: wr.round(),
        lambda: wr.flip(X, 0, 1),
        lambda: wr.map_blocks(),
        lambda: wr.round(X, unknown=1),
        lambda: wr.flip(X, unknown=1),
        lambda: X.reshape(24, unknown=1),
        lambda: X.transpose(unknown=1),
    ],
)
def test_a_call_that_does_not_fit_ends_at_the_users_line(call):
    error = raised(call)
    assert isinstance(error, TypeError)
    assert frames(error) == ["raised", "<lambda>"]
    if "unknown" in str(error):
        assert isinstance(error, wr.ArgumentError)
        assert "expected no such keyword" in str(error)


def test_the_frame_of_ours_is_that_of_the_function_which_is_called():
    for call in (lambda: wr.mean(X, axis=7), lambda: wr.round(X, "one"), lambda: wr.flip(X, 7)):
        (frame,) = [frame for frame, _ in traceback.walk_tb(raised(call).__traceback__) if public_api.ours(frame)]
        assert frame.f_code.co_name in ("mean", "round", "flip")


@pytest.mark.parametrize("case", ["function", "operator", "block", "setting"])
def test_all_frames_where_they_are_asked_for(case):
    with wr.config.set(full_traceback=True):
        error = raised(WRONG[case])
    assert ours(error) > 2, traceback.format_exception(error)


def test_a_users_own_frames_stay():
    """What Windrow calls of the user's is between two of ours."""
    error = raised(lambda: wr.asarray(Bad()))
    assert frames(error)[-1] == "__array__"
    assert ours(error) == 1
    inferred = raised(lambda: wr.map_blocks(fails, X))
    assert isinstance(inferred, wr.DTypeError)
    assert frames(inferred.__cause__)[-1] == "fails"
    assert ours(inferred.__cause__) <= 1


def test_an_error_that_is_none_of_ours_says_that_frames_are_left_out(monkeypatch):
    def broken(*_):
        raise LookupError("a mistake in Windrow")

    monkeypatch.setattr("windrow.arrays.base.check_grid", broken)
    error = raised(lambda: X.swapaxes(0, 1))
    assert error.__notes__ == [public_api.HIDDEN]
    assert not hasattr(raised(WRONG["function"]), "__notes__")


def test_blocks_that_fail_say_which_and_where():
    """The block's index, the operation, the rank and the line, and of the traceback there the user's part."""

    def second(block, block_id):
        if block_id == (1, 0):
            fails(block)
        return block

    error = raised(lambda: (wr.map_blocks(second, X, dtype=float) + 1).compute())
    where, line, trace = error.__notes__
    assert where.startswith("in operation ones+map_blocks(second)+add, block (1, 0) on rank 0 (host ")
    assert line.startswith(f"the operation was created at {__file__}:")
    assert int(line.rpartition(":")[2]) == second.__code__.co_firstlineno + 5
    assert "in second" in trace
    assert "in fails" in trace
    assert "windrow" not in trace.partition("mine")[0].replace(__file__, "")


def test_warnings_name_the_users_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wr.cov(wr.ones((2, 1)))
        wr.cov(wr.ones((1, 1)))
    assert [str(w.filename) for w in caught] == [__file__] * 2
    assert caught[0].lineno + 1 == caught[1].lineno


def test_nothing_but_what_fails_is_touched():
    assert raised(lambda: next(iter(()))).__class__ is StopIteration
    assert X.sum().compute() == 24


PROGRAM = """
import os, signal, sys, threading, time, traceback
import windrow as wr
from windrow.arrays.user_functions.travel.pickling import pickler
from windrow.workers.public_api import ours

def fails(block, block_id):
    if block_id == (2,):
        raise KeyError("mine")
    return block

def slow(block):
    time.sleep(20)
    return block

def told(function):
    try:
        function()
    except BaseException as error:
        mine = [ours(frame) for frame, _ in traceback.walk_tb(error.__traceback__)]
        print(type(error).__name__, mine, *getattr(error, "__notes__", [])[:2], sep="|", flush=True)

if __name__ == "__main__":
    x = wr.ones(8, chunks=2)
    told(lambda: x + wr.ones(3))
    told(lambda: wr.map_blocks(fails, x, dtype=float).sum().compute())
    told(lambda: wr.compute(wr.map_blocks(fails, x, dtype=float)))
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    told(lambda: wr.map_blocks(slow, x, dtype=float).compute())
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.parametrize("ranks", [0, pytest.param(2, marks=pytest.mark.ranks)])
def test_errors_and_interrupts_of_programs(launch, tmp_path, ranks):
    (tmp_path / "program.py").write_text(PROGRAM)
    ended = launch(ranks, "program.py", WINDROW_FULL_TRACEBACK="0")
    wrong, block, again, interrupt = [line.split("|") for line in ended.out.splitlines() if "|" in line][:4]
    assert wrong == ["ShapeError", "[False, False, True]"]
    for line in (block, again):
        assert line[:2] == ["KeyError", "[False, False, True]"]
        assert line[2].startswith("in operation ones+map_blocks(fails)")
        assert ", block (2,) on rank " in line[2]
        assert line[3].startswith("the operation was created at ")
        assert "program.py:" in line[3]
    assert interrupt[:2] == ["KeyboardInterrupt", "[False, False, True]"]


def test_an_interrupt_shows_no_library_that_it_came_to_by_chance():
    code = "import signal, statistics\ndef public(): statistics.fmean(map(signal.raise_signal, [signal.SIGINT]))"
    space = {"__name__": "windrow.example"}
    exec(code, space)
    with pytest.raises(KeyboardInterrupt) as raised:
        public_api.guard(space["public"])()
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(raised.value.__traceback__)]
    assert names[1:] == ["public"]


def test_an_interrupt_where_there_is_no_line():
    """Some of Python's instructions belong to no line, and a Ctrl-C may come there."""

    def interrupted():
        raise KeyboardInterrupt

    lines = {}
    exec("def public(): return interrupted()", {"__name__": "windrow", "interrupted": interrupted}, lines)
    for function in (interrupted, lines["public"]):
        function.__code__ = function.__code__.replace(co_linetable=b"")
    error = raised(public_api.guard(lines["public"]))
    assert type(error) is KeyboardInterrupt
    assert [line for _, line in traceback.walk_tb(error.__traceback__)][1:] == [None, None]


def test_an_uncaught_error_shows_four_lines(launch):
    code = "import windrow as wr\nx = wr.ones(3)\n\ndef user():\n    return wr.cumsum(x, axis=5)\nuser()"
    short = launch(0, "-c", code, WINDROW_FULL_TRACEBACK="0").err
    files = [line for line in short.splitlines() if line.startswith("  File")]
    assert [("windrow" in line) for line in files] == [False, False, True], short
    assert short.splitlines()[-1].startswith("windrow.graph.errors.AxisError: cumsum: ")
    whole = launch(0, "-c", code, WINDROW_FULL_TRACEBACK="1").err
    assert whole.count("  File") > 4


NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
cells = [
    "import windrow as wr",
    "def broken(block):\\n    return 1 / 0\\nx = wr.ones(4, chunks=2)\\ny = wr.map_blocks(broken, x, dtype=float)",
    "print(y.expr.origin.where)",
    "print((y + 1).explain())",
    "x.sum(axis=3)",
    "y.compute()",
]
for cell in cells:
    shell.run_cell(cell, store_history=True)
"""


def test_notebooks_name_the_cell(launch):
    pytest.importorskip("IPython")
    said = launch(0, "-c", NOTEBOOK, WINDROW_FULL_TRACEBACK="0", IPYTHONDIR="ipython").out
    assert "\ncell In[2], line 4\n" in f"\n{said}"
    assert "cell In[2], line 4" in said.partition("total")[0]  # the plan
    axis, zero = said.partition("AxisError")[2].split("ZeroDivisionError", 1)
    assert axis.count("File ") == 1, axis
    assert zero.partition("remote traceback")[0].count("File ") == 1, zero
    assert "the operation was created at cell In[2], line 4" in zero
    assert "Cell In[2], line 2, in broken" in zero.partition("remote traceback")[2]


def test_a_pickled_function_keeps_the_file_that_it_stands_in():
    space = {"__name__": "__main__"}
    exec(compile("def user(): return lambda: 1", "a notebook's cell", "exec"), space)
    file = io.BytesIO()
    pickler()(file).dump(space["user"])
    user = pickle.loads(file.getvalue())
    assert [user.__code__.co_filename, user().__code__.co_filename] == ["a notebook's cell"] * 2


@pytest.mark.parametrize(("function", "said"), [(lambda b: b[:1], "returned shape"), (lambda b: b + 1j, "complex")])
def test_a_wrong_result_of_a_function_is_said_once(function, said):
    """What Windrow finds wrong is no error of a function's: there is no traceback of it."""
    error = raised(lambda: wr.map_blocks(function, X, dtype=float).compute())
    assert said in str(error)
    assert [note.partition(" ")[0] for note in error.__notes__] == ["in", "the"]


def test_ctrl_c_while_a_bar_is_drawn_shows_none_of_it(monkeypatch):
    tqdm = pytest.importorskip("tqdm")
    drawing = {"__name__": "tqdm.std"}
    exec("def refresh(self): raise KeyboardInterrupt", drawing)
    monkeypatch.setattr(tqdm.tqdm, "refresh", drawing["refresh"])
    monkeypatch.setattr("windrow.scheduler.session.progress.DELAY", 0.0)
    with wr.config.set(progress="on"), pytest.raises(KeyboardInterrupt) as caught:
        wr.map_blocks(lambda b: time.sleep(0.2) or b, X, dtype=float).compute()
    assert not [each for each in caught.traceback if each.frame.f_globals.get("__name__") == "tqdm.std"]
