"""Shared arrays in pages, as the driver keeps them: versions, updates, and who holds which page."""
