"""SciPy's functions of signals, on lazy arrays: `windrow.signal`."""

from __future__ import annotations

from .convolution import convolve, correlate, fftconvolve, oaconvolve
from .lines import decimate, detrend, filtfilt, hilbert, resample, resample_poly, savgol_filter, sosfiltfilt, upfirdn
from .ranks import medfilt, order_filter
from .recursive import lfilter, sosfilt
from .spectra import coherence, csd, periodogram, spectrogram, welch

__all__ = [
    "coherence",
    "convolve",
    "correlate",
    "csd",
    "decimate",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "hilbert",
    "lfilter",
    "medfilt",
    "oaconvolve",
    "order_filter",
    "periodogram",
    "resample",
    "resample_poly",
    "savgol_filter",
    "sosfilt",
    "sosfiltfilt",
    "spectrogram",
    "upfirdn",
    "welch",
]
