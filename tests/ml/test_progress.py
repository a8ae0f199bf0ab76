"""The progress bar of a training, at a terminal; pictures of what it told."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import numpy as np
import pexpect
import pytest

import windrow as wr
from windrow.ml import History, plot_history
from windrow.ml.training.progress import Progress

SCRIPT = """
import sys, time
import numpy as np
import windrow as wr
from windrow.ml import train
def step(w, X):
    time.sleep(0.04)
    return w + 1, {"loss": 0.25}
average, verbose = eval(sys.argv[1])
train(step, np.zeros(2), np.ones((1600, 2)), epochs=5, average=average, shards=2, batch_size=50, verbose=verbose,
      callback=lambda epoch, state, told: print("epoch", epoch, "over"))
print("end")
"""


def shown(programs, folder, words, **environment):
    """Run the script at a terminal; return what that shows."""
    (folder / "s.py").write_text(SCRIPT)
    child = pexpect.spawn(
        sys.executable,
        ["s.py", words],
        env=programs.environment(TERM="dumb", **environment),
        cwd=folder,
        timeout=60,
        encoding="utf-8",
        dimensions=(24, 120),
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0, child.before
    return str(child.before)


@pytest.mark.parametrize("average", [4, "async"])
def test_one_bar_for_the_whole_training(programs, tmp_path, average):
    said = shown(programs, tmp_path, repr((average, True)))
    drawn = [part for part in said.split("\r") if part.startswith("train")]
    assert len(drawn) > 5
    assert all(re.match(r"train epoch [1-5]/5: +\d+%\|", part) for part in drawn), drawn
    assert "tasks" not in said  # the rounds' own bars
    assert re.search(r"epoch [2-5]/5: .*\| [\d.]+k?/8.00k \[00:0\d<00:0\d, +[\d.]+k?row/s, loss 0.25\]", drawn[-1])
    shares = [int(part.split(":")[1].split("%")[0]) for part in drawn]
    assert shares == sorted(shares)
    lines = said.splitlines()
    assert [line.split("\r")[-1] for line in lines if "over" in line] == [f"epoch {k} over" for k in range(5)]
    assert lines[-1].split("\r")[-1] == "end"


def test_nothing_is_shown_where_nobody_looks(programs, tmp_path, launch):
    assert "%" not in shown(programs, tmp_path, repr((4, False)))
    done = launch(0, "s.py", repr((4, True)))
    assert done.status == 0
    assert done.err == ""
    assert done.out.splitlines()[-1] == "end"


def test_rows_per_second(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with wr.config.set(progress="on"), Progress("train", 4, 1000, 1) as bar:
        bar._display._begin -= 10.0
        bar.advance(1000.0)
        bar._display._drawn = 0.0
        bar.epoch(1, {"loss": 0.5, "score": 0.12345678})
    said = [part for part in capsys.readouterr().err.split("\r") if part.startswith("train")]
    assert re.match(r"train epoch 2/4: +33%\|.*\| 1.00k/3.00k \[00:10<00:20, [\d.]+row/s\]", said[0])
    assert re.match(
        r"train epoch 3/4: +33%\|.*\| 1.00k/3.00k \[00:10<00:20, .*row/s, loss 0.5, score 0.1235\]", said[1]
    )


def test_trainings_within_others_show_nothing(capsys):
    with wr.config.set(progress="on"), Progress("search", 4, 1000) as outer, Progress("fit", 4, 1000) as inner:
        for bar in (inner, outer):
            bar._display._begin -= 10.0
            bar.advance(100.0)
    said = capsys.readouterr().err
    assert "search" in said
    assert "fit" not in said


TOLD = {"loss": [0.9, 0.4, 0.3], "val_loss": [1.0, 0.6], "mae": [0.1, 0.2, 0.3]}


@pytest.mark.parametrize(
    "history", [TOLD, History([3, 4, 5], TOLD), SimpleNamespace(epoch=[3, 4, 5], history=TOLD, model=None)]
)
def test_pictures(history):
    pytest.importorskip("matplotlib")
    ax = plot_history(history)
    lines = {line.get_label(): line for line in ax.lines}
    assert lines.keys() == TOLD.keys()
    assert lines["val_loss"].get_linestyle() == "--"
    assert lines["val_loss"].get_color() == lines["loss"].get_color() != lines["mae"].get_color()
    first = 1 if isinstance(history, dict) else 4
    assert list(lines["loss"].get_xdata()) == [first, first + 1, first + 2]
    assert list(lines["val_loss"].get_xdata()) == [first + 1, first + 2]  # begun later
    assert plot_history({"score": np.arange(3.0)}, ax) is ax
    assert len(ax.lines) == 4
    ax.figure.canvas.draw()


@pytest.mark.parametrize("history", [None, {}, [1, 2], {"loss": 0.5}, {"loss": ["a"]}, History()])
def test_what_is_no_history(history):
    with pytest.raises(wr.ArgumentError, match=r"plot_history: argument .history"):
        plot_history(history)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install \"windrow\[examples\]\""):
        plot_history(TOLD)
