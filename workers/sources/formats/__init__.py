"""Formats that ranks read by themselves: stacks of `.npy` files, TIFF, images, tables; at paths and at URLs."""
