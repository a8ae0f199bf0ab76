"""Eigenvalues. Each matrix is brought to one chunk: no algorithm by blocks is known to be as accurate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....graph.errors import ArgumentError, bad
from ...ops.elementwise.functions import real
from ..common import map_stacks, matrices, real_dtype
from ..docstrings import LINALG

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
]


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors of Hermitian matrices."""

    eigenvalues: Array
    eigenvectors: Array


def _triangle(operation: str, uplo: Any) -> str:
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        raise ArgumentError(bad(operation, "UPLO", uplo, "'L' or 'U'"))
    return uplo.upper()


def eigh(a: ArrayLike, UPLO: str = "L") -> EighResult:
    """Return the eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    {square}
    UPLO : {"L", "U"}
        Which triangle is read, the lower or the upper one; the other is taken as its conjugate.

    Returns
    -------
    EighResult
        A named tuple: `eigenvalues` (..., M), real, in ascending order, and `eigenvectors` (..., M, M), one in each
        column.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `UPLO` is unknown.
    {ShapeError, DTypeError}
    numpy.linalg.LinAlgError
        When it is computed: eigenvalues don't converge, as with NaN.

    Notes
    -----
    Each matrix is brought to one chunk.

    >>> import numpy as np
    >>> values, vectors = wr.linalg.eigh(np.diag([3.0, 1.0]))
    >>> values.compute()
    array([1., 3.])
    """
    x = matrices("eigh", "a", a, square=True)
    n = x.shape[-1]
    both = map_stacks("linalg.whole:eigh", (x,), (n + 1, n), x.dtype, (_triangle("eigh", UPLO),))
    return EighResult(real(both[..., 0, :]), both[..., 1:, :])


def eigvalsh(a: ArrayLike, UPLO: str = "L") -> Array:
    """Return the eigenvalues of Hermitian matrices.

    {Parameters of eigh}

    Returns
    -------
    Array (..., M)
        Real, in ascending order.

    {Raises, Notes of eigh}

    >>> import numpy as np
    >>> wr.linalg.eigvalsh(np.diag([3.0, 1.0])).compute()
    array([1., 3.])
    """
    x = matrices("eigvalsh", "a", a, square=True)
    params = (_triangle("eigvalsh", UPLO),)
    return map_stacks("linalg.whole:eigvalsh", (x,), x.shape[-1:], real_dtype(x.dtype), params)


def eig(a: ArrayLike) -> EigResult:
    """Return the eigenvalues and eigenvectors of square matrices.

    Parameters
    ----------
    {square}

    Returns
    -------
    EigResult
        A named tuple: `eigenvalues` (..., M), in no order, and `eigenvectors` (..., M, M), one in each column; complex.

    Raises
    ------
    {ArgumentError, ShapeError, DTypeError}
    numpy.linalg.LinAlgError
        When it is computed: a matrix holds infinity or NaN.

    Notes
    -----
    Each matrix is brought to one chunk. The results are complex, as the array API has it; NumPy's are real where all
    values happen to be.

    >>> import numpy as np
    >>> values, vectors = wr.linalg.eig(np.diag([3.0, 1.0]))
    >>> values.compute()
    array([3.+0.j, 1.+0.j])
    """
    x = matrices("eig", "a", a, square=True)
    n = x.shape[-1]
    dtype = np.result_type(x.dtype, np.complex64)
    both = map_stacks("linalg.whole:eig", (x,), (n + 1, n), dtype)
    return EigResult(both[..., 0, :], both[..., 1:, :])


def eigvals(a: ArrayLike) -> Array:
    """Return the eigenvalues of square matrices.

    {Parameters of eig}

    Returns
    -------
    Array (..., M)
        Complex, in no order.

    {Raises, Notes of eig}

    >>> import numpy as np
    >>> wr.linalg.eigvals(np.diag([3.0, 1.0])).compute()
    array([3.+0.j, 1.+0.j])
    """
    x = matrices("eigvals", "a", a, square=True)
    return map_stacks("linalg.whole:eigvals", (x,), x.shape[-1:], np.result_type(x.dtype, np.complex64))


LINALG.fill(__name__)
