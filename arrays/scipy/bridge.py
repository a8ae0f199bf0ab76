"""SciPy's functions: found when they are needed, and tried on small arrays before anything runs."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, bad
from ...graph.expr import origin
from ...graph.keyword_hints import aside
from ..base import ArrayBase, as_array
from .documents import described

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..array import Array

R = TypeVar("R")


def like_scipy(
    module: str, about: Mapping[str, str], returns: str, kind: str = "Array"
) -> Callable[[Callable[[str, dict[str, Any]], R]], Callable[..., R]]:
    """Return a decorator that makes a public function of one that gets its own name and all arguments by theirs.

    Name, signature and what `about` doesn't say of arguments are those of a function in SciPy's `module`. The document
    begins with that of what is decorated, and ends with its examples.
    """

    def decorate(compute: Callable[[str, dict[str, Any]], R]) -> Callable[..., R]:
        name = compute.__name__
        signature = _signature(module, name)

        def call(*args: Any, **keywords: Any) -> R:
            find_function(module, name)
            try:
                bound = signature.bind(*args, **keywords)
            except TypeError as error:
                raise TypeError(f"{name}() {error}") from None
            bound.apply_defaults()
            arguments = bound.arguments
            for each in signature.parameters.values():
                if each.kind is each.VAR_KEYWORD:
                    arguments |= arguments.pop(each.name)
            return compute(name, arguments)

        aside(call)
        origin.publish(call, lambda frame: str(frame.f_locals["name"]))  # calls of all functions are of this one code
        call.__name__ = call.__qualname__ = name
        call.__module__, call.__doc__ = f"{__name__.rpartition('.')[0]}.{module}", compute.__doc__
        vars(call)["__signature__"] = signature
        return described(about, returns, kind, module)(call)

    return decorate


def _signature(module: str, name: str) -> inspect.Signature:
    """Return the signature of SciPy's function; where the installed SciPy lacks it, one that takes anything."""
    try:
        signature = inspect.signature(find_function(module, name))
    except ImportError:
        return inspect.signature(lambda *args, **kwargs: None)
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return inspect.Signature(plain)


def row(
    decorate: Callable[[Callable[[str, dict[str, Any]], R]], Callable[..., R]],
    compute: Callable[[str, dict[str, Any]], R],
    name: str,
    text: str,
    example: str,
    result: str,
) -> Callable[..., R]:
    """Return a public function that is told by its name, what it does, and an expression with what that gives."""

    def own(name: str, arguments: dict[str, Any]) -> R:
        return compute(name, arguments)

    own.__name__, own.__doc__ = name, f"{inspect.cleandoc(text)}\n\n>>> import windrow as wr\n>>> {example}\n{result}"
    return decorate(own)


def find_function(module: str, name: str) -> Any:
    """Return a function of SciPy's; raise where SciPy isn't installed, or is a version without it."""
    try:
        return getattr(find_module(module, name), name)
    except AttributeError:
        version = importlib.import_module("scipy").__version__
        raise ImportError(
            f"{name}: the installed SciPy, {version}, has no scipy.{module}.{name}; expected a version that has it"
        ) from None


def find_module(module: str, operation: str) -> Any:
    """Return a module of SciPy's; raise where SciPy isn't installed."""
    try:
        return importlib.import_module(f"scipy.{module}")
    except ModuleNotFoundError as error:
        raise ImportError(f'{operation}: SciPy is not installed; pip install "windrow[scipy]"') from error


def attempt(operation: str, function: Any, /, *samples: Any, **keywords: Any) -> Any:
    """Call a function of SciPy's on small arrays: what it raises is told now, under the operation's name."""
    try:
        with np.errstate(all="ignore"):
            # some take no arrays that can't be written
            arguments = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in keywords.items()}
            return function(*samples, **arguments)
    except TypeError as error:
        arrays = (*samples, *(v for v in keywords.values() if isinstance(v, np.ndarray)))
        raise DTypeError(f"{operation}: {told(arrays)} can't be taken: {error}") from error
    except (ValueError, RuntimeError, IndexError, NotImplementedError, OverflowError) as error:
        raise ArgumentError(f"{operation}: SciPy doesn't take these arguments: {error}") from error


def told(samples: tuple[Any, ...]) -> str:
    """Return the dtypes of arrays, for a message."""
    return "an array of " + ", ".join(str(np.asarray(s).dtype) for s in samples)


def numbers(operation: str, argument: str, value: object, kinds: str = "biufc") -> Array:
    """Return an operand, whose elements are numbers."""
    x = as_array(operation, argument, value)
    if x.dtype.kind not in kinds:
        expected = "numbers" if "c" in kinds else "real numbers"
        raise DTypeError(bad(operation, argument, x.dtype, expected))
    return x


def settled(operation: str, given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return keywords as values that travel and have names: small arrays are computed, lists become tuples."""
    return tuple((name, plain_value(operation, name, value)) for name, value in given.items())


def plain_value(operation: str, name: str, value: Any) -> Any:
    """Return one such value."""
    if isinstance(value, ArrayBase):
        return own(np.asarray(value))
    if value is None or isinstance(value, bool | int | float | complex | str | np.dtype | np.generic):
        return value
    if isinstance(value, np.ndarray):
        return own(value)
    if isinstance(value, type):
        return np.dtype(value)
    if isinstance(value, dict):
        raise ArgumentError(bad(operation, name, value, "numbers, a text or a sequence of them"))
    try:
        items = list(value)
    except TypeError as error:
        raise ArgumentError(bad(operation, name, value, "numbers, a text or a sequence of them")) from error
    return tuple(plain_value(operation, name, item) for item in items)


def own(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy that nobody changes."""
    if value.dtype.hasobject:
        raise DTypeError(f"an argument has dtype {value.dtype}; expected one without Python objects")
    array = np.ascontiguousarray(value).copy().reshape(value.shape)
    array.flags.writeable = False
    return array


def refuse(operation: str, why: str, how: str) -> ArgumentError:
    """Return the error for what can't be done on chunks."""
    return ArgumentError(f"{operation}: {why}; {how}")


def whole(operation: str, x: Array, axes: tuple[int, ...] | None = None) -> Array:
    """Return an array that has one chunk along axes (None: all), or raise: what needs all at once isn't gathered."""
    several = [i for i in (range(x.ndim) if axes is None else axes) if x.numblocks[i] > 1]
    if several:
        raise refuse(
            operation,
            f"it needs the whole array at once, and argument has {x.numblocks} chunks",
            "expected one: x.rechunk(x.shape) brings them together on one rank",
        )
    return x
