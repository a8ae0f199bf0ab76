"""Courses: all calls that make a block tile by tile, done one after the other without Python's lock."""
