"""Fourier transforms: `windrow.fft`."""

from __future__ import annotations

__all__: list[str] = []
