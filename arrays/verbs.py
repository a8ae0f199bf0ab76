"""What makes arrays run: compute, persist, release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..graph.errors import ArgumentError, bad
from ..graph.kinds.source import Host, Source
from ..scheduler.cluster import current
from .core import Node, wrap

if TYPE_CHECKING:
    import numpy as np

    from .array import Array


def compute(*arrays: Any) -> Any:
    """Compute arrays together; work that they share is done once.

    Parameters
    ----------
    *arrays : Array
        What is no Windrow array is handed back as it is.

    Returns
    -------
    numpy.ndarray or numpy scalar, or a tuple of them for several arrays
        Owned and writable.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.arange(10)
    >>> wr.compute(x.sum(), x.max())
    (np.int64(45), np.int64(9))
    """
    if not arrays:
        raise ArgumentError(bad("compute", "arrays", arrays, "at least one array"))
    lazy = [a for a in arrays if isinstance(a, Node)]
    made = iter(current().run([a.expr for a in lazy]) if lazy else ())
    found: tuple[Any, ...] = tuple(_handed(a, next(made)) if isinstance(a, Node) else a for a in arrays)
    return found[0] if len(found) == 1 else found


def _handed(array: Node, made: np.ndarray[Any, Any]) -> Any:
    """Hand out a scalar where NumPy's functions do; what was made as an array without axes stays one."""
    return made if array.ndim or isinstance(array.expr.op, Source | Host) else made[()]


def persist(*arrays: Any) -> Any:
    """Start computing arrays, and keep their chunks where they are.

    Parameters
    ----------
    *arrays : Array

    Returns
    -------
    Array, or a tuple of them for several
        The same arrays; their chunks are kept as long as one of these is alive, or until `release`.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.persist(wr.ones(1000) * 2)
    >>> x.sum().compute()
    np.float64(2000.0)
    """
    if not arrays:
        raise ArgumentError(bad("persist", "arrays", arrays, "at least one array"))
    for array in arrays:
        if not isinstance(array, Node):
            raise ArgumentError(bad("persist", "arrays", array, "Windrow arrays"))
    kept: tuple[Array, ...] = tuple(wrap(replace(a.expr, pin=current().keep(a.expr))) for a in arrays)
    return kept[0] if len(kept) == 1 else kept


def release(array: Array) -> None:
    """Let go of the chunks that `persist` kept; the array is computed again when it is used.

    Parameters
    ----------
    array : Array

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.persist(wr.ones(10))
    >>> wr.release(x)
    """
    pin: Any = array.expr.pin
    if pin is not None:
        pin.release()
        array.expr = replace(array.expr, pin=None)
