"""Chunk grids of arrays: rechunking, whole axes, margins of neighbouring chunks."""
