"""Expressions: immutable nodes, their names, where they come from, and how they travel."""
