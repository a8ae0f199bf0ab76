"""Statistics of samples: `windrow.stats` is `windrow.arrays.scipy.stats`, loaded when it is first needed."""

from . import _load_space
from .arrays.scipy.stats import *

_load_space("stats")
