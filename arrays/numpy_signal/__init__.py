"""Lines of samples: filters, window functions, padding, differences, polynomials."""
