"""Lines and images: Fourier transforms, filters, windows, interpolation, labels."""
