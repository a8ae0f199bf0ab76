"""Kernels: what a program's values are computed with. A program names them; they live here."""
