"""Compiled loops for functions of whole blocks, whatever the program."""
