"""Loops whose steps follow each other without a word with the driver: traced, and run by stages or as a gang."""
