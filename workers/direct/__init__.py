"""Stages that the calling thread runs itself, over arrays in its memory."""

from .program import DirectProgram, is_direct, stand_for

__all__ = ["DirectProgram", "is_direct", "stand_for"]
