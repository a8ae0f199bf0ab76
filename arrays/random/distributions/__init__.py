"""Distributions, by kind."""
