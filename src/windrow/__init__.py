"""Windrow: lazy, chunked, NumPy-like arrays on MPI.

>>> import windrow as wr
>>> x = wr.random.default_rng(1).random((4000, 1000), chunks=(1000, 1000))
>>> (x - x.mean(axis=0)).std().compute().round(3)
np.float64(0.289)

A name that a module lists in its `__all__` is exported here; nothing else says what Windrow offers.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import TYPE_CHECKING, Any

from numpy import (
    False_,
    True_,
    bool,
    bool_,
    byte,
    bytes_,
    cdouble,
    character,
    complex64,
    complex128,
    complexfloating,
    csingle,
    datetime64,
    double,
    dtype,
    e,
    errstate,
    euler_gamma,
    flexible,
    float16,
    float32,
    float64,
    floating,
    generic,
    half,
    index_exp,
    inexact,
    inf,
    int8,
    int16,
    int32,
    int64,
    int_,
    intc,
    integer,
    intp,
    long,
    longlong,
    nan,
    ndindex,
    newaxis,
    number,
    pi,
    s_,
    short,
    signedinteger,
    single,
    str_,
    timedelta64,
    ubyte,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    uintc,
    uintp,
    ulong,
    ulonglong,
    unsignedinteger,
    ushort,
)

from .arrays import fft, linalg, random, testing
from .arrays.array import Array
from .arrays.chunking.rechunk import *
from .arrays.creation.arrow import *
from .arrays.creation.diagonals import *
from .arrays.creation.filled import *
from .arrays.creation.from_data import *
from .arrays.creation.meshgrids import *
from .arrays.creation.ranges import *
from .arrays.display.explain import *
from .arrays.display.operation_graph import *
from .arrays.display.visualize import *
from .arrays.execution.compute import *
from .arrays.files.folder import *
from .arrays.files.npy import *
from .arrays.files.parquet import *
from .arrays.files.store import *
from .arrays.indexing.conditional import *
from .arrays.indexing.index_functions import *
from .arrays.indexing.nonzero import *
from .arrays.indexing.points import *
from .arrays.indexing.putting import *
from .arrays.interop.array_api import *
from .arrays.interop.dlpack import *
from .arrays.interop.dtypes import *
from .arrays.interop.introspection import *
from .arrays.linalg.einsum import *
from .arrays.ops.broadcasting import *
from .arrays.ops.cumulative import *
from .arrays.ops.editing import *
from .arrays.ops.elementwise import *
from .arrays.ops.extremes import *
from .arrays.ops.flipping import *
from .arrays.ops.joining import *
from .arrays.ops.missing import *
from .arrays.ops.moving import *
from .arrays.ops.predicates import *
from .arrays.ops.products import *
from .arrays.ops.reductions import *
from .arrays.ops.reshape_blockwise import *
from .arrays.ops.reshaping import *
from .arrays.ops.sliding_window import *
from .arrays.ops.splitting import *
from .arrays.ops.spreads import *
from .arrays.ops.stacking import *
from .arrays.ops.taking import *
from .arrays.ops.ufuncs import *
from .arrays.ops.vectors import *
from .arrays.signal.differences import *
from .arrays.signal.filters import *
from .arrays.signal.padding import *
from .arrays.signal.polynomials import *
from .arrays.signal.window_functions import *
from .arrays.sorting import *
from .arrays.statistics.central import *
from .arrays.statistics.comparing import *
from .arrays.statistics.counts import *
from .arrays.statistics.histograms import *
from .arrays.statistics.joint import *
from .arrays.statistics.moments import *
from .arrays.statistics.nans import *
from .arrays.user_functions import overlap
from .arrays.user_functions.along_axis import *
from .arrays.user_functions.blockwise import *
from .arrays.user_functions.coarsen import *
from .arrays.user_functions.gufunc import *
from .arrays.user_functions.map_blocks import *
from .arrays.user_functions.overlap import map_overlap
from .arrays.user_functions.reduction import *
from .graph.errors import (
    ArgumentError,
    AxisError,
    BadValue,
    ChunksError,
    ClusterError,
    DTypeError,
    FileError,
    FileExists,
    FileFormatError,
    IndexingError,
    LostWrite,
    MissingFile,
    OutOfMemory,
    ShapeError,
    SourceChanged,
    WaitTimeout,
    WindrowError,
)
from .scheduler.cluster import Cluster
from .scheduler.cluster import current as cluster
from .workers.boundary import publish as _publish
from .workers.config import config

if TYPE_CHECKING:
    from . import ml

__version__ = "0.1.0"


def _missing(space: str, name: str) -> Any:
    raise importlib.import_module(".arrays.interop.unsupported", __name__).missing_function(name, space)


for _space in (fft, linalg, overlap, random, testing):  # so that `from windrow.linalg import norm` works as with NumPy
    _name = _space.__name__.rpartition(".")[2]
    sys.modules[f"{__name__}.{_name}"] = _space
    _publish(_space.__name__, plain=True)
    vars(_space).setdefault("__getattr__", functools.partial(_missing, _name))


_publish(__name__, list(globals()), plain=True)
_publish(f"{__name__}.arrays.indexing.block_view", ["BlockView"], plain=True, indexed="blocks")


def __getattr__(name: str) -> Any:
    if name == "ml":
        return importlib.import_module(".ml", __name__)
    if name == "ma":
        return importlib.import_module(".graph.foreign", __name__).Ma()
    raise importlib.import_module(".arrays.interop.unsupported", __name__).missing_function(name, "")


_OTHER = {
    "annotations",
    "functools",
    "importlib",
    "sys",
    "TYPE_CHECKING",
    "Any",
    "arrays",
    "graph",
    "scheduler",
    "workers",
}
_STANDARD = {"__version__", "__array_api_version__", "__array_namespace_info__"}
__all__ = sorted({name for name in globals() if not name.startswith("_")} - _OTHER | _STANDARD | {"ml"})


def __dir__() -> list[str]:
    return __all__
