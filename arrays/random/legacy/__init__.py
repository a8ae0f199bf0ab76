"""What `numpy.random` has besides generators."""
