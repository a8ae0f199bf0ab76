"""Arrays stored in pieces: zarr, HDF5, TIFF, images, stacks of .npy files."""
