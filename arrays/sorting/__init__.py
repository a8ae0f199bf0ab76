"""Sorting, sets, searching, quantiles."""
