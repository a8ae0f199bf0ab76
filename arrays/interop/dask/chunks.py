"""Chunks of lazy arrays as nodes of dask's graphs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ...base import ArrayBase
from ...execution.compute import compute_array, persist
from .layout import Task

_threads = threading.local()


class ChunkTask(Task):  # type: ignore[misc] # dask has no types
    """A node that has a chunk of a lazy array computed."""

    __slots__ = ()

    def __call__(self, values: Any = ()) -> Any:
        chunks: dict[int, Any] = getattr(_threads, "chunks", {})
        return chunks[id(self)] if id(self) in chunks else super().__call__(values)

    @property
    def block_fusion(self) -> bool:
        """Whether dask leaves this node as it is: yes, so that all chunks are computed together."""
        return True


def take_chunk(chunk: Any) -> Any:
    """Return a chunk; a task on a rank gets it computed."""
    return np.asarray(compute_array(chunk)) if isinstance(chunk, ArrayBase) else chunk


def run_with_chunks(node: Any, values: dict[Any, Any], chunks: dict[int, Any]) -> Any:
    """Run a node in which there are nodes of chunks, whose values are there, by their identity."""
    outer = getattr(_threads, "chunks", {})
    _threads.chunks = chunks
    try:
        return node(values)
    finally:
        _threads.chunks = outer


def compute_together(nodes: dict[Any, Any]) -> None:
    """Have the chunks of lazy arrays in a graph computed, those of one array together."""
    keys = [key for key, node in nodes.items() if type(node) is ChunkTask]
    if not keys:
        return
    kept = persist(*(nodes[key].args[0] for key in keys))
    for key, each in zip(keys, kept, strict=True):
        nodes[key] = ChunkTask(key, take_chunk, each)
