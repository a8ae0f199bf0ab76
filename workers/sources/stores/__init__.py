"""Chunked stores (zarr, HDF5) as every rank reads and writes them."""
