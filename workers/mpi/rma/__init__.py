"""Ranks' arenas, and reads of other ranks' memory."""
