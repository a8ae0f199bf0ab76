"""The progress bar of long computations: at a terminal, under mpirun at one, in a notebook, and nowhere else."""

from __future__ import annotations

import ast
import re
import sys
import time
from types import SimpleNamespace

import pexpect
import pytest

import windrow as wr
from windrow.scheduler.session import progress
from windrow.scheduler.session.cluster import session

SCRIPT = """
import sys, time
import windrow as wr
from windrow.scheduler.session import progress
progress.LATE = 1.0
def slow(block, block_id):
    time.sleep(3.5 if block_id == (7,) else 0.2)
    return block
if __name__ == "__main__":
    for _ in range(3):
        wr.ones(4, chunks=2).sum().compute()  # takes no time: no bar
    wr.map_blocks(slow, wr.ones(24, chunks=2), dtype=float).sum().compute()
    print("end")
"""


def at_terminal(programs, folder, words, columns=140, **environment):
    """Run a program at a terminal; return what it shows."""
    found = programs.environment(TERM="dumb", **environment)
    child = pexpect.spawn(
        words[0],
        words[1:],
        env={name: value for name, value in found.items() if name not in ("COLUMNS", "LINES")},  # pytest-xdist's
        cwd=folder,
        timeout=60,
        encoding="utf-8",
        dimensions=(24, columns),
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0, child.before
    return str(child.before)


@pytest.mark.parametrize("ranks", [0, pytest.param(3, marks=pytest.mark.ranks)])
def test_a_bar_at_a_terminal(programs, tmp_path, ranks):
    (tmp_path / "s.py").write_text(SCRIPT)
    words = [sys.executable, *(["-m", "windrow"] if ranks else []), "s.py"]
    said = at_terminal(programs, tmp_path, [*(programs.mpirun(ranks) if ranks else []), *words], WINDROW_THREADS="2")
    drawn = [part for part in said.split("\r") if "%|" in part]
    assert len(drawn) > 5
    shape = r"sum: +\d+%\|.*\| \d+/13 \[00:\d\d<[\d:?]+, +[\d.?]+(task/s|s/task), .*[\d.]+ \w+ of [\d.]+ [MG]iB\]"
    assert [part for part in drawn if not re.match(shape, part)] == []
    assert all(len(part.rstrip("\n")) < 140 for part in drawn)
    late = re.findall(r"rank (\d) for \d s at blocks? \(7,\) of ones\+map_blocks\(slow\), ", said)
    assert late, drawn[-1]
    assert not re.findall(r"at blocks? \([0-6],\)", said)
    assert "end" in said
    assert said.rstrip("\n").rpartition("\r")[2].strip() in ("", "end")  # the bar's line is empty again


def test_where_nobody_looks_nothing_is_shown(launch, tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT.replace("3.5", "0.2"))
    ended = launch(0, "s.py", WINDROW_THREADS="1")
    assert (ended.out, ended.err) == ("end\n", "")


NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.displaypub import DisplayPublisher

class Kept(DisplayPublisher):
    def publish(self, data, metadata=None, *, transient, update=False, **more):
        assert update == (transient["display_id"] in saved)
        saved[transient["display_id"]] = data
        shown.append(data)

saved, shown = {}, []
shell = InteractiveShell.instance(colors="nocolor", display_pub_class=Kept)
shell.config.IPKernelApp.port = 0
shell.run_cell(\"\"\"
import time, windrow as wr
def slow(block):
    time.sleep(0.2)
    return block
made = wr.map_blocks(slow, wr.ones(24, chunks=2), dtype=float).sum().compute()
\"\"\")
print([float(shell.user_ns["made"]), shown, list(saved.values())])
"""


def test_a_bar_leaves_nothing_in_a_saved_notebook(launch, tmp_path):
    pytest.importorskip("IPython")
    ended = launch(0, "-c", NOTEBOOK, IPYTHONDIR=str(tmp_path), WINDROW_THREADS="1")
    value, shown, saved = ast.literal_eval(ended.last)
    assert value == 24.0
    drawn = [data["text/plain"] for data in shown]
    assert len(drawn) > 3
    assert [text for text in drawn[:-1] if not re.match(r"sum: +\d+%\|.*\| \d+/13 \[", text)] == []
    assert saved == [{"text/plain": ""}], "one output, which is empty at the end"
    assert ended.err == ""


def test_without_tqdm_there_is_no_bar(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    display = progress.Display("on", 0.0, "task")
    display.show(lambda: progress.BarState(1, 2, "sum"))
    display.hide()
    display.close()
    assert capsys.readouterr().err == ""


def test_what_a_bar_shows(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    display = progress.Display("on", 2.0, "task")
    display.show(lambda: progress.BarState(1, 4, "early"))
    display._begin -= 30.0
    display.show(lambda: progress.BarState(1, 4, "a" * 50, "1 KiB of 1 GiB"))
    display.show(lambda: progress.BarState(2, 4, "too soon"))
    display._drawn = 0.0
    display.show(lambda: progress.BarState(9, 4, "more than all"))
    display.hide()
    display.close()
    display._drawn = 0.0
    display.show(lambda: progress.BarState(4, 4, "closed"))
    said = capsys.readouterr().err
    drawn = [part for part in said.split("\r") if "|" in part]
    assert re.match(r"a{31}…:  25%\|.*\| 1/4 \[00:30<01:30, 30.\d+s/task, 1 KiB of 1 GiB\]", drawn[0])
    assert re.match(r"more than all: 100%\|.*\| 9/9 ", drawn[1])
    assert len(drawn) == 2
    assert not said.split("\r")[-1].strip()


def test_the_engine_tells_what_is_late():
    asked = [
        progress.EngineStatus(1 << 20, 1 << 30, [progress.Busy(7, 0, "block (1,) of f"), progress.Busy(9, 2, "x")])
    ] * 3
    engine = SimpleNamespace(ask=lambda *_: asked.pop())
    watch = progress.BarWatch(engine)
    assert watch.note() == "1.0 MiB of 1.0 GiB"
    watch.since = {7: time.monotonic() - 7.2, 3: 0.0}
    assert watch.note() == "rank 0 for 7 s at block (1,) of f, 1.0 MiB of 1.0 GiB"
    assert set(watch.since) == {7, 9}
    watch.since[9] = time.monotonic() - 9.2
    assert watch.note().startswith("rank 2 for 9 s at x, ")


def test_status_of_an_idle_engine():
    x = wr.ones(1000).persist()
    x.sum().compute()
    found = session().engine.ask(progress.status)
    assert found.busy == []
    assert 8000 <= found.used <= found.size


def test_a_warning_stands_on_a_line_of_its_own(capsys, caplog):
    display = progress.Display("on", 0.0, "task")
    time.sleep(0.001)
    display.show(lambda: progress.BarState(1, 4, "sum"))
    assert "sum" in capsys.readouterr().err.rpartition("\r")[2]
    progress.warn_beside_bars("rank 2 was lost")
    assert not capsys.readouterr().err.rpartition("\r")[2].strip(), "the bar is erased"
    assert caplog.messages == ["rank 2 was lost"]
    display.close()
    progress.warn_beside_bars("nothing is drawn")
    assert capsys.readouterr().err.rpartition("\r")[2].strip() in ("", "nothing is drawn")


def test_one_thread_is_one():
    with wr.Cluster(threads=1) as cluster:
        assert repr(cluster) == "<Cluster: embedded, 1 thread each>"
