"""Objects in segments: an index, the pickle's head and its buffers, each at a multiple of 64 bytes.

So what is mapped is the object: its arrays lie over the mapped bytes. A segment's content begins with its token, which
tells it also where the bytes came by descriptor from another host.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np

from ...graph.errors import ClusterError
from .segment import SharedSegment

if TYPE_CHECKING:
    from ..wire.transport import Bytes

LINE = 64
TOKEN = 16


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc] # it has no types
    """Leaves out of the pickle the bytes of times, too, which NumPy doesn't hand out as buffers."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is np.ndarray and obj.dtype.kind in "mM":
            return _as_times, (obj.view(np.int64), obj.dtype)
        return super().reducer_override(obj)


def _as_times(numbers: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return numbers.view(dtype)


def write(value: Any) -> SharedSegment:
    """Return an object in a new sealed segment; OSError where there is no memory, others where it can't be pickled."""
    buffers: list[pickle.PickleBuffer] = []
    head = io.BytesIO()
    _Pickler(head, protocol=5, buffer_callback=buffers.append).dump(value)
    parts = [head.getbuffer(), *(buffer.raw() for buffer in buffers)]
    lengths = np.array([part.nbytes for part in parts], np.int64)
    index = np.array([len(parts), *lengths], np.int64).tobytes()
    begins = _begins(len(index), lengths)
    segment = SharedSegment.create("shared", int(begins[-1]))
    segment.write(memoryview(segment.name.token + index))
    for part, at in zip(parts, begins.tolist(), strict=False):
        segment.write(part, at)
    segment.seal()
    return segment


def _begins(index: int, lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return where the parts begin behind the index, and the end."""
    first = -(-(TOKEN + index) // LINE) * LINE
    begins: np.ndarray[Any, Any] = first + np.concatenate([[0], np.cumsum(-(-lengths // LINE) * LINE)])
    return begins


def read(memory: Bytes, token: bytes) -> Any:
    """Return the object of a token that lies in some memory, which must not be written as long as it is used."""
    if memory[:TOKEN].tobytes() != token:
        raise ClusterError("a shared object is gone: the driver has let go of it")
    count = int(memory[TOKEN : TOKEN + 8].view(np.int64)[0])
    lengths = memory[TOKEN + 8 : TOKEN + 8 + 8 * count].view(np.int64)
    begins = _begins(8 + 8 * count, lengths).tolist()
    head, *buffers = (memory[at : at + n] for at, n in zip(begins, lengths.tolist(), strict=False))
    return pickle.loads(head.data, buffers=[part.data for part in buffers])
