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


class Slow:
    shape, dtype, ndim = WHOLE.shape, WHOLE.dtype, 2

    def __getitem__(self, key):
        time.sleep(0.1)
        return WHOLE[key]


class Stuck(Slow):
    def __reduce__(self):
        raise TypeError("it stays where it is")


class Counted(Slow):
    """Notes each reading in a file, since ranks read copies."""

    def __init__(self, path):
        self.path = path

    def __getitem__(self, key):
        with open(self.path, "a") as file:
            file.write("x")
        time.sleep(0.02)
        return WHOLE[key]


class Broken(Slow):
    def __getitem__(self, key):
        if key[0].start == 7:
            raise OSError("a block that can't be read")
        return super().__getitem__(key)


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
            x = wr.from_array(kind(), chunks=(1, 200))
            made, waits = [], []
            thread = threading.Thread(target=lambda x=x, act=act, made=made: made.append(np.asarray(act(x))))
            begin = time.perf_counter()
            thread.start()
            while thread.is_alive():
                now = time.perf_counter()
                wr.ones(3).sum().compute()
                waits.append(time.perf_counter() - now)
                time.sleep(0.005)
            thread.join()
            found[f"{kind.__name__} {name}"] = [
                bool(np.array_equal(made[0], wanted)),
                time.perf_counter() - begin,
                float(np.median(waits)),
            ]
        held = wr.from_array(kind(), chunks=(1, 200), lock=True)
        begin = time.perf_counter()
        right = bool((held[:6].compute() == WHOLE[:6]).all())
        found[f"{kind.__name__} locked"] = [right, time.perf_counter() - begin, 0.0]
    found["notes"] = [str(wr.explain(wr.from_array(kind(), chunks=(5, 200)) + 1)) for kind in (Slow, Stuck)]
    try:
        wr.from_array(Broken(), chunks=(1, 200)).sum().compute()
    except wr.FileError as error:
        found["error"] = str(error)
    return found


if __name__ == "__main__":
    json.dump(measure(), sys.stdout)
    print()
