"""Filters and measurements of images: `windrow.ndimage` is `windrow.arrays.scipy.ndimage`, loaded when needed."""

from . import _load_space
from .arrays.scipy.ndimage import *

_load_space("ndimage")
