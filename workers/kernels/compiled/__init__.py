"""Compiled kernels: a program as one loop of machine code, with the interpreter's bits."""

from .dispatch import reduce
from .strided import store

__all__ = ["reduce", "store"]
