"""A program as one loop over elements in C order, or over boxes of a block."""
