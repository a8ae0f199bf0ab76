"""Functions of each element: ufuncs, and what is none in NumPy."""
