"""Chunks for a whole computation: sources in other chunks, and which of them cost least."""
