"""Discrete Fourier transforms: `windrow.fft` is `windrow.arrays.fft`, loaded when it is first needed."""

from . import _load_space
from .arrays.fft import *

_load_space("fft")
