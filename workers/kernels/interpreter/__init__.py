"""The tile interpreter: a program run over frames of blocks, tile by tile, with NumPy's own kernels."""
