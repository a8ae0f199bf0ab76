"""Reductions and running sums along axes."""
