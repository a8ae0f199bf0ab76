"""SciPy's functions on blocks: filters of images and signals, interpolation, labels."""
