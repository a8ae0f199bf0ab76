"""Filters and spectra of signals: `windrow.signal` is `windrow.arrays.filtering`, loaded when it is first needed."""

from . import _load_space
from .arrays.filtering import *

_load_space("signal")
