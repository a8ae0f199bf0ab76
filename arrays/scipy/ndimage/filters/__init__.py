"""Filters of images by blocks with margins."""
