"""The driver's part in what all ranks see: shared objects and arrays, one-sided arrays, spaces."""
