"""Shared arrays: made from NumPy's and from lazy ones."""

from __future__ import annotations

import importlib
import math
import os
from typing import Any

import numpy as np

from ...graph.arguments import check_flag, is_integer
from ...graph.chunks.normalize import parse_bytes
from ...graph.errors import ArgumentError, bad
from ...scheduler.session.cluster import running
from ...scheduler.session.resources import refuse_larger
from ...scheduler.shared.pages.shared_array import SharedArray
from ...workers.shared.pages.files import UNIT
from ...workers.shared.pages.snapshot import PageLayout
from ..base import ArrayBase, not_masked, plain_array
from ..execution.compute import persist_array, wait

PAGE = "256 KiB"
MOST = 1 << 30
"""Bytes of the largest page."""


def array(x: Any, page: int | str = PAGE, *, spread: bool = True) -> SharedArray:
    """Put a large array where all ranks read parts of it, and where you update it between computations.

    Functions that run on ranks use it by `v[index]`, which gathers rows or elements: in place on the driver's host;
    elsewhere pages come over the network once a host, from any host that has them, and stay as long as they are
    right. `v.update` and `v.add` change it; `v.add_at` in a function adds when the computation is through.

    Parameters
    ----------
    x : array_like or Array
        What it holds. A lazy array is computed. It is copied.
    page : int or str
        Bytes of a page, which is what is copied when something in it changes, and what travels: an integer, or text
        such as "1 MiB". It is rounded up to a multiple of 4 KiB.
    spread : bool
        Whether ranks of other hosts keep pages and give them on to others. False: they ask the driver each time.

    Returns
    -------
    SharedArray
        Stands for the array in the script, and in functions.

    Raises
    ------
    ArgumentError
        `x` has no axis or holds Python's objects; `page` is no number of bytes.
    OSError
        There is no memory for it.

    See Also
    --------
    object : What never changes, or isn't an array.

    Notes
    -----
    A function sees the version that was there when its lazy array was made, also when a block is computed again after
    a rank died. Pages that an earlier version and the present one differ in are there twice, as long as a lazy or
    persisted array needs the earlier one.

    >>> import numpy as np
    >>> import windrow as wr
    >>> v = wr.shared.array(np.arange(100.0))
    >>> x = wr.arange(4, chunks=2) * 10
    >>> wr.map_blocks(lambda block: v[block], x, dtype=float).compute()
    array([ 0., 10., 20., 30.])
    >>> v.add([10, 10], 0.5)
    >>> v[10]
    np.float64(11.0)
    """
    size = read_page("array", page)
    check_flag("array", "spread", spread)
    if isinstance(x, SharedArray):
        raise ArgumentError(bad("array", "x", x, "an array; v[:] is one"))
    if not isinstance(x, ArrayBase):
        not_masked("array", "x", x)
        values = plain_array("array", "x", x)
        shared = make_empty("array", values.shape, values.dtype, size, spread)
        shared._fill(..., values)
        shared._begin()
        return shared
    shared = make_empty("array", x.shape, x.dtype, size, spread)
    kept = persist_array(x)
    wait(kept)
    for block in np.ndindex(*kept.numblocks):
        where = kept.expr.grid.block_slices(int(np.ravel_multi_index(block, kept.numblocks)))
        shared._fill(where, kept.blocks[block].compute())
    shared._begin()
    return shared


def make_empty(
    operation: str, shape: tuple[int, ...], dtype: np.dtype[Any], page: int, spread: bool = True
) -> SharedArray:
    """Return a shared array of zeros, to be filled and begun; in SPMD mode all ranks make it together."""
    if not shape or dtype.hasobject:
        came = f"of shape {shape} and dtype {dtype}"
        raise ArgumentError(
            f"{operation}: what it is to hold is {came}; expected at least one axis, and no Python objects"
        )
    refuse_larger(operation, math.prod(shape) * dtype.itemsize, "x")
    layout = PageLayout(os.urandom(8).hex(), shape, dtype, page, spread)
    current: Any = running()
    if current is None or current.place[1] == 1:
        return SharedArray(layout)
    spmd = importlib.import_module("...scheduler.spmd_mode.agreed_arrays", __package__)
    agreed: SharedArray = spmd.make_agreed(current, layout)
    return agreed


def read_page(operation: str, page: Any) -> int:
    try:
        size = parse_bytes(page) if isinstance(page, str) or is_integer(page) else 0
    except (TypeError, ValueError):
        size = 0
    if not 0 < size <= MOST:
        raise ArgumentError(bad(operation, "page", page, "a number of bytes up to 1 GiB, such as 65536 or '256 KiB'"))
    return -(-size // UNIT) * UNIT
