"""Matrices by blocks: factors, triangular systems, diagonals."""
