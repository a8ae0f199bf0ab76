"""The prompt in a pseudo-terminal: Ctrl-C gives it back, and leaving leaves nothing."""

from __future__ import annotations

import importlib.util
import re
import sys
import time

import pexpect
import pytest

pytestmark = pytest.mark.ranks
needs_ipython = pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="no IPython")

SLEEP = "lambda b: __import__('time').sleep(0.3) or b"
SLOW = f"wr.map_blocks({SLEEP}, wr.ones(1000, chunks=1), dtype=float).compute()"
KERNEL = "wr.exp(wr.arange(0.0, 40.0, 1e-9, chunks=20_000_000)).sum().compute()"


class Prompt:
    """A session at the terminal."""

    def __init__(self, jobs, *words, plain=True):
        environment = jobs.environment | {"TERM": "dumb", "IPYTHONDIR": str(jobs.folder / "ipython")}
        environment |= {"PYTHON_BASIC_REPL": "1"} if plain else {"IPY_TEST_SIMPLE_PROMPT": "1"}
        self.sign = ">>> " if plain else r"In \[\d+\]: "
        jobs.ranks = "-n" in words
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "windrow", *words],
            env=environment,
            cwd=jobs.folder,
            timeout=20,
            encoding="utf-8",
        )
        self.wait(60)  # on a busy machine the ranks take long to start

    def wait(self, limit=-1):
        """Wait for the prompt, so many seconds; return what came before."""
        self.child.expect(self.sign, timeout=limit)
        return str(self.child.before)

    def say(self, line):
        """Type a line and return what it prints."""
        self.child.sendline(line)
        return self.wait()

    def interrupt(self, line):
        """Start something long, interrupt it, and return the seconds until the prompt is back."""
        self.child.sendline(line)
        time.sleep(1.3)
        begin = time.monotonic()
        self.child.sendintr()
        said = self.wait()
        assert "KeyboardInterrupt" in said, said
        return time.monotonic() - begin

    def interrupt_nothing(self):
        """Press Ctrl-C at the prompt, which gives a new one. Python misses it until it waits for a key: press again."""
        for _ in range(10):
            self.child.sendintr()
            if self.child.expect([self.sign, pexpect.TIMEOUT], timeout=2) == 0:
                return
        raise AssertionError("no prompt after Ctrl-C")

    def leave(self, *how):
        """Leave, and return the exit status."""
        for line in how:
            self.child.sendline(line)
        if not how:
            self.child.sendeof()
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus


@pytest.mark.parametrize("long", [SLOW, KERNEL], ids=["function", "kernel"])
@pytest.mark.parametrize("words", [[], ["-n", "4"]], ids=["embedded", "ranks"])
def test_ctrl_c_gives_the_prompt_back_and_keeps_the_cluster(jobs, mpi, words, long):
    prompt = Prompt(jobs, *words)
    try:
        for _ in range(2):
            assert prompt.interrupt(long) < 1
        prompt.interrupt_nothing()
        assert "499500" in prompt.say("wr.arange(1000, chunks=10).sum().compute()")
        if words:
            said = prompt.say("from windrow.scheduler.session.cluster import cluster; len(cluster().info())")
            assert said.split()[-1] == "4"
        assert prompt.leave() == 0
    finally:
        prompt.child.close(force=True)


def test_ctrl_c_twice_at_once(jobs, mpi):
    prompt = Prompt(jobs, "-n", "4")
    try:
        for pause in (0, 0.0005, 0.002, 0.01):
            prompt.child.sendline(SLOW)
            time.sleep(0.7)
            prompt.child.sendintr()
            time.sleep(pause)
            prompt.child.sendintr()
            time.sleep(0.3)  # the terminal drops what is typed together with Ctrl-C
            # Python raises a Ctrl-C that it missed at the prompt when a line is typed, and drops that line.
            for _ in range(3):
                prompt.child.sendline("print('7' * 4)")
                if prompt.child.expect(["7777", pexpect.TIMEOUT], timeout=8) == 0:
                    break
            else:
                raise AssertionError("no answer after Ctrl-C")
            prompt.wait()
        assert "499500" in prompt.say("wr.arange(1000, chunks=10).sum().compute()")
        assert prompt.leave() == 0
    finally:
        prompt.child.close(force=True)


@pytest.mark.parametrize(("way", "status"), [((), 0), (("exit()",), 0), (("quit()",), 0), (("exit(3)",), 3)])
def test_ways_to_leave(jobs, mpi, way, status):
    prompt = Prompt(jobs, "-n", "3")
    try:
        assert "6.0" in prompt.say("np.float64(wr.ones(6, chunks=1).sum())")
        assert prompt.leave(*way) == status
    finally:
        prompt.child.close(force=True)


def test_leaving_while_ranks_compute(jobs, mpi):
    prompt = Prompt(jobs, "-n", "3")
    try:
        prompt.say(SLOW.replace("compute()", "persist()"))
        begin = time.monotonic()
        assert prompt.leave("exit()") == 0
        assert time.monotonic() - begin < 5
    finally:
        prompt.child.close(force=True)


def test_functions_and_classes_of_the_prompt_reach_ranks(jobs, mpi):
    prompt = Prompt(jobs, "-n", "3")
    try:
        prompt.say("f = lambda block: block + shift")
        prompt.say("shift = 5")
        assert "[5, 6, 7]" in prompt.say("wr.map_blocks(f, wr.arange(3, chunks=1), dtype=int).compute().tolist()")
        assert prompt.leave() == 0
    finally:
        prompt.child.close(force=True)


def test_the_tabulator_completes(jobs):
    prompt = Prompt(jobs)
    try:
        prompt.child.send("wr.linspac\t0, 1, 3).sum().compute()\r")
        assert "1.5" in prompt.wait()
        assert prompt.leave() == 0
    finally:
        prompt.child.close(force=True)


@needs_ipython
def test_ipython(jobs, mpi):
    prompt = Prompt(jobs, "-n", "3", plain=False)
    try:
        for _ in range(2):
            assert prompt.interrupt(SLOW) < 1
        prompt.say("f = lambda block: block + 5")
        assert "[5, 6, 7]" in prompt.say("wr.map_blocks(f, wr.arange(3, chunks=1), dtype=int).compute().tolist()")
        assert prompt.leave("exit") == 0
    finally:
        prompt.child.close(force=True)


def uncoloured(text):
    """Text as it is read, without a terminal's colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("plain", [True, pytest.param(False, marks=needs_ipython)])
def test_errors_show_one_frame_of_ours(jobs, monkeypatch, plain):
    monkeypatch.setitem(jobs.environment, "WINDROW_FULL_TRACEBACK", "0")
    prompt = Prompt(jobs, plain=plain)
    try:
        said = uncoloured(prompt.say("wr.ones(3).sum(axis=4)"))
        assert "AxisError: sum: argument 'axis' is 4" in said
        assert re.findall(r"windrow/[\w/]+\.py", said) == ["windrow/arrays/ops/reductions/sums.py"]
        prompt.child.sendline(SLOW)
        time.sleep(1.3)
        prompt.child.sendintr()
        said = uncoloured(prompt.wait())
        assert "KeyboardInterrupt" in said
        assert re.findall(r"windrow/\w+/\w+\.py", said) == ["windrow/arrays/array.py"]
        line = "prompt, line 1" if plain else "cell In[3], line 1"
        assert line in uncoloured(prompt.say("(wr.ones(3) + 1).expr.origin.where"))
        assert prompt.leave(*([] if plain else ["exit"])) == 0
    finally:
        prompt.child.close(force=True)
