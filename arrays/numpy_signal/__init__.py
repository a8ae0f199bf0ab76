"""NumPy's functions of lines of samples: filters, window functions, padding, differences, polynomials."""
