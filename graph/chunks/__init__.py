"""Chunk grids, and which positions and blocks of an operand a block of a result reads."""
