"""Writing aside: whatever ends a writer, what stood in its place is there, or what it wrote, and nothing else."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import windrow as wr
from support.waiting import until
from windrow.arrays.files.writing import atomic_write


def left(folder):
    """Names in a folder, hidden ones as well."""
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(5, "not now")])
@pytest.mark.parametrize("name", ["x", "x.npy"])
def test_what_was_there_comes_back_when_the_swap_fails(tmp_path, monkeypatch, name, error):
    path = tmp_path / name
    wr.save(path, wr.arange(10, chunks=3))

    def failing(function):
        def fail(old, new):
            if os.path.basename(old) == "data":
                raise error
            function(old, new)

        return fail

    monkeypatch.setattr(atomic_write, "_exchange", lambda one, other: False)
    for function in (os.rename, os.replace):
        monkeypatch.setattr(os, function.__name__, failing(function))
    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else wr.FileError):
        wr.save(path, wr.ones(3), overwrite=True)
    monkeypatch.undo()
    np.testing.assert_array_equal(wr.load(path).compute(), np.arange(10))
    assert left(tmp_path) == [name]


def test_an_interrupt_waits_until_files_are_removed(tmp_path, monkeypatch):
    wr.save(tmp_path / "x", wr.arange(10, chunks=3))
    unlink = os.unlink

    def interrupted(*given, **named):
        if str(given[0]).endswith(".lock"):
            unlink(*given, **named)
            return
        monkeypatch.setattr(os, "unlink", unlink)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        unlink(*given, **named)

    monkeypatch.setattr(os, "unlink", interrupted)
    with pytest.raises(KeyboardInterrupt):
        wr.save(tmp_path / "x", wr.ones(5), overwrite=True)
    assert left(tmp_path) == ["x"]
    np.testing.assert_array_equal(wr.load(tmp_path / "x").compute(), np.ones(5))


@pytest.mark.parametrize("which", [1, 2, 3])
@pytest.mark.parametrize("begun", [True, False])
def test_an_interrupt_while_the_thread_starts_is_waited_for(tmp_path, monkeypatch, begun, which):
    """The first begins, the second takes the place, the third removes what is left."""
    path = tmp_path / "x"
    wr.save(path, wr.arange(10, chunks=3))
    start = threading.Thread.start
    interrupts, starts = [], []

    def interrupted(thread):
        starts.append(thread.name)
        if thread.name != "windrow-files" or starts.count("windrow-files") != which:
            return start(thread)
        run = thread.run
        thread.run = lambda: (time.sleep(0.05), run())
        interrupts.append(thread)
        if begun:
            start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        wr.save(path, wr.ones(5), overwrite=True)
    assert left(tmp_path) == ["x"]
    np.testing.assert_array_equal(wr.load(path).compute(), np.arange(10) if which == 1 else np.ones(5))
    if begun:
        interrupts[0].join()
    assert left(tmp_path) == ["x"]


@pytest.mark.parametrize("able", [True, False])
def test_two_interrupts_while_a_folder_takes_the_place_of_another(tmp_path, monkeypatch, able):
    path = tmp_path / "x"
    wr.save(path, wr.arange(10, chunks=3))
    if not able:
        monkeypatch.setattr(atomic_write, "_exchange", lambda one, other: False)
    swap, lexists = atomic_write._swap, os.path.lexists
    swapping = []

    def slow(given):
        found = lexists(given)
        if given == str(path) and threading.current_thread().name == "windrow-files" and not swapping:
            swapping.append(True)
            for _ in range(2):
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                time.sleep(0.2)
        return found

    def patched(*given):
        monkeypatch.setattr(os.path, "lexists", slow)
        swap(*given)

    monkeypatch.setattr(atomic_write, "_swap", patched)
    with pytest.raises(KeyboardInterrupt):
        wr.save(path, wr.ones(5), overwrite=True)
    assert swapping
    assert left(tmp_path) == ["x"]
    np.testing.assert_array_equal(wr.load(path).compute(), np.ones(5))


def test_a_reader_always_finds_one_of_two_folders(tmp_path, monkeypatch):
    path = tmp_path / "x"
    wr.save(path, wr.arange(10, chunks=3))
    if not atomic_write._exchange(str(path), str(path)):
        pytest.skip("this file system can't exchange folders")
    rename = os.rename

    def unmoved(old, new):
        assert old != str(path)
        rename(old, new)

    monkeypatch.setattr(os, "rename", unmoved)
    wr.save(path, wr.ones(5), overwrite=True)
    monkeypatch.undo()
    np.testing.assert_array_equal(wr.load(path).compute(), np.ones(5))
    assert left(tmp_path) == ["x"]


def test_what_a_killed_writer_had_moved_away_comes_back(tmp_path):
    path = tmp_path / "x"
    wr.save(path, wr.arange(10, chunks=3))
    text = """
        import os, sys, windrow as wr
        from windrow.arrays.files.writing import atomic_write
        atomic_write._exchange = lambda one, other: False
        rename = os.rename
        def killed(old, new):
            if os.path.basename(old) == "data":
                os.kill(os.getpid(), 9)
            rename(old, new)
        os.rename = killed
        wr.save(sys.argv[1], wr.ones(5), overwrite=True)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(text), str(path)], timeout=60, check=False)
    assert not path.exists()
    with pytest.raises(wr.FileExists):  # it is there again by then
        wr.save(path, wr.ones(3))
    np.testing.assert_array_equal(wr.load(path).compute(), np.arange(10))
    wr.save(path, wr.ones(3), overwrite=True)
    np.testing.assert_array_equal(wr.load(path).compute(), np.ones(3))
    assert left(tmp_path) == ["x"]


@pytest.mark.parametrize("size", [224, 225, 255])
def test_a_name_may_be_as_long_as_the_file_system_takes(tmp_path, size):
    path = tmp_path / ("n" * size)
    wr.save(path, wr.arange(4))
    wr.save(path, wr.arange(5), overwrite=True)
    assert wr.load(path).shape == (5,)
    assert left(tmp_path) == [path.name]


def test_a_name_that_is_too_long_is_refused_before_anything_is_computed(tmp_path):
    def computed(block):
        raise AssertionError("computed")

    with pytest.raises(wr.FileError, match=r"save: .*too long"):
        wr.save(tmp_path / ("n" * 256), wr.map_blocks(computed, wr.ones(3), dtype=float))
    assert left(tmp_path) == []


def test_a_file_goes_where_a_link_points(tmp_path):
    (tmp_path / "to").mkdir()
    link = tmp_path / "link.npy"
    link.symlink_to("to/real.npy")
    wr.to_npy(wr.arange(4), link)
    np.save(link, wr.arange(5))
    with pytest.raises(wr.FileExists):
        wr.to_npy(wr.arange(4), link)
    assert link.is_symlink()
    assert np.load(tmp_path / "to" / "real.npy").shape == (5,)
    assert left(tmp_path / "to") == ["real.npy"]


def test_who_begins_to_write_waits_for_another_that_begins(tmp_path):
    path = tmp_path / "x"
    lock = tmp_path / ".x.lock"
    begun = tmp_path / ".x.12345678.partial"
    with open(lock, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        begun.mkdir()
        thread = threading.Thread(target=wr.save, args=(path, wr.arange(10, chunks=3)))
        thread.start()
        time.sleep(0.3)
        assert left(tmp_path) == [begun.name, lock.name]
        mode = open(begun / "mode", "xb")  # noqa: SIM115
        fcntl.flock(mode, fcntl.LOCK_EX)
        lock.unlink()
    thread.join(20)
    assert left(tmp_path) == [begun.name, "x"]
    mode.close()
    np.testing.assert_array_equal(wr.load(path).compute(), np.arange(10))
    wr.save(path, wr.ones(3), overwrite=True)
    assert left(tmp_path) == ["x"]


def test_who_cannot_lock_takes_nobody_for_killed(tmp_path, monkeypatch):
    def refuse(file, how):
        raise OSError(38, "no locks here")

    monkeypatch.setattr(atomic_write.fcntl, "flock", refuse)
    (tmp_path / ".x.12345678.partial").mkdir()
    wr.save(tmp_path / "x", wr.ones(3))
    assert left(tmp_path) == [".x.12345678.partial", "x"]


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    text = """
        import os, signal, sys, windrow as wr
        wr.save(sys.argv[1], wr.map_blocks(lambda b: os.kill(os.getpid(), signal.SIGKILL), wr.ones(9), dtype=float))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(text), str(tmp_path / "x")], timeout=60, check=False)
    (hidden,) = left(tmp_path)
    assert hidden.startswith(".x.")
    other = f".y{hidden[2:]}"
    (tmp_path / other).mkdir()
    (tmp_path / f"{hidden}.gone").mkdir()
    with open(tmp_path / hidden / "mode", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as a writer that is at work has it
        wr.save(tmp_path / "x", wr.ones(3))
        assert left(tmp_path) == sorted([hidden, other, "x"])
    wr.save(tmp_path / "x", wr.ones(3), overwrite=True)
    assert left(tmp_path) == sorted([other, "x"])


def test_what_comes_again_after_an_error_is_removed_again(tmp_path):
    def late(folder):
        until(lambda: not os.path.exists(folder), "the folder is removed", pause=0.001)
        time.sleep(0.05)
        os.makedirs(os.path.join(folder, "data"))

    def failing():
        with atomic_write.aside("save", str(tmp_path / "x"), False, lambda path: True) as hidden:
            threads.append(threading.Thread(target=late, args=(hidden,)))
            threads[0].start()
            raise ValueError("no")

    threads = []
    with pytest.raises(ValueError, match="no"):
        failing()
    threads[0].join(10)
    assert left(tmp_path) == []
    old = tmp_path / ".x.12345678.partial"
    old.mkdir()
    wr.save(tmp_path / "x", wr.ones(3))
    assert left(tmp_path) == ["x"]


def test_a_file_holds_no_more_than_goes_through_the_arena(tmp_path):
    with wr.Cluster(threads=2, memory="4 MiB"):
        x = wr.arange(2_000_000, chunks=50_000)
        wr.save(tmp_path / "x", x)
        wr.to_parquet(tmp_path / "t", {"x": x})
        assert int(wr.load(tmp_path / "x").sum()) == int(wr.read_parquet(tmp_path / "t")["x"].sum()) == 1999999000000
