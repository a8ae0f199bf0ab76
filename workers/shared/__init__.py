"""What all ranks see: shared objects and arrays, one-sided arrays, spaces."""
