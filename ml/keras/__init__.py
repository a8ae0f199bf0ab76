"""Keras models on chunks: `windrow.ml.distribute`, and a `Sequential` that is distributed by itself."""

from __future__ import annotations

from .distribute import Distributed, distribute

__all__ = ["Distributed", "distribute"]
