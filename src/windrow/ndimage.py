"""Filters, morphology and measurements of images: `windrow.ndimage` is `windrow.arrays.ndimage`, loaded when needed."""

from . import _load_space
from .arrays.ndimage import *

_load_space("ndimage")
