"""Windrow: lazy, chunked, NumPy-like arrays on MPI.

>>> import windrow as wr
>>> x = wr.random.default_rng(1).random((4000, 1000), chunks=(1000, 1000))
>>> (x - x.mean(axis=0)).std().compute().round(3)
np.float64(0.289)
"""

# ruff: noqa: I001
# fmt: off
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from numpy import (
    bool, complex64, complex128, e, euler_gamma, float16, float32, float64, inf, int8, int16, int32,
    int64, nan, newaxis, pi, uint8, uint16, uint32, uint64,
)

from .arrays import random
from .arrays.align import rechunk
from .arrays.array import Array
from .arrays.arrow import to_arrow
from .arrays.creation import empty, empty_like, full, full_like, ones, ones_like, zeros, zeros_like
from .arrays.handed import asarray, from_array
from .arrays.ranges import arange, eye, identity, linspace, tri
from .arrays.draw import visualize
from .arrays.explain import explain
from .arrays.graphs import operation_graph
from .arrays.mapping import map_blocks, map_overlap
from .arrays.ops.elementwise import (
    angle, around, astype, clip, imag, isclose, nan_to_num, real, round, where,
)
from .arrays.ops.ufuncs import (
    abs, absolute, acos, acosh, add, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin,
    asinh, atan, atan2, atanh, bitwise_and, bitwise_count, bitwise_invert, bitwise_left_shift,
    bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, cbrt, ceil, conj, conjugate, copysign,
    cos, cosh, deg2rad, degrees, divide, divmod, equal, exp, exp2, expm1, fabs, float_power, floor,
    floor_divide, fmax, fmin, fmod, frexp, gcd, greater, greater_equal, heaviside, hypot, invert,
    isfinite, isinf, isnan, isnat, lcm, ldexp, left_shift, less, less_equal, log, log10, log1p, log2,
    logaddexp, logaddexp2, logical_and, logical_not, logical_or, logical_xor, maximum, minimum, mod,
    modf, multiply, negative, nextafter, not_equal, positive, pow, power, rad2deg, radians, reciprocal,
    remainder, right_shift, rint, sign, signbit, sin, sinh, spacing, sqrt, square, subtract, tan, tanh,
    true_divide, trunc,
)
from .arrays.ops.joining import concat, concatenate, hstack, repeat, roll, stack, tile, vstack
from .arrays.ops.broadcasting import broadcast_arrays, broadcast_to
from .arrays.ops.moving import (
    expand_dims, matrix_transpose, moveaxis, permute_dims, squeeze, swapaxes, transpose,
)
from .arrays.ops.taking import flip, take
from .arrays.ops.diagonals import diagonal, trace
from .arrays.ops.products import dot, matmul, outer, tensordot, vdot
from .arrays.ops.reductions import (
    all, amax, amin, any, argmax, argmin, count_nonzero, max, mean, min, prod, ptp, std, sum, var,
)
from .arrays.ops.reshaping import ravel, reshape
from .arrays.verbs import compute, persist, release
from .graph.errors import (
    ArgumentError, AxisError, ChunksError, ClusterError, DTypeError, IndexingError, OutOfMemory,
    ShapeError, SourceChanged, WindrowError,
)
from .scheduler.cluster import current as cluster
from .scheduler.cluster import Cluster
from .workers.config import config

if TYPE_CHECKING:
    from . import ml

__version__ = "0.1.0"


__all__ = [
    # The array and how to make one
    "Array", "zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like",
    "arange", "linspace", "eye", "identity", "tri", "from_array", "asarray", "random", "rechunk",
    # Elementwise
    "abs", "absolute", "acos", "acosh", "add", "angle", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "around", "asin", "asinh", "astype", "atan", "atan2", "atanh",
    "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "cbrt", "ceil", "clip", "conj", "conjugate", "copysign",
    "cos", "cosh", "deg2rad", "degrees", "divide", "divmod", "equal", "exp", "exp2", "expm1", "fabs",
    "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd", "greater",
    "greater_equal", "heaviside", "hypot", "imag", "invert", "isclose", "isfinite", "isinf", "isnan",
    "isnat", "lcm", "ldexp", "left_shift", "less", "less_equal", "log", "log10", "log1p", "log2",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum",
    "minimum", "mod", "modf", "multiply", "nan_to_num", "negative", "nextafter", "not_equal",
    "positive", "pow", "power", "rad2deg", "radians", "real", "reciprocal", "remainder", "right_shift",
    "rint", "round", "sign", "signbit", "sin", "sinh", "spacing", "sqrt", "square", "subtract", "tan",
    "tanh", "true_divide", "trunc", "where",
    # Reductions
    "sum", "prod", "mean", "var", "std", "min", "max", "amin", "amax", "any", "all", "count_nonzero",
    "argmin", "argmax", "ptp",
    # Moving, joining, reshaping
    "transpose", "permute_dims", "matrix_transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze",
    "flip", "broadcast_to", "broadcast_arrays", "take", "reshape", "ravel", "concatenate", "concat",
    "stack", "hstack", "vstack", "repeat", "roll", "tile",
    # Products
    "matmul", "tensordot", "dot", "vdot", "outer", "trace", "diagonal",
    # Functions of chunks
    "map_blocks", "map_overlap",
    # Running and looking
    "compute", "persist", "release", "explain", "visualize", "operation_graph", "to_arrow", "Cluster",
    "cluster", "config",
    # Dtypes and constants
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128", "e", "euler_gamma", "inf", "nan", "newaxis", "pi",
    # Errors
    "WindrowError", "ShapeError", "ChunksError", "DTypeError", "AxisError", "ArgumentError",
    "IndexingError", "OutOfMemory", "ClusterError", "SourceChanged",
    # Lazily
    "ml", "__version__",
]
# fmt: on


def __getattr__(name: str) -> Any:
    if name == "ml":
        return importlib.import_module(".ml", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
