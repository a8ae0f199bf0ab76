"""Compiled loops that draw random numbers."""
