"""What docstrings of objects and arrays that all ranks share have in common."""

from __future__ import annotations

from ..docstrings import Glossary

SHARED = Glossary("""
{bits}
Parameters
----------
i : int, tuple or array of int
    Which.
v : scalar or array
    The bits.

Raises
------
IndexError
    A position is out of bounds, or none.
DTypeError
    The elements are floats.
{bits_before}
Parameters
----------
i : int, tuple or array of int
    Which.
v : scalar or array
    The bits.

Returns
-------
scalar or numpy.ndarray
    The elements, each as it was right before.

Raises
------
IndexError
    A position is out of bounds, or none.
DTypeError
    The elements are floats.
{together}
Parameters
----------
comm : communicator, optional
    In a rank program the one that it was given: all members call it together. Elsewhere None.

Raises
------
ArgumentError
    It is called in a function of blocks, or in a rank program without `comm`.
ClusterError
    A rank was lost meanwhile.
{tag_timeout}
tag : hashable
    Its name.
timeout : float, optional
    Seconds to wait at most. None: until there is one, or the computation is cancelled.
{no_such_object}
WaitTimeout
    There was none in that time.
ArgumentError
    The tag has no hash; `timeout` is negative, or no number.
ClusterError
    The space, or the cluster, is there no more.
{index_values}
Parameters
----------
index : int, slice, array or tuple
    Rows or elements.
values : array_like
    What broadcasts to what the index picks.

Raises
------
IndexingError
    A position is out of bounds.
DTypeError
    The values' dtype doesn't fit.
BadValue
    The values' shape doesn't fit.
""")
