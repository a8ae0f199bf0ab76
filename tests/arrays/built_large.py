"""Builds what public functions make of one array of 10**10 elements; prints what takes long or much memory to build.

Nothing is computed: what a function does here it does on the driver, before any rank has work.
"""

import json
import resource
import signal
import sys
import time
import tracemalloc
import warnings

import numpy as np
import scipy.ndimage
import scipy.signal
import scipy.stats  # noqa: F401 - what is imported isn't measured

import windrow as wr

N = 10**10
SECONDS, BYTES = 1.0, 10_000_000
LIMIT = 8 << 30

MODULES = {
    "": wr,
    "linalg.": wr.linalg,
    "fft.": wr.fft,
    "signal.": wr.signal,
    "ndimage.": wr.ndimage,
    "stats.": wr.stats,
}

COMPUTES = {"compute", "persist", "wait", "store", "save", "load", "explain", "visualize", "task_graph"}
"""They compute, write, or tell of each task: that is what they are for."""
COMPUTES |= {"allclose", "array_equal", "array_equiv", "array_repr", "array_str", "array2string"}

ITEMS = {"block", "broadcast_arrays", "broadcast_shapes", "column_stack", "concat", "concatenate", "dstack", "empty"}
"""They take a sequence: the array's items, or its elements as a shape."""
ITEMS |= {"einsum_path", "from_dask", "full", "hstack", "indices", "ix_", "lexsort", "linalg.multi_dot", "meshgrid"}
ITEMS |= {"ones", "random", "ravel_multi_index", "row_stack", "stack", "unstack", "vstack", "zeros"}

LONG = {"signal.periodogram", "signal.spectrogram", "ndimage.zoom"}
"""They return frequencies, or times, in a NumPy array as long as the line; or have a node for each of many chunks."""

ARGUMENTS = {
    "argpartition": (5,), "partition": (5,), "broadcast_to": ((2, N),), "repeat": (3,), "tile": (3,), "roll": (7,),
    "delete": (5,), "insert": (5, 1.0), "append": (1.0,), "pad": (3,), "take": ([1, 5],), "rot90": (), "topk": (3,),
    "argtopk": (3,), "percentile": (50,), "quantile": (0.5,), "clip": (0, 1),
    "reshape": ((10, N // 10),), "resize": ((N + 7,),), "split": (4,), "array_split": (3,), "kron": ([1.0, 2.0],),
    "expand_dims": (0,), "astype": ("f4",), "sliding_window_view": (7,), "moveaxis": (0, 0), "swapaxes": (0, 0),
    "map_overlap": (abs,), "isin": ([1.0],), "searchsorted": (0.5,), "digitize": ([0.5],), "full_like": (1,),
    "signal.decimate": (4,), "signal.resample": (1000,), "signal.resample_poly": (2, 3), "signal.savgol_filter": (5, 2),
    "ndimage.gaussian_filter": (2,), "ndimage.shift": (3,), "ndimage.zoom": (2,), "ndimage.rank_filter": (1, 3),
}  # fmt: skip
MORE = [
    ("repeat counts", lambda x: wr.repeat(x, np.array([2]))),
    ("repeat axis", lambda x: wr.repeat(x.reshape(10, -1), 3, axis=1)),
    ("tile axis", lambda x: wr.tile(x.reshape(10, -1), (2, 3))),
    ("delete slice", lambda x: wr.delete(x, slice(5, 10**9))),
    ("delete positions", lambda x: wr.delete(x, [5, 10**9, -1])),
    ("insert positions", lambda x: wr.insert(x, [5, 10**9, -1], [1.0, 2.0, 3.0])),
    ("kron", lambda x: wr.kron(x[: 10**5], x[: 10**5])),
    ("blocks", lambda x: x.blocks[::2]),
    *((f"pad {mode}", lambda x, mode=mode: wr.pad(x, 10**9, mode)) for mode in (
        "constant", "edge", "linear_ramp", "maximum", "mean", "minimum", "reflect", "symmetric", "wrap", "empty")),
    ("pad odd", lambda x: wr.pad(x, 10**9, "reflect", reflect_type="odd")),
    ("pad many turns", lambda x: wr.pad(x[:7], 10**9, "reflect")),
    ("trim", lambda x: wr.overlap.trim_internal(wr.overlap.overlap(x, 3, "periodic"), {0: 3}, "periodic")),
    ("filtfilt", lambda x: wr.signal.filtfilt([0.5, 0.5], [1.0], x)),
    ("sosfiltfilt", lambda x: wr.signal.sosfiltfilt([[0.5, 0.5, 0, 1, 0, 0]], x)),
    ("upfirdn", lambda x: wr.signal.upfirdn([1, 1, 1], x, 2, 3)),
    ("detrend parts", lambda x: wr.signal.detrend(x, bp=[5, 10**9])),
    ("welch of one chunk", lambda x: wr.signal.welch(x.rechunk(-1))),
    ("welch median", lambda x: wr.signal.welch(x, average="median")),
    ("csd", lambda x: wr.signal.csd(x, x, nperseg=512)),
    ("coherence", lambda x: wr.signal.coherence(x, x)),
]  # fmt: skip


class TooLong(BaseException):
    pass


def stop(*_):
    raise TooLong


def measure(call):
    """Return (what it raised, seconds of the processor, bytes at most)."""
    tracemalloc.start()
    signal.setitimer(signal.ITIMER_REAL, 10)
    begin, raised = time.process_time(), None
    try:
        call()
    except TooLong:
        raised = "too long"
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"[:200]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    seconds, most = time.process_time() - begin, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return raised, seconds, most


def calls():
    line = wr.random.default_rng(1).random(N, chunks=10**8)
    for prefix, module in MODULES.items():
        for name in sorted(getattr(module, "__all__", None) or dir(module)):
            function, full = getattr(module, name), prefix + name
            if name.startswith("_") or isinstance(function, type) or not callable(function):
                continue
            if full not in COMPUTES | ITEMS | LONG:
                yield full, lambda function=function, full=full: function(line, *ARGUMENTS.get(full, ()))
    for name, call in MORE:
        yield name, lambda call=call: call(line)


warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
signal.signal(signal.SIGALRM, stop)
slow, refused, built = {}, {}, []
for name, call in calls():
    raised, seconds, most = measure(call)
    if seconds > SECONDS or most > BYTES:  # the first call imports, and compiles patterns
        raised, seconds, most = measure(call)
    if raised is not None:
        refused[name] = raised
    else:
        built.append(name)
    if raised == "too long" or seconds > SECONDS or most > BYTES:
        slow[name] = [raised, round(seconds, 2), most]
    if len(sys.argv) > 1:
        print(name, raised, round(seconds, 3), most, flush=True)
print(json.dumps({"slow": slow, "refused": refused, "built": built}))
