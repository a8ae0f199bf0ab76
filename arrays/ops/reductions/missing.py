"""What counts as missing: NaN, and times that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....graph.kinds.source import Full
from ...base import as_array, make
from ..docstrings import OPS
from ..elementwise.ufuncs import isnan, isnat, logical_not

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "isnull",
    "notnull",
]


def isnull(values: ArrayLike) -> Array:
    """Return where elements are missing: NaN or NaT.

    Parameters
    ----------
    values : array_like
        The array; elements of other dtypes are never missing.

    Returns
    -------
    Array
        Lazy, of bool.

    Raises
    ------
    ArgumentError
        `values` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `values` holds Python objects.

    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.isnull([1.0, np.nan]).compute()
    array([False,  True])
    """
    array = as_array("isnull", "values", values)
    if array.dtype.kind in "fc":
        return isnan(array)  # type: ignore[no-any-return]
    if array.dtype.kind in "mM":
        return isnat(array)  # type: ignore[no-any-return]
    return make(Full(np.bool(False)), (), array.expr.grid, np.bool)


def notnull(values: ArrayLike) -> Array:
    """Return where elements are not missing: neither NaN nor NaT.

    {sections of isnull}

    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.notnull([1.0, np.nan]).compute()
    array([ True, False])
    """
    return logical_not(isnull(values))  # type: ignore[no-any-return]


OPS.fill(__name__)
