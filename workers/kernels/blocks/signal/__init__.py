"""Lines: Fourier transforms, and NumPy's functions of neighbours along them."""
