"""Filters and spectra of signals: `windrow.signal` is `windrow.arrays.scipy.signal`, loaded when it is first needed."""

from . import _load_space
from .arrays.scipy.signal import *

_load_space("signal")
