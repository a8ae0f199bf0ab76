"""Fourier transforms: `windrow.fft`."""

from __future__ import annotations

from .frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from .grids import fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn
from .lines import fft, hfft, ifft, ihfft, irfft, rfft

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
