"""Chunks of any sizes, and axes that no operation brings into one chunk first."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import strategies as st

from windrow.arrays.chunking import coalesce


@st.composite
def cut(draw, n):
    """Sizes of chunks of an axis of n elements, some without elements."""
    ends = sorted(draw(st.lists(st.integers(0, n), max_size=6)))
    return tuple(np.diff([0, *ends, n]).tolist())


@contextmanager
def chunks_kept_apart():
    """Let no axis be brought into one chunk that is longer than the chunks it has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coalesce, "SMALLEST", 1)
        patch.setattr(coalesce, "SMALL_BYTES", 1)
        patch.setattr(coalesce, "FEW_CHUNKS", 1 << 30)
        yield
