"""Sources that take their time: read at once by I/O threads, beside what else is computed. JSON; on ranks too."""

import json
import os
import sys
import tempfile
import threading
import time

import numpy as np

import windrow as wr

WHOLE = np.arange(4_000.0).reshape(20, 200)
TOGETHER = 3
"""Readings that must have begun before any ends: more than one for each of two ranks."""


def wait_until(holds, limit=20):
    """Wait until something holds; return whether it does."""
    deadline = time.monotonic() + limit
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


class Slow:
    """Its readings wait for each other, and for what is computed beside; they say so in files, as ranks read copies."""

    shape, dtype, ndim = WHOLE.shape, WHOLE.dtype, 2

    def __init__(self, folder, together=TOGETHER):
        self.notes, self.computed = os.path.join(folder, "notes"), os.path.join(folder, "computed")
        self.together = together
        open(self.notes, "w").close()

    def __getitem__(self, key):
        self.note("+")
        if not wait_until(lambda: self.said().count("+") >= self.together and os.path.exists(self.computed)):
            self.note("!")
        self.note("-")
        return WHOLE[key]

    def note(self, letter):
        with open(self.notes, "a") as file:
            file.write(letter)

    def said(self):
        with open(self.notes) as file:
            return file.read()


class Stuck(Slow):
    def __reduce__(self):
        raise TypeError("it stays where it is")


class Counted(Slow):
    """Notes each reading in a file, since ranks read copies."""

    def __init__(self, path):
        self.notes = path

    def __getitem__(self, key):
        self.note("x")
        time.sleep(0.02)
        return WHOLE[key]


class Broken(Slow):
    def __getitem__(self, key):
        if key[0].start == 7:
            raise OSError("a block that can't be read")
        return WHOLE[key]


class Mended(Slow):
    """Raises while its file is there; gives other values afterwards."""

    def __init__(self, path, error):
        self.path, self.error = path, error

    def __getitem__(self, key):
        broken = os.path.exists(self.path)
        if broken and key[0].start == 7:
            raise self.error
        return WHOLE[key] if broken else WHOLE[key] + 1


def try_again(error):
    """Return what comes of a source that raises, and is asked again while its error is still held."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "broken")
        open(path, "x").close()
        x = wr.from_array(Mended(path, error), chunks=(1, 200))
        for act in (lambda: wr.compute(x.mean(), x.std()), lambda: x.compute()):
            try:
                act()
            except BaseException as caught:
                held = caught
        os.remove(path)
        right = np.array_equal(x.compute(), WHOLE + 1) and float(x.mean()) == (WHOLE + 1).mean()
        return [type(held).__name__, bool(right)]


def count_readings():
    """Return how often blocks are read by two reductions at once, and by what needs both and the source again."""
    with tempfile.NamedTemporaryFile() as file:
        x = wr.from_array(Counted(file.name), chunks=(1, 200))
        mean, std = wr.compute(x.mean(), x.std())
        assert np.allclose([mean, std], [WHOLE.mean(), WHOLE.std()])
        both = os.path.getsize(file.name)
        scaled = ((x - x.mean()) / x.std()).compute()
        assert np.allclose(scaled, (WHOLE - WHOLE.mean()) / WHOLE.std())
        return [both, os.path.getsize(file.name) - both]


def most_at_once(notes):
    """Return how many readings were under way together, at most, and that none waited in vain (or -1)."""
    if "!" in notes:
        return -1
    return int(np.cumsum([{"+": 1, "-": -1}[letter] for letter in notes]).max())


def read_beside(source, act):
    """Compute while small arrays are computed beside; return the result."""
    x = wr.from_array(source, chunks=(1, 200))
    results = []
    thread = threading.Thread(target=lambda: results.append(np.asarray(act(x))))
    thread.start()
    wait_until(source.said)
    for _ in range(3):
        wr.ones(3).sum().compute()
    open(source.computed, "x").close()
    thread.join()
    return results[0]


def measure():
    found = {"readings": count_readings(), "again": [try_again(OSError("broken")), try_again(SystemExit(3))]}
    for kind in (Slow, Stuck):
        for name, act, wanted in (
            ("sum", lambda x: (x + 1).sum(), (WHOLE + 1).sum()),
            ("whole", lambda x: x, WHOLE),
            ("part", lambda x: x[:, 3:7] * 2, WHOLE[:, 3:7] * 2),
            ("points", lambda x: x[[3, 19, 4], [7, 8, 100]], WHOLE[[3, 19, 4], [7, 8, 100]]),
            ("turned", lambda x: x[::-3, ::-2] @ np.ones(100), WHOLE[::-3, ::-2] @ np.ones(100)),
        ):
            with tempfile.TemporaryDirectory() as folder:
                source = kind(folder)
                right = bool(np.array_equal(read_beside(source, act), wanted))
                found[f"{kind.__name__} {name}"] = [right, most_at_once(source.said())]
        with tempfile.TemporaryDirectory() as folder:
            source = kind(folder, together=1)
            open(source.computed, "x").close()
            held = wr.from_array(source, chunks=(1, 200), lock=True)
            right = bool((held.compute() == WHOLE).all())
            found[f"{kind.__name__} locked"] = [right, most_at_once(source.said())]
    with tempfile.TemporaryDirectory() as folder:
        found["notes"] = [str(wr.explain(wr.from_array(kind(folder), chunks=(5, 200)) + 1)) for kind in (Slow, Stuck)]
        try:
            wr.from_array(Broken(folder), chunks=(1, 200)).sum().compute()
        except wr.FileError as error:
            found["error"] = str(error)
    return found


if __name__ == "__main__":
    json.dump(measure(), sys.stdout)
    print()
