"""Compiled kernels: a program as one loop of machine code, with the interpreter's bits."""

from .dispatch import reduce, store

__all__ = ["reduce", "store"]
