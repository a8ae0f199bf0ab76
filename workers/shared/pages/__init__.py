"""Shared arrays in pages: files of the driver's, what tasks see of them, and copies on other hosts."""
