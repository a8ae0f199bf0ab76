"""Compiled kernels: a program as one loop of machine code, with the interpreter's bits."""

from .courses.courses import Places, store_wide
from .fused.dispatch import reduce
from .fused.strided import store

__all__ = ["Places", "reduce", "store", "store_wide"]
