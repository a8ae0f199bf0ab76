"""Linear algebra: `windrow.linalg`, with the names of NumPy's `linalg` and of the array API.

Large matrices in chunks both ways are factored by blocks where that is as accurate as LAPACK: Cholesky's, LU and QR
factorisations, and all that follows from them. The matrices of a stack are brought to one chunk each.
"""

from __future__ import annotations

from numpy.linalg import LinAlgError

from .condition import cond
from .factors.compressed import compression_level, compression_matrix, sfqr, svd_compressed, tsqr
from .factors.definite import cholesky
from .factors.eigen import eig, eigh, eigvals, eigvalsh
from .factors.elimination import det, inv, slogdet, solve
from .factors.orthogonal import qr
from .factors.singular import matrix_rank, pinv, svd, svdvals
from .factors.triangular import lu, solve_triangular
from .least import lstsq
from .norms import matrix_norm, norm, vector_norm
from .powers import matrix_power, multi_dot
from .standard import cross, diagonal, matmul, matrix_transpose, outer, tensordot, trace, vecdot
from .tensors import tensorinv, tensorsolve

__all__ = [
    "LinAlgError",
    "cholesky",
    "compression_level",
    "compression_matrix",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "lu",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "sfqr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svd_compressed",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "tsqr",
    "vecdot",
    "vector_norm",
]
