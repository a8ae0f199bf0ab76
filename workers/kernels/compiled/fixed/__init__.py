"""Compiled loops that copy, whatever the program: pieces of moved blocks, and tiles that are read transposed."""
