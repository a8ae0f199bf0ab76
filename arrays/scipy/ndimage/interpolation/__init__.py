"""Interpolation, splines, Fourier filters."""
