"""Keras models on chunks: `windrow.ml.distribute`, and a `Sequential` that trains so by itself."""

from __future__ import annotations

from .distribute import Distributed, distribute

__all__ = ["Distributed", "distribute"]
