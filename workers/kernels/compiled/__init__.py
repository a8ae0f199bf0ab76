"""Compiled kernels: a program as one loop of machine code, with the interpreter's bits."""

from .courses import Places, store_wide
from .dispatch import reduce
from .strided import store

__all__ = ["Places", "reduce", "store", "store_wide"]
