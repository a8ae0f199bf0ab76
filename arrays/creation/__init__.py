"""Creating arrays: filled ones, ranges, grids of coordinates, diagonals, and arrays of the user's data."""
