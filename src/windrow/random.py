"""Random numbers: `windrow.random` is `windrow.arrays.random`, loaded when it is first needed."""

from . import _load_space
from .arrays.random import *

_load_space("random")
