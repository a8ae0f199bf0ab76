"""Statistics of samples: `windrow.stats` is `windrow.arrays.stats`, loaded when it is first needed."""

from . import _load_space
from .arrays.stats import *

_load_space("stats")
