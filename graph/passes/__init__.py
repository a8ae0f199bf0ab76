"""Rewrites of the graph that keep every value, a file for each."""
