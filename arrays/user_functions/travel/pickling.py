"""Users' functions: pickled when the operation is made, so that a function that can't travel fails there."""

from __future__ import annotations

import contextlib
import dis
import functools
import gc
import importlib
import inspect
import io
import sys
from collections import ChainMap
from concurrent.futures import Future
from hashlib import blake2b
from itertools import islice
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ....graph.errors import ArgumentError, DTypeError, bad
from ....graph.expr import names
from ....graph.expr.token import token_of
from ....graph.kinds.mapping import Payload
from ....scheduler.shared.pages.lease import Lease
from ....workers.kernels.user_results import plain
from ....workers.shared.pages.additions import adder, trying
from ....workers.shared.pickled_by_name import noting
from ....workers.shared.shared_objects import as_ranks_see
from ...base import ArrayBase, NotPickled, check_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....graph.expr.expr import DType
    from ...array import Array

WANTS = ("block_id", "block_info")
FEW = 64
"""So many entries of a collection that a function uses are looked at."""


def name_of(function: Any) -> str:
    """Return a function's name for messages and drawings."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _is_own(function: Callable[..., Any]) -> bool:
    """Whether a function is one of Windrow's, whose name says nothing to users."""
    return str(getattr(function, "__module__", "")).partition(".")[0] == __name__.partition(".")[0]


def payload(
    operation: str,
    function: Callable[..., Any],
    extra: tuple[Any, ...],
    keywords: dict[str, Any],
    name: str = "",
    memory: Any = None,
) -> Payload:
    """Pickle a function with its arguments; what is no function, or can't be pickled, is refused.

    `name` is that of the user's function in one of Windrow's that stands around it; `memory` is how many times the
    bytes of its arguments and its result a call takes, where the user says so.
    """
    number = isinstance(memory, int | float | np.integer | np.floating) and not isinstance(memory, bool)
    if memory is not None and not (number and 0 < memory < np.inf):
        how = "a number above 0: how many times its blocks' bytes the function takes"
        raise ArgumentError(bad(operation, "memory", memory, how))
    if not callable(function):
        raise ArgumentError(bad(operation, "func", function, "a function"))
    shown = name or ("" if _is_own(function) else name_of(function))
    name = name or name_of(function)
    refuse_captured(operation, function)
    try:
        with noting() as used:
            pickled = _dumps((function, extra, keywords))
            digest = _digest((function, extra, keywords), pickled)
    except NotPickled as error:
        raise ArgumentError(
            f"{operation}: the function {name!r} uses what holds lazy arrays, such as a data set, or is given it; "
            "expected lazy arrays among the arguments, by position, or what was computed: ds.compute(); "
            "a task may use it as it is: wr.submit(f, ds)"
        ) from error
    except Exception as error:
        raise ArgumentError(
            f"{operation}: argument 'func', the function {name!r} with its arguments, can't be pickled: "
            f"{type(error).__name__}: {error}; expected one that can travel to other processes"
        ) from error
    packed = Payload(shown, pickled, digest, tuple(used))
    packed.memory = None if memory is None else float(memory)
    return packed


def _digest(function: Any, pickled: bytes) -> str:
    """Return what names a function: the same in all processes that run this program."""
    if not names.agreed():
        return blake2b(pickled, digest_size=16).hexdigest()
    return str(importlib.import_module(f"{__package__}.fingerprints").fingerprint(function).hex())


def _dumps(value: object) -> bytes:
    file = io.BytesIO()
    pickler()(file).dump(value)
    return file.getvalue()


@functools.cache
def pickler() -> Any:
    """Return cloudpickle's pickler, but for two things.

    Caches of a script's functions it pickles by their names; here they go by value. From 3.1.3 on it leaves out the
    files that functions stand in, without which a remote traceback doesn't tell the user's line.
    """
    cloudpickle = importlib.import_module("cloudpickle")
    table = cloudpickle.Pickler.dispatch_table

    def reduce_code(code: CodeType) -> tuple[Any, ...]:
        make, args = table[CodeType](code)
        # A string of its own: whether two codes share one depends on how they were made, and a pickle tells.
        file = "".join(code.co_filename)
        return make, tuple(file if isinstance(each, str) and each == _NO_FILE else each for each in args)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc, name-defined] # loaded when it is needed
        dispatch_table: ClassVar = ChainMap({CodeType: reduce_code}, table)

        def reducer_override(self, obj: object) -> Any:
            if isinstance(obj, _Cache) and obj.__module__ == "__main__":
                return _cached, (obj.__wrapped__, obj.cache_parameters())
            if type(obj) is np.ufunc and vars(sys.modules["__main__"]).get(name_of(obj)) is obj:
                return find_ufunc, (name_of(obj),)
            return super().reducer_override(obj)

    return Pickler


_NO_FILE = "<dynamic-code>"
_Cache = type(functools.cache(len))


def _cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def find_ufunc(name: str) -> Any:
    """Return a ufunc that the script has made, which is known to the process that runs the script alone."""
    ufunc = getattr(sys.modules["__main__"], name, None)
    if not isinstance(ufunc, np.ufunc):
        raise ArgumentError(
            f"the ufunc {name!r} was made by the script, as by numba.vectorize(target='parallel'), and can't travel to "
            "other processes; expected one of a module that they can import, or one made by the function that uses it"
        )
    return ufunc


class OfNumbagg:
    """A ufunc that one of numbagg's functions has compiled: known by the function's name, and compiled on each rank."""

    def __init__(self, name: str, *dtype: Any) -> None:
        self.__name__, self._dtype = name, dtype

    def find(self) -> Any:
        """Return the ufunc."""
        function = getattr(importlib.import_module("numbagg"), self.__name__, None)
        return function.gufunc(*self._dtype, target=function.target)  # type: ignore[union-attr]

    def __call__(self, *blocks: Any, **keywords: Any) -> Any:
        """Call it."""
        return self.find()(*blocks, **keywords)


def function_of(ufunc: np.ufunc, *dtypes: Any) -> Any:
    """Return what stands for a ufunc that can't be pickled, as numba's of core axes can't; else the ufunc itself.

    `dtypes` are those of its arguments, by one of which it may have been compiled.
    """
    if hasattr(sys.modules.get("numbagg"), ufunc.__name__):
        for dtype in ((), *((d,) for d in dtypes)):
            with contextlib.suppress(TypeError):
                stand_in = OfNumbagg(ufunc.__name__, *dtype)
                if stand_in.find() is ufunc:
                    return stand_in
    for holder in gc.get_referrers(ufunc):
        for each in gc.get_referrers(holder) if isinstance(holder, dict) else (holder,):
            if type(each).__module__.startswith("numba.") and getattr(each, "ufunc", None) is ufunc:
                return each
    return ufunc


def name_additions(packed: Payload, arrays: Sequence[Array], more: Any) -> str:
    """Return the name of what a function adds to shared arrays, which its payload then keeps; empty: it uses none.

    Beside function and arrays `more` tells the operation from others.
    """
    if not any(isinstance(used, Lease) for used in packed.used):
        return ""
    key = token_of(packed.digest, [a.expr.token for a in arrays], more)
    packed.used += (adder(key),)
    return key


@functools.lru_cache(maxsize=1024)
def _globals_of(code: CodeType) -> tuple[str, ...]:
    return tuple(dict.fromkeys(i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"))


def refuse_captured(operation: str, function: Callable[..., Any]) -> None:
    """Raise where a function uses a lazy array or a future of its module's, or of the function it stands in."""
    if not inspect.isfunction(function):
        return
    code, around = function.__code__, function.__globals__
    named = {name: around.get(name) for name in _globals_of(code)}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # what isn't assigned yet
            named[name] = cell.cell_contents
    for name, value in named.items():
        if isinstance(value, ArrayBase):
            raise ArgumentError(
                f"{operation}: the function {name_of(function)!r} uses the Windrow array {name!r}; expected NumPy's "
                "only; hand it over among the arguments, or compute it beforehand"
            )
        if _is_future(value):
            raise ArgumentError(
                f"{operation}: the function {name_of(function)!r} uses the future {name!r}; expected its value, since "
                "futures stay with the script: take its result() beforehand, or hand it to submit() among the arguments"
            )


def _is_future(value: object) -> bool:
    """Whether something is a future, or holds some."""
    if isinstance(value, list | tuple | set | dict):
        held = islice(value.values() if isinstance(value, dict) else value, FEW)
        return any(isinstance(each, Future) for each in held)
    return isinstance(value, Future)


@functools.lru_cache(maxsize=1024)
def _names_outside(code: CodeType) -> tuple[str, ...]:
    """Return the globals that a code uses, and those of the functions in it."""
    inner = [name for each in code.co_consts if isinstance(each, CodeType) for name in _names_outside(each)]
    return tuple(dict.fromkeys([*_globals_of(code), *inner]))


def find_state(function: Callable[..., Any]) -> tuple[Any, ...] | None:
    """Return all that a function's pickle follows from, to be compared by identity; None where that is hard to say.

    It is said of functions that refer to modules and built-in functions alone.
    """
    if not inspect.isfunction(function) or function.__closure__ or function.__dict__:
        return None
    if function.__defaults__ or function.__kwdefaults__ or function.__annotations__:
        return None
    around = function.__globals__
    used = [around[name] for name in _names_outside(function.__code__) if name in around]
    return (function.__code__, *used) if all(isinstance(each, ModuleType) for each in used) else None


def find_wanted(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return which of block_id and block_info a function names among its parameters."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()
    return tuple(w for w in WANTS if w in parameters)


def call_on_samples(
    operation: str,
    function: Callable[..., Any],
    samples: list[np.ndarray[Any, Any]],
    extra: tuple[Any, ...],
    keywords: dict[str, Any],
    name: str = "",
    instead: str | None = "dtype",
) -> Any:
    """Return what a function gives for small arrays; errors name the argument without which it is tried."""
    called, positional, named = as_ranks_see((function, extra, keywords))
    try:
        with np.errstate(all="ignore"), trying():
            return called(*samples, *positional, **named)
    except Exception as error:
        tried = "arrays of one element" if all(sample.size == 1 for sample in samples) else "small arrays of ones"
        likely = f", such as {instead}={str(samples[0].dtype)!r}," if samples else ""
        without = "" if instead is None else f"; with {instead}={likely} it isn't tried"
        raise DTypeError(
            f"{operation}: the function {name or name_of(function)!r} raised {type(error).__name__}: {error}, when it "
            f"was tried on {tried} to find the dtype of what it returns{without}"
        ) from error


def infer_dtype(
    operation: str,
    function: Callable[..., Any],
    samples: list[np.ndarray[Any, Any]],
    extra: tuple[Any, ...],
    keywords: dict[str, Any],
    name: str = "",
    instead: str | None = "dtype",
) -> DType:
    """Return the dtype of what a function gives for small arrays."""
    return infer_result(operation, function, samples, extra, keywords, name, instead)[0]


def infer_result(
    operation: str,
    function: Callable[..., Any],
    samples: list[np.ndarray[Any, Any]],
    extra: tuple[Any, ...],
    keywords: dict[str, Any],
    name: str = "",
    instead: str | None = "dtype",
) -> tuple[DType, tuple[int, ...]]:
    """Return the dtype and the shape of what a function gives for small arrays."""
    returned = call_on_samples(operation, function, samples, extra, keywords, name, instead)
    array = plain(f"{operation}: {name or name_of(function)}", returned)
    return check_dtype(operation, "dtype", array.dtype), array.shape
