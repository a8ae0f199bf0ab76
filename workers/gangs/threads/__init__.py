"""Communicators of threads of one process, with mpi4py's interface."""
