"""Linear algebra: `windrow.linalg` is `windrow.arrays.linalg`, loaded when it is first needed."""

from . import _load_space
from .arrays.linalg import *

_load_space("linalg")
