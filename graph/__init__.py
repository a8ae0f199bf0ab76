"""The symbolic graph: expressions, chunk grids, kinds of operation, passes, stages and programs.

Pure data and arithmetic on NumPy arrays; no I/O, nothing of ranks. A graph has one node for each array operation;
what a chunk task reads follows from index arithmetic that each kind of operation declares once.
"""
