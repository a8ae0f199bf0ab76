"""Comparing lazy arrays in tests: `windrow.testing` is `windrow.arrays.testing`, loaded when it is first needed."""

from . import _load_space
from .arrays.testing import *

_load_space("testing")
