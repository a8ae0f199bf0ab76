"""dask's collections on the ranks: `windrow.dask` is `windrow.arrays.interop.dask`, loaded when it is first needed."""

from . import _load_space
from .arrays.interop.dask import *

_load_space("dask")
