"""Making elementwise nodes: operands and scalars told apart, chunks brought together, the dtype found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, bad
from ...graph.kinds.elementwise import Arg, Elementwise, Scalar
from ..align import aligned
from ..core import SCALARS, Node, as_array, check_dtype, make, no_keywords

if TYPE_CHECKING:
    from ...graph.expr import DType
    from ..array import Array

Sample = Callable[..., Any]


def split(operation: str, values: Sequence[Any]) -> tuple[list[Array], list[Arg]]:
    """Tell arrays from scalars; a NumPy array without axes is a typed scalar."""
    arrays: list[Array] = []
    args: list[Arg] = []
    for i, value in enumerate(values):
        scalar = _scalar(value)
        if scalar is not None:
            check_dtype(operation, f"x{i + 1}", np.asarray(scalar.value).dtype)
            args.append(scalar)
        else:
            args.append(len(arrays))
            arrays.append(as_array(operation, f"x{i + 1}", value))
    if not arrays:
        first = args[0]
        assert isinstance(first, Scalar)
        arrays.append(as_array(operation, "x1", first.value))
        args[0] = 0
    return arrays, args


def _scalar(value: Any) -> Scalar | None:
    if isinstance(value, SCALARS):
        return Scalar(value)
    if isinstance(value, str | bytes):
        return Scalar(np.asarray(value)[()])
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return Scalar(value[()])
    return None


def sample_dtypes(operation: str, sample: Sample, arrays: Sequence[Node], args: Sequence[Arg]) -> list[DType]:
    """Return the dtypes of a function's results, found by calling it on arrays without elements."""
    given = [a.value if isinstance(a, Scalar) else np.empty(0, arrays[a].dtype) for a in args]
    try:
        with np.errstate(all="ignore"):
            found = sample(*given)
    except TypeError as error:
        kinds = ", ".join(repr(a.value) if isinstance(a, Scalar) else str(arrays[a].dtype) for a in args)
        raise DTypeError(f"{operation}: operands are {kinds}; expected dtypes that it takes ({error})") from error
    except OverflowError as error:
        raise OverflowError(f"{operation}: {error}") from error
    return [np.asarray(f).dtype for f in (found if isinstance(found, tuple) else (found,))]


def apply(operation: str, function: str, values: Sequence[Any], sample: Sample) -> Array:
    """Return the array of a named function of one result; `sample` tells its dtype."""
    arrays, args = split(operation, values)
    (dtype,) = sample_dtypes(operation, sample, arrays, args)
    grid, fitted = aligned(operation, arrays)
    return make(Elementwise(function, tuple(args)), fitted, grid, dtype)


@dataclass(frozen=True)
class Ufunc:
    """An elementwise function of NumPy, applied lazily.

    Call it with arrays, NumPy arrays or scalars that broadcast; dtypes promote as in NumPy 2. The result is
    an `Array`, or a tuple of them for functions with several results.

    Parameters
    ----------
    name : str
        Name of the ufunc in NumPy, where it is documented.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.sqrt(wr.arange(4) ** 2).compute()
    array([0., 1., 2., 3.])
    >>> fraction, whole = wr.modf(wr.full(2, 1.5))
    >>> fraction.compute()
    array([0.5, 0.5])
    """

    name: str

    @property
    def ufunc(self) -> np.ufunc:
        """The ufunc of NumPy."""
        found: np.ufunc = getattr(np, self.name)
        return found

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *operands: Any, **unknown: Any) -> Any:
        """Apply the function to `nin` operands."""
        ufunc = self.ufunc
        no_keywords(self.name, unknown, "operands by position")
        if len(operands) != ufunc.nin:
            raise ArgumentError(bad(self.name, "operands", f"{len(operands)} operands", str(ufunc.nin)))
        arrays, args = split(self.name, operands)
        dtypes = sample_dtypes(self.name, ufunc, arrays, args)
        grid, fitted = aligned(self.name, arrays)
        if ufunc.nout == 1:
            return make(Elementwise(self.name, tuple(args)), fitted, grid, dtypes[0])
        return tuple(
            make(Elementwise(f"{self.name}:{part}", tuple(args)), fitted, grid, dtype)
            for part, dtype in enumerate(dtypes)
        )

    def __repr__(self) -> str:
        return f"<windrow ufunc {self.name!r}>"
