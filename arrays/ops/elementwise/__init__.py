"""Elementwise functions: NumPy's ufuncs, and functions that are no ufuncs in NumPy."""
