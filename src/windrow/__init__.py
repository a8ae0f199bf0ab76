"""Windrow: lazy, chunked, NumPy-like arrays on MPI.

>>> import windrow as wr
>>> x = wr.random.default_rng(1).random((4000, 1000), chunks=(1000, 1000))
>>> y = (x - x.mean(axis=0)).std()  # nothing is computed yet
>>> y.compute().round(3)
np.float64(0.289)

Functions and methods have NumPy's names and mean what they mean there; NumPy's own functions take lazy arrays, too.
`help(wr.NAME)` tells of one name, and where it differs from NumPy; `dir(wr)` lists all. By subject, for an array `x`:

Create, of chunks that `chunks=` says
    array, asarray, from_array, arange, linspace, zeros, ones, full, eye, meshgrid, fromfunction, random.default_rng
Compute, into NumPy arrays; or keep chunks where they are made
    compute, x.compute, persist, x.persist, wait, x.release
Look: what would run, as text and as a picture
    explain, plan, visualize, x.shape, x.dtype, x.chunks, x.nbytes
Elementwise: all of NumPy's ufuncs, and more
    add, sqrt, isnan, where, clip, round
Over axes
    sum, mean, std, max, argmax, cumsum, histogram, percentile, sort, argsort, unique, topk, searchsorted
Move, beside `x[key]` and `x[key] = value`
    take, reshape, transpose, concatenate, stack, pad, roll, tile, repeat
Products and transforms
    matmul, einsum, tensordot, linalg.qr, linalg.svd, linalg.solve, fft.fft
Chunks; `config.chunk_bytes` is what `chunks="auto"` aims at
    rechunk, x.rechunk, x.blocks, x.npartitions, x.chunksize
Functions of your own, which see chunks as NumPy arrays
    map_blocks, map_overlap, blockwise, reduction, apply_along_axis, apply_gufunc, coarsen
Files, read and written by all ranks, and those of others at paths and URLs
    save, load, from_npy, to_npy, from_zarr, from_hdf5, from_tiff, imread, read_parquet, to_parquet, read_csv, store
Ranks; without any, threads of this process compute
    Cluster, cluster, arena, rank, size, comm
Settings; the environment's WINDROW_... and ~/.config/windrow/config.toml set them, too
    config, config.set
Training (extra "ml"): scikit-learn's estimators, Keras models, steps of your own, searches, joblib's backend "windrow"
    ml.train, ml.linear_model, ml.search, ml.Fitted, ml.distribute
Errors, which are the built-in ones, too, that NumPy would raise
    WindrowError, ShapeError, ArgumentError, ClusterError, OutOfMemory

The same script runs on ranks: `python -m windrow -n 4 script.py` starts four, and so does `wr.Cluster(ranks=4)` within
a script or notebook; under a launcher it is `mpirun --with-ft ulfm -n 4 python -m windrow script.py`.
With `--spmd` every rank runs the script.
`python -m windrow doctor` tells what was found on a machine, and what to do about problems.

The documents are in the folder `docs` of the sources, of which `make site` makes a site: start.md, guides (from NumPy,
dask and MPI; chunks, laziness, memory, files, ranks, failures, training), operations.md (all functions, and what NumPy
has besides), settings.md, limits.md.
"""

import importlib as _importlib
import sys as _sys
import types as _types
import typing as _typing

from .arrays.array import Array as Array
from .arrays.chunking.rechunk import *
from .arrays.creation.arrow import *
from .arrays.creation.diagonals import *
from .arrays.creation.filled import *
from .arrays.creation.from_arrow import *
from .arrays.creation.from_data import *
from .arrays.creation.meshgrids import *
from .arrays.creation.ranges import *
from .arrays.execution.compute import *
from .arrays.files.folder import *
from .arrays.files.npy import *
from .arrays.files.tables.parquet import *
from .arrays.files.writing.store import *
from .arrays.indexing.conditional import *
from .arrays.indexing.index_functions import *
from .arrays.indexing.nonzero import *
from .arrays.indexing.views.points import *
from .arrays.indexing.writes.putting import *
from .arrays.interop.array_api import *
from .arrays.interop.dlpack import *
from .arrays.interop.dtypes import *
from .arrays.interop.from_numpy import *
from .arrays.interop.introspection import *
from .arrays.interop.spaces import missing as _missing
from .arrays.interop.spaces import publish_space as _publish_space
from .arrays.loops.calls import *
from .arrays.loops.jit import *
from .arrays.loops.scan import *
from .arrays.numpy_signal.differences import *
from .arrays.numpy_signal.filters import *
from .arrays.numpy_signal.padding import *
from .arrays.numpy_signal.window_functions import *
from .arrays.ops.elementwise.functions import *
from .arrays.ops.elementwise.predicates import *
from .arrays.ops.elementwise.ufuncs import *
from .arrays.ops.moves.axis_moves import *
from .arrays.ops.moves.broadcasting import *
from .arrays.ops.moves.editing import *
from .arrays.ops.moves.flipping import *
from .arrays.ops.moves.joining import *
from .arrays.ops.moves.reshape_blockwise import *
from .arrays.ops.moves.reshaping import *
from .arrays.ops.moves.sliding_window import *
from .arrays.ops.moves.splitting import *
from .arrays.ops.moves.stacking import *
from .arrays.ops.moves.taking import *
from .arrays.ops.products.matrices import *
from .arrays.ops.products.vectors import *
from .arrays.ops.reductions.cumulative import *
from .arrays.ops.reductions.extremes import *
from .arrays.ops.reductions.missing import *
from .arrays.ops.reductions.spreads import *
from .arrays.ops.reductions.sums import *
from .arrays.sorting import *
from .arrays.statistics.central import *
from .arrays.statistics.comparing import *
from .arrays.statistics.counts import *
from .arrays.statistics.histograms import *
from .arrays.statistics.joint import *
from .arrays.statistics.moments import *
from .arrays.statistics.nan_positions import *
from .arrays.statistics.nan_spreads import *
from .arrays.statistics.nans import *
from .arrays.user_functions import overlap as overlap
from .arrays.user_functions.along_axis import *
from .arrays.user_functions.blockwise import *
from .arrays.user_functions.coarsen import *
from .arrays.user_functions.gufunc import *
from .arrays.user_functions.map_blocks import *
from .arrays.user_functions.overlap import map_overlap as map_overlap
from .arrays.user_functions.reduction import *
from .arrays.user_functions.spmd import *
from .graph.errors import *
from .scheduler.session.cluster import *
from .scheduler.session.runtime_context import *
from .workers.config import config as config
from .workers.public_api import publish as _publish

if _typing.TYPE_CHECKING:
    from . import dask as dask
    from . import fft as fft
    from . import linalg as linalg
    from . import ml as ml
    from . import ndimage as ndimage
    from . import random as random
    from . import shared as shared
    from . import signal as signal
    from . import stats as stats
    from . import testing as testing
    from .arrays.display.chunk_graphs import *
    from .arrays.display.explain import *
    from .arrays.display.operation_graph import *
    from .arrays.display.visualize import *
    from .arrays.files.chunked.hdf5 import *
    from .arrays.files.chunked.images import *
    from .arrays.files.chunked.npy_stack import *
    from .arrays.files.chunked.tiff import *
    from .arrays.files.chunked.zarr import *
    from .arrays.files.tables.csv import *
    from .arrays.files.tables.ipc import *
    from .arrays.interop.dask.conversion import *
    from .arrays.linalg.einsum import *
    from .arrays.numpy_signal.polynomials import *
    from .arrays.planning.plan import *
    from .arrays.tasks.delayed import *
    from .arrays.tasks.submit import *
    from .arrays.user_functions.filling import *

__version__ = "0.1.0"


_SPACES = {name: f".arrays.{name}" for name in ("fft", "linalg", "random", "shared", "testing")}
_SPACES |= {name: f".arrays.scipy.{name}" for name in ("ndimage", "signal", "stats")}
_SPACES |= {"dask": ".arrays.interop.dask", "overlap": ".arrays.user_functions.overlap"}
_LATER = {
    "einsum": ".arrays.linalg.einsum",
    "einsum_path": ".arrays.linalg.einsum",
    "explain": ".arrays.display.explain",
    "from_hdf5": ".arrays.files.chunked.hdf5",
    "from_dask": ".arrays.interop.dask.conversion",
    "from_npy_stack": ".arrays.files.chunked.npy_stack",
    "from_tiff": ".arrays.files.chunked.tiff",
    "imread": ".arrays.files.chunked.images",
    "from_zarr": ".arrays.files.chunked.zarr",
    "operation_graph": ".arrays.display.operation_graph",
    "plan": ".arrays.planning.plan",
    "polyfit": ".arrays.numpy_signal.polynomials",
    "push": ".arrays.user_functions.filling",
    "read_csv": ".arrays.files.tables.csv",
    "read_feather": ".arrays.files.tables.ipc",
    "read_ipc": ".arrays.files.tables.ipc",
    "stage_graph": ".arrays.display.chunk_graphs",
    "task_graph": ".arrays.display.chunk_graphs",
    "to_csv": ".arrays.files.tables.csv",
    "to_ipc": ".arrays.files.tables.ipc",
    "to_hdf5": ".arrays.files.chunked.hdf5",
    "to_npy_stack": ".arrays.files.chunked.npy_stack",
    "to_zarr": ".arrays.files.chunked.zarr",
    "visualize": ".arrays.display.visualize",
}
_LATER |= dict.fromkeys(("Executor", "Future", "gather", "map", "scatter", "submit"), ".arrays.tasks.submit")
_LATER |= dict.fromkeys(("Delayed", "delayed", "from_delayed"), ".arrays.tasks.delayed")
"""Functions that need much else, by the modules where they are: loaded when they are first asked for."""


def _load_space(name: str) -> _types.ModuleType:
    """Load a module of functions, and make it public; `windrow.linalg` is `windrow.arrays.linalg`."""
    found = _importlib.import_module(_SPACES[name], __name__)
    _sys.modules[f"{__name__}.{name}"] = found
    _publish_space(found.__name__, name, plain=True)
    return found


_publish(__name__, list(globals()), plain=True)
_publish(f"{__name__}.arrays.indexing.views.block_view", ["BlockView"], plain=True, indexed="blocks")
_load_space("overlap")


def __getattr__(name: str) -> _typing.Any:
    if name in _SPACES or name == "ml":
        return _importlib.import_module(f".{name}", __name__)
    if name in _LATER:
        globals()[name] = getattr(_importlib.import_module(_LATER[name], __name__), name)
        _publish(__name__, [name], plain=True)
        return globals()[name]
    if name == "__all__":  # `from windrow import *` asks first, and then takes what is there
        for each in (*_SPACES, *_LATER):
            getattr(_sys.modules[__name__], each)
    if name == "ma":
        return _importlib.import_module(".graph.migration_hints", __name__).Ma()
    return _missing("", name)


_PACKAGES = {"arrays", "graph", "scheduler", "workers"}
_STANDARD = {"__version__", "__array_api_version__", "__array_namespace_info__"}
_public = sorted(
    {name for name in globals() if not name.startswith("_")} - _PACKAGES
    | _STANDARD
    | _SPACES.keys()
    | _LATER.keys()
    | {"ml"}
)


def __dir__() -> list[str]:  # no __all__: by it help() would print all that each of these names does
    return _public.copy()
