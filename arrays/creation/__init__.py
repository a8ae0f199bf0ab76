"""Making arrays: filled ones, ranges, grids of coordinates, diagonals, and arrays of what the user has."""
