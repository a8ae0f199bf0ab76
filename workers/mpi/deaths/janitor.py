"""A tiny process that outlives the driver and cleans up after it. A script; it imports nothing of Windrow.

It reads lines from its standard input, whose other end only the driver holds, and watches the driver itself:

- ``guard PID``: a rank on this host. Its process is held by a pidfd, so that its number cannot come to mean
  another.
- ``daemon PID``: the launcher, which is given time to leave by itself.
- ``launcher PID SECONDS``: one that may wait for ranks it can't reach, as `mpirun` does: so many seconds after the
  driver's end it is asked to end, more than once since the first time it waits for its daemons, and then killed.
- ``folder PATH``: a folder to delete in the end.
- ``leave SECONDS PID…``: these ranks have been told to stop; what is still there after that many seconds is
  killed.
- ``quiet``: the driver leaves in good order.

With "tell" as the third argument, file 3 is the driver's standard error, and file 4 a memory in which the driver
notes which of its users' functions run: when it ends without a word, they are named. File 5 is a pipe with the number
of each signal that the driver gets, written by C code: of a driver that was asked to end nothing is said.

When the driver is gone, by whatever end, the ranks get half a second to leave, then SIGKILL: a rank that sits
in C code holding the interpreter's lock hears nothing else. Then the folders go, and then the janitor.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

RANK_GRACE = 0.5
DAEMON_GRACE = 1.5
ASKED, ASKED_GRACE = 3, 2.0
KILLED_LIMIT = 2.0
NOTE_BYTES = 512


class Janitor:
    """What is guarded, and what is to be done at the end."""

    def __init__(self, driver: int, tells: bool) -> None:
        self.driver = driver
        self.tells = tells
        self.ranks: dict[int, int] = {}
        self.daemons: dict[int, int] = {}
        self.launchers: dict[int, tuple[int, float]] = {}
        self.folders: list[str] = []
        self.leaving: list[tuple[float, list[int]]] = []
        self.rest = b""

    def watch(self) -> None:
        """Do as told until the driver is gone."""
        poll = select.poll()
        poll.register(0, select.POLLIN)
        driver = open_process(self.driver)
        if driver is None:
            while self.read():
                pass
            return
        poll.register(driver, select.POLLIN)
        if self.tells:
            poll.register(5, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll(250 if self.leaving else None)}
            if 5 in ready and not hear():
                poll.unregister(5)
            if 0 in ready and not self.read():
                return
            if driver in ready:
                while self.read():  # what it said last still counts
                    pass
                return
            self.end_late()

    def read(self) -> bool:
        """Take what stands in the pipe; False at its end, or when nothing is there."""
        if not select.select([0], [], [], 0)[0]:
            return False
        data = os.read(0, 65536)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.obey(line.decode("utf-8", "surrogateescape"))
        return bool(data)

    def obey(self, line: str) -> None:
        word, _, what = line.partition(" ")
        if word in ("guard", "daemon"):
            held = {"guard": self.ranks, "daemon": self.daemons}[word]
            fd = None if int(what) in held else open_process(int(what))
            if fd is not None:
                held[int(what)] = fd
        elif word == "launcher":
            pid, seconds = what.split()
            fd = self.launchers[int(pid)][0] if int(pid) in self.launchers else open_process(int(pid))
            if fd is not None:
                self.launchers[int(pid)] = fd, float(seconds)
        elif word == "folder":
            self.folders.append(what)
        elif word == "quiet":
            hush()
        elif word == "leave":
            seconds, *pids = what.split()
            self.leaving.append((time.monotonic() + float(seconds), [int(p) for p in pids]))

    def end_late(self) -> None:
        """Kill the ranks that should have left by now, and forget those that have."""
        now = time.monotonic()
        for deadline, pids in self.leaving:
            if now >= deadline:
                for pid in pids:
                    fd = self.ranks.pop(pid, None)
                    if fd is not None:
                        kill(fd)
                        os.close(fd)
        self.leaving = [x for x in self.leaving if now < x[0]]

    def finish(self, kill_ranks: bool) -> None:
        """End what is left, or wait for it, and delete the folders."""
        if not kill_ranks:
            await_end(list(self.ranks.values()), None)
        begin = time.monotonic()
        for processes, grace in ((self.ranks, RANK_GRACE), (self.daemons, DAEMON_GRACE)):
            for fd in await_end(list(processes.values()), grace):
                kill(fd)
            await_end(list(processes.values()), KILLED_LIMIT)
        for folder in self.folders:
            remove(folder)
        for fd, seconds in self.launchers.values():
            left = await_end([fd], max(0.0, begin + seconds - time.monotonic()))
            for _ in range(ASKED):
                if left:
                    kill(fd, signal.SIGTERM)
                    left = await_end([fd], ASKED_GRACE)
            if left:
                kill(fd)


def notes() -> list[str]:
    """Return what the driver has noted; a note has its length in two bytes before it."""
    with contextlib.suppress(OSError):
        data = os.pread(4, os.fstat(4).st_size, 0)
        slots = [data[at : at + NOTE_BYTES] for at in range(0, len(data), NOTE_BYTES)]
        raw_notes = [slot[2 : 2 + int.from_bytes(slot[:2], "little")] for slot in slots]
        return [text.decode("utf-8", "replace") for text in raw_notes if text]
    return []


def hear() -> bool:
    """Read the signals that the driver got, and say nothing of its end if it was asked for; False when none can come.

    `mpirun` kills it a few milliseconds later: too few for a Python that is at something to tell of it.
    """
    numbers = os.read(5, 65536)
    if signal.SIGTERM in numbers:
        hush()
    return bool(numbers)


def hush() -> None:
    """Let go of the driver's standard error: whoever reads it waits for its end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (3, 4):
        os.dup2(nothing, fd, inheritable=False)  # closed ones would come again for something else
    os.close(nothing)


def speak(driver: int) -> None:
    """Say what the driver was at when it ended."""
    for text in notes():
        with contextlib.suppress(OSError):
            os.write(3, f"windrow: rank 0, the driver (pid {driver}), ended while it ran {text}\n".encode())
    hush()


def open_process(pid: int) -> int | None:
    """Return a pidfd, or None when the process is gone."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def kill(fd: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process, if it is still there."""
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(fd, number)


def await_end(fds: list[int], limit: float | None) -> list[int]:
    """Wait for processes to end; return those that have not within the limit in seconds, if there is one."""
    poll = select.poll()
    left = set(fds)
    for fd in left:
        poll.register(fd, select.POLLIN)
    deadline = None if limit is None else time.monotonic() + limit
    while left:
        wait = None if deadline is None else deadline - time.monotonic()
        if wait is not None and wait <= 0:
            break
        for fd, _ in poll.poll(None if wait is None else wait * 1000 + 1):
            left.discard(fd)
            poll.unregister(fd)
    return list(left)


def remove(folder: str) -> None:
    """Delete a folder and all in it; twice, since a process just killed may have written meanwhile."""
    for _ in range(2):
        for path, folders, files in os.walk(folder, topdown=False):
            for name in files + folders:
                full = os.path.join(path, name)
                with contextlib.suppress(OSError):
                    os.unlink(full) if name in files or os.path.islink(full) else os.rmdir(full)
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            return
        except OSError:
            continue


def main() -> None:
    """Guard the process whose number is the first argument.

    With "wait" as the second one that process is an ordinary rank, the first of its host: when it ends, the
    host's others may go on, so they are waited for, and the janitor only deletes.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    janitor = Janitor(int(sys.argv[1]), "tell" in sys.argv[3:])
    janitor.watch()
    if janitor.tells:
        if select.select([5], [], [], 0)[0]:
            hear()
        speak(janitor.driver)
    janitor.finish(kill_ranks="wait" not in sys.argv[2:])


if __name__ == "__main__":
    main()
