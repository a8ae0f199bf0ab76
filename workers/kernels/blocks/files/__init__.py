"""Blocks written to files and stores, and read from tables."""
