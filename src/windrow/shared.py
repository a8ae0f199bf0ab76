"""What all ranks share beside arrays: `windrow.shared` is `windrow.arrays.shared`, loaded when it is first needed."""

from . import _load_space
from .arrays.shared import *

_load_space("shared")
