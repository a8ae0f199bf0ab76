"""DLPack: exchanging arrays with other libraries in the driver's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ..base import ArrayBase, alias, check_device
from ..creation.from_data import from_array
from ..execution.compute import compute_array

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "from_dlpack",
]

CPU = (1, 0)
"""DLPack's name for memory of the host."""


def to_dlpack(
    x: ArrayBase,
    stream: object,
    max_version: tuple[int, int] | None,
    device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """Compute an array, and hand the result out: it is nobody else's, so nothing is copied whatever `copy` says."""
    if stream is not None:
        raise ArgumentError(bad("__dlpack__", "stream", stream, "None, since the device has no streams"))
    if device is not None and tuple(device) != CPU:
        raise BufferError(bad("__dlpack__", "dl_device", device, f"None or {CPU}, the host's memory"))
    array = np.asarray(compute_array(x))
    return array.__dlpack__() if max_version is None else array.__dlpack__(max_version=max_version)


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """Return an array of another library's, by DLPack.

    Parameters
    ----------
    x : object with `__dlpack__`
        The array, in the host's memory. It is referred to, as by `from_array`: it must not change while it is used.
    device : str, optional
        Accepted for the array API standard: None or "cpu", the only device.
    copy : bool, optional
        Whether to copy the data now.

    Returns
    -------
    Array
        Lazy, with the shape and dtype of `x`.

    Raises
    ------
    ArgumentError
        `device` is neither None nor "cpu". `x` has no `__dlpack__`.
    BufferError
        `x` lies in the memory of another device.

    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.from_dlpack(np.arange(3)).sum().compute()
    np.int64(3)
    """
    check_device("from_dlpack", device)
    if isinstance(x, ArrayBase):
        return alias(x) if copy else x  # type: ignore[return-value]
    if not hasattr(x, "__dlpack__"):
        raise ArgumentError(bad("from_dlpack", "x", type(x).__name__, "an array with __dlpack__"))
    return from_array(np.from_dlpack(x), copy=bool(copy))
