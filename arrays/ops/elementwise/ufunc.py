"""Ufuncs: calling them on lazy arrays, and their methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ....graph.errors import ArgumentError, DTypeError, bad
from ....graph.keyword_hints import refuse
from ....graph.kinds.elementwise import Arg, Elementwise, Scalar
from ...base import as_array, check_dtype, make
from ...chunking.rechunk import align_chunks
from ...values import copied, hold
from ..outputs import check_out, deliver, deliver_reduced
from .nodes import cast, choose, sample_dtypes, split
from .selections import over_chosen
from .ufunc_docs import describe

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ...typing import ArrayLike, DTypeLike, OutLike, WhereLike

_KEYWORDS = ["out", "where", "dtype", "casting"]


@dataclass(frozen=True)
class Ufunc:
    """An elementwise function of NumPy, applied lazily.

    Call it with arrays, NumPy arrays or scalars that broadcast; dtypes promote as in NumPy 2. The result is
    an `Array`, or a tuple of them for functions with several results. Where no operand is lazy, NumPy computes the
    result at once.

    Parameters
    ----------
    name : str
        Name of the ufunc in NumPy, where it is documented.

    >>> wr.sqrt(wr.arange(4) ** 2).compute()
    array([0., 1., 2., 3.])
    >>> fraction, whole = wr.modf(wr.full(2, 1.5))
    >>> fraction.compute()
    array([0.5, 0.5])
    >>> wr.add.reduce(wr.ones((2, 3)), axis=1).compute()
    array([3., 3.])
    """

    name: str

    def __post_init__(self) -> None:
        """Give the function its signature and its documentation."""
        count = self.ufunc.nin
        names = ["x"] if count == 1 else [f"x{i + 1}" for i in range(count)]
        options = {"out": None, "where": True, "dtype": None, "casting": "same_kind"}
        parameters = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
        parameters += [Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in options.items()]
        signature = Signature(parameters)
        object.__setattr__(self, "__signature__", signature)
        object.__setattr__(self, "__doc__", describe(self.name, str(signature), names, self.ufunc.nout))

    @property
    def ufunc(self) -> np.ufunc:
        """The ufunc of NumPy."""
        ufunc: np.ufunc = getattr(np, self.name)
        return ufunc

    @property
    def nin(self) -> int:
        """How many operands it takes."""
        return self.ufunc.nin

    @property
    def nout(self) -> int:
        """How many results it has."""
        return self.ufunc.nout

    @property
    def nargs(self) -> int:
        """How many operands and results there are."""
        return self.ufunc.nargs

    @property
    def identity(self) -> Any:
        """The value that leaves the other operand as it is; None where there is none."""
        return self.ufunc.identity

    @property
    def types(self) -> list[str]:
        """The dtypes of its operands and results, by NumPy's letters."""
        return list(self.ufunc.types)

    @property
    def __name__(self) -> str:
        return self.name

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        """Return the function itself, unbound like NumPy's. An object with this method is a function to `help`."""
        return self

    def __call__(
        self,
        *operands: Any,
        out: OutLike = None,
        where: WhereLike = True,
        dtype: DTypeLike = None,
        casting: str = "same_kind",
        **unknown: object,
    ) -> Any:
        """Apply the function to `nin` operands.

        Parameters
        ----------
        *operands : array or scalar
        out : Array or numpy.ndarray, or a tuple with one for each result, optional
            A lazy array's elements are set to the result, lazily; a NumPy array is filled now.
        where : array of bool, optional
            Where it is False, `out` stays as it is; without `out` the result is zero there.
        dtype : dtype, optional
            In which to compute; operands are cast.
        casting : str
        """
        ufunc = self.ufunc
        unknown = {name: value for name, value in unknown.items() if not is_ignored(name, value)}
        refuse(self.name, unknown, _KEYWORDS)
        if not any(map(_lazy, (*operands, out, where))):
            keywords = {} if out is None else {"out": out}
            return ufunc(*operands, where=where, dtype=dtype, casting=casting, **keywords)
        if ufunc.nin < len(operands) <= ufunc.nin + ufunc.nout and out is None:
            operands, out = operands[: ufunc.nin], operands[ufunc.nin :]
            out = (*out, *(None,) * (ufunc.nout - len(out)))
        if len(operands) != ufunc.nin:
            raise ArgumentError(bad(self.name, "operands", f"{len(operands)} operands", str(ufunc.nin)))
        if casting not in _CASTING:
            raise ArgumentError(bad(self.name, "casting", casting, f"one of {', '.join(map(repr, _CASTING))}"))
        if out is None and where is True and dtype is None and ufunc.nout == 1:
            chosen = over_chosen(self.name, self, operands)
            if chosen is not None:
                return chosen
        arrays, args = split(self.name, operands)
        wanted = None if dtype is None else check_dtype(self.name, "dtype", dtype)
        uncast = [*arrays], [*args]
        if wanted is None:
            dtypes = sample_dtypes(self.name, ufunc, arrays, args)
        else:
            dtypes = self._as(wanted, arrays, args, casting)
        if casting not in ("same_kind", "unsafe"):  # these two rules allow every loop that NumPy finds
            sample_dtypes(self.name, partial(ufunc, casting=casting, dtype=wanted), *uncast)
        grid, fitted = align_chunks(self.name, arrays)
        if ufunc.nout == 1:
            result = make(Elementwise(self.name, tuple(args)), fitted, grid, dtypes[0])
            return result if out is None and where is True else self._put(result, out, where, casting)
        parts = [
            make(Elementwise(f"{self.name}:{part}", tuple(args)), fitted, grid, each)
            for part, each in enumerate(dtypes)
        ]
        outs = (None,) * ufunc.nout if out is None else out
        if not isinstance(outs, tuple) or len(outs) != ufunc.nout:
            raise ArgumentError(bad(self.name, "out", out, f"a tuple of {ufunc.nout} arrays"))
        return tuple(self._put(part, each, where, casting) for part, each in zip(parts, outs, strict=True))

    def _as(self, dtype: DType, arrays: list[Any], args: list[Arg], casting: str) -> list[DType]:
        """Cast operands, within the lists, to the dtypes of the loop for `dtype`; return the dtypes of its results."""
        ufunc = self.ufunc
        types = [_kind(a.value) if isinstance(a, Scalar) else arrays[a].dtype for a in args]
        asked = (None,) * ufunc.nin + (dtype,) * ufunc.nout
        # with "equiv" NumPy 2.4 crashes on Python's numbers
        rule = "unsafe" if casting == "unsafe" else "same_kind"
        try:
            loop = ufunc.resolve_dtypes((*types, *(None,) * ufunc.nout), signature=asked, casting=rule)  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise DTypeError(bad(self.name, "dtype", dtype, f"one that it computes in ({error})")) from error
        for i, (arg, wanted) in enumerate(zip(args, loop, strict=False)):
            if isinstance(arg, Scalar):
                args[i] = Scalar(hold(self.name, f"x{i + 1}", arg.value, wanted, copied)[()])
            else:
                arrays[arg] = cast(arrays[arg], wanted)
        return list(loop[ufunc.nin :])

    def _put(self, result: Any, out: Any, where: Any, casting: str) -> Any:
        if isinstance(out, tuple) and len(out) == 1:
            (out,) = out
        if where is True:
            return deliver(self.name, result, out, casting, broadcasts=True)
        if out is None:
            return choose(self.name, where, result, result.dtype.type())
        result = cast(result, check_out(self.name, result, out, casting).dtype)  # what stays in `out` is never cast
        return deliver(self.name, choose(self.name, where, result, out), out, casting, broadcasts=True)

    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = np._NoValue,
        where: Any = True,
    ) -> Any:
        """Reduce an array by a function of two operands that may be applied in any order: add, maximum, …

        Parameters
        ----------
        array : array
        axis : int, tuple of int or None
            None: all axes.
        dtype, out, keepdims, initial, where
            As for `windrow.sum`.
        """
        from ..reductions.nodes import reduce_by

        return reduce_by(self.ufunc, array, axis, dtype, out, keepdims, initial, where)

    def accumulate(self, array: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: OutLike = None) -> Any:
        """Apply the function along an axis, each time to the last result and the next element.

        Parameters
        ----------
        array : array
        axis : int
        dtype, out : optional
        """
        from ..reductions.cumulative import accumulate

        return deliver_reduced(f"{self.name}.accumulate", accumulate(self.ufunc, array, axis, dtype), out)

    def outer(self, A: Any, B: Any, /, **keywords: Any) -> Any:
        """Apply the function to all pairs of an element of `A` and one of `B`.

        Parameters
        ----------
        A, B : array
        **keywords
            As for the call.
        """
        left, right = as_array(f"{self.name}.outer", "A", A), as_array(f"{self.name}.outer", "B", B)
        return self(left.reshape((*left.shape, *(1,) * right.ndim)), right, **keywords)

    def at(self, a: ArrayLike, indices: ArrayLike, /, *b: Any) -> None:
        """Apply the function in place to the elements at positions; a position that occurs twice is changed twice.

        Positions and values come into one chunk. A lazy array's elements are set, lazily; a NumPy array is
        changed now.

        Parameters
        ----------
        a : array
        indices : index
            Whatever `a[indices]` takes.
        *b : array or scalar
            The second operand, for functions that take two; broadcast to `a[indices]`.
        """
        from ...indexing.writes.ufunc_at import apply_at

        apply_at(self.ufunc, self, a, indices, b)

    def reduceat(
        self, array: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: OutLike = None
    ) -> Any:
        """Reduce slices along an axis: each begins at one of `indices`, and ends where the next one begins.

        As in NumPy, a slice gives its first element where the next one doesn't begin later.

        Parameters
        ----------
        array : array
        indices : sequence of int
            Where slices begin. If they ascend, the axis keeps several chunks; else it is brought into one.
        axis : int
        dtype, out : optional
        """
        from ...indexing.writes.ufunc_at import reduce_runs

        return deliver_reduced(f"{self.name}.reduceat", reduce_runs(self.ufunc, array, indices, axis, dtype), out)

    def __reduce__(self) -> tuple[Any, ...]:
        return Ufunc, (self.name,)

    def __repr__(self) -> str:
        return f"<windrow ufunc {self.name!r}>"


_CASTING = ("no", "equiv", "safe", "same_kind", "unsafe")

_PLAIN = (np.ndarray, np.generic, bool, int, float, complex, str, bytes)


def _lazy(value: object) -> bool:
    """Whether an operand is lazy: neither NumPy's nor Python's own."""
    if isinstance(value, list | tuple):
        return any(map(_lazy, value))
    return value is not None and not isinstance(value, _PLAIN)


def is_ignored(name: str, value: object) -> bool:
    """Whether a keyword of NumPy is accepted and has no effect: `order`, `subok`."""
    return (name == "order" and value in ("K", "C", "A", "F")) or (name == "subok" and isinstance(value, bool))


def _kind(value: object) -> Any:
    """Return a scalar's dtype, or the class of a Python number, which promotes weakly."""
    if isinstance(value, bool) or not isinstance(value, int | float | complex) or isinstance(value, np.generic):
        return np.asarray(value).dtype
    return type(value)
