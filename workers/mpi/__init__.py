"""Ranks as MPI processes. Importing this package does not import MPI: `start` does, when it is asked to."""
