"""Objects that all ranks see, once a host."""

from __future__ import annotations

from typing import Any

from ...graph.errors import ArgumentError, bad
from ...scheduler.shared.shared_objects import share
from ...workers.shared.shared_objects import Shared
from ..base import ArrayBase


def object(value: Any) -> Shared:
    """Put an object where all ranks see it, once a host: a table, a tree, a model.

    Functions that run on ranks use it as what it is: it is pickled as a name, and its arrays' bytes are mapped, not
    copied, by all ranks of a host.

    Parameters
    ----------
    value : object
        Anything that pickles: dicts of arrays, SciPy's and scikit-learn's trees and models, DataFrames, Arrow tables.
        It is copied now; its arrays, lists, dicts and sets are read-only from
        then on.

    Returns
    -------
    Shared
        Stands for the object, which goes when nothing refers to this any more: no variable, and no lazy or persisted
        array whose function uses it. In the driver `value` is the object; attributes, items and calls are the object's.

    Raises
    ------
    ArgumentError
        It can't be pickled, or is a lazy array.
    OSError
        There is no memory for it.

    Notes
    -----
    Objects of very many small parts gain nothing: what isn't an array's buffer is unpickled by each rank, once.
    Ranks of another host than the driver's share a copy of that host.

    >>> import numpy as np
    >>> import windrow as wr
    >>> table = wr.shared.object({"square": np.arange(100) ** 2})
    >>> x = wr.arange(10, chunks=5)
    >>> wr.map_blocks(lambda block: table["square"][block], x).compute()
    array([ 0,  1,  4,  9, 16, 25, 36, 49, 64, 81])
    >>> table["square"].flags.writeable
    False
    """
    if isinstance(value, ArrayBase):
        raise ArgumentError(
            bad("object", "value", value, "no lazy array: those are on the ranks; x.compute() gathers one")
        )
    if isinstance(value, Shared):
        return value
    try:
        return share(value)
    except OSError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"object: argument 'value', {type(value).__name__!r}, can't be pickled: {type(error).__name__}: {error}"
        ) from error
