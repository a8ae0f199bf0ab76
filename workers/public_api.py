"""The border between users' code and Windrow's: what is public, by what name, and how much of an error's way is told.

A public function is handed out in a thin wrapper. A keyword that it doesn't have gets an error of ours. Errors and
Ctrl-C that leave it show the user's frames and one of ours, the public function's own;
`wr.config.set(full_traceback=True)` or WINDROW_FULL_TRACEBACK=1 shows all.
"""

from __future__ import annotations

import functools
import sys
import warnings
from types import FunctionType, MethodType, TracebackType
from typing import TYPE_CHECKING, Any, cast

from ..graph.errors import WindrowError
from ..graph.expr import origin
from ..graph.keyword_hints import ASIDE, drop_hints, is_of_call
from .config import config
from .docstrings import head_examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

HIDDEN = "frames of Windrow's own are left out here; WINDROW_FULL_TRACEBACK=1 shows them"

_BENEATH = {origin.PACKAGE, "cloudpickle", "mpi4py", "numpy", "pyarrow", "sklearn", "tqdm"}
"""Whose frames say nothing that an error of Windrow's doesn't."""

_OPERATORS = {"__getitem__": "getitem", "__setitem__": "setitem", "__delitem__": "setitem"}
"""What users know as a name though they write it as a sign."""

_LABELLED = {"Ufunc"}
"""Classes whose instances make one expression each, which bears their name."""

_LEFT = {
    "__class_getitem__",
    "__del__",
    "__getattr__",
    "__getattribute__",
    "__getstate__",
    "__hash__",
    "__init_subclass__",
    "__new__",
    "__post_init__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__setattr__",
    "__setstate__",
    "__str__",
}
"""Methods that stay as they are."""


def ours(frame: FrameType) -> bool:
    """Whether a frame runs Windrow's own code."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] == origin.PACKAGE


class _Written(str):
    """An annotation as it is written: help shows it without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def unquote_annotations(function: Callable[..., Any]) -> None:
    """Let help show a function's annotations as they are written."""
    for name, text in getattr(function, "__annotations__", {}).items():
        if type(text) is str:
            function.__annotations__[name] = _Written(text)


def guard(function: Callable[..., Any], inner: bool = False) -> Callable[..., Any]:
    """Return a function that raises as `function` does, its traceback cut; `inner`: no frame of its own is shown."""

    unquote_annotations(function)

    @functools.wraps(function)
    def public(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except BaseException as error:
            try:
                known = drop_hints(function, keywords, error)
            except BaseException as refused:
                cut(refused, inner)
                del args, keywords
                raise
            if known is None:
                _name_call(function, args, error)
                cut(error, inner)
                del args, keywords  # a frame of a kept exception's traceback refers to this one
                raise
        return public(*args, **known)

    return public


def _name_call(function: Callable[..., Any], args: tuple[Any, ...], error: BaseException) -> None:
    """Let Python's error of a call that doesn't fit a method's parameters name what the user called."""
    own, _, method = function.__qualname__.rpartition(".")
    if not own or not is_of_call(error):
        return
    if method == "__call__" and args:
        _, method = _instances.get(id(args[0]), (None, type(args[0]).__name__))
    elif method == "__init__":
        method = own
    error.args = tuple(
        a.replace(f"{function.__qualname__}()", f"{method}()") if isinstance(a, str) else a for a in error.args
    )


def cut(error: BaseException, inner: bool = False) -> None:
    """Leave out of an error's traceback all but the first of Windrow's frames that follow each other.

    What was caught inside and told anew, with no code of the user's in between, isn't told twice.
    """
    if not config.cuts_tracebacks:
        return
    seen: set[int] = set()
    hidden = 0
    several: list[BaseException | None] = [error]
    while several:
        each = several.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, WindrowError) and not is_of_users(each.__cause__) and not is_of_users(each.__context__):
            each.__cause__, each.__suppress_context__ = None, True
        hidden = max(hidden, _shorten(each, inner and each is error))
        several += [each.__cause__, None if each.__suppress_context__ else each.__context__]
    explains_itself = isinstance(
        error, WindrowError | KeyboardInterrupt | AssertionError | Warning | SystemExit | StopIteration
    )
    if hidden > 1 and not explains_itself and not getattr(error, "__notes__", None):
        error.add_note(HIDDEN)


def trim_context(error: BaseException) -> None:
    """Leave out of an error of a user's function all that came before it was called."""
    if is_of_users(error):
        cut(error, inner=True)


def is_of_users(error: BaseException | None) -> bool:
    """Whether an error has passed through code that is neither Windrow's nor of what Windrow calls."""
    trace = None if error is None else error.__traceback__
    while trace is not None:
        if not ours(trace.tb_frame) and not _is_beneath(trace.tb_frame):
            return True
        trace = trace.tb_next
    return False


def _is_beneath(frame: FrameType) -> bool:
    """Whether a frame is of a library that Windrow stands on."""
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    beneath = package in _BENEATH or package in sys.stdlib_module_names
    return beneath and package not in (origin.PACKAGE, "__main__")


def _shorten(error: BaseException, inner: bool) -> int:
    """Shorten one error's own traceback; return how many frames are left out."""
    kept: list[TracebackType] = []
    before, hidden, trace = inner, 0, error.__traceback__
    while trace is not None:
        mine = ours(trace.tb_frame)
        if trace.tb_frame.f_code is _WRAPPER or trace.tb_frame.f_code in ASIDE:
            pass  # stands for nothing of its own
        elif mine and before:
            hidden += 1
        else:
            kept.append(trace)
            before = mine
        trace = trace.tb_next
    if isinstance(error, KeyboardInterrupt) and any(ours(each.tb_frame) for each in kept):
        while _is_beneath(kept[-1].tb_frame):  # where it came by chance
            kept.pop()
            hidden += 1
    shortened: TracebackType | None = None
    for one in reversed(kept):
        line = cast("int | None", one.tb_lineno)  # None: a Ctrl-C came at an instruction that belongs to no line
        shortened = TracebackType(shortened, one.tb_frame, one.tb_lasti, -1 if line is None else line)
    error.__traceback__ = shortened
    return hidden


def caller(depth: int) -> FrameType | None:
    """Return the user's frame that called a public function, so many frames below; None where it is one of ours."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and frame.f_code is _WRAPPER:
        frame = frame.f_back
    return None if frame is None or ours(frame) else frame


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line."""
    level, frame = 2, sys._getframe(1)
    while ours(frame) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


_WRAPPER = guard(len).__code__


def publish(module: str, names: Iterable[str] | None = None, plain: bool = False, indexed: str = "getitem") -> None:
    """Make functions and classes of a module public: what it has in its `__all__`, or these.

    Functions are replaced in it, and where they are defined; classes keep their place, with other methods. `plain`:
    these are known by their own names, not by their class's too; indexing is known as `indexed`.
    """
    space = vars(sys.modules[module])
    done: set[str] = set()
    for name in space["__all__"] if names is None else names:
        value = space.get(name)
        kind = value if isinstance(value, type) else type(value)
        if isinstance(value, FunctionType):
            if _mine(value) and value.__code__ is not _WRAPPER:
                own = value.__name__
                origin.publish(value, own if space.get(own) is value or own in done else name)
                done.add(own)
                space[name] = _wrap(value)
        elif isinstance(value, MethodType):
            if _mine(value):  # bound before its class was made public
                for each in type(value.__self__).__mro__:
                    if _mine(each):
                        _publish_class(each, plain, False, indexed)
                space[name] = getattr(value.__self__, value.__name__)
        elif _mine(kind) and not issubclass(kind, BaseException):
            if value is not kind:
                _instances[id(value)] = (value, name)
            origin.say(name)
            for each in kind.__mro__:
                if _mine(each):
                    _publish_class(each, plain, value is not kind, indexed)


def _mine(value: Any) -> bool:
    return str(value.__module__).partition(".")[0] == origin.PACKAGE


@functools.cache
def _wrap(function: FunctionType) -> Callable[..., Any]:
    function.__doc__ = head_examples(function.__doc__)
    guarded = guard(function)
    space = vars(sys.modules[function.__module__])
    if space.get(function.__name__) is function:  # pickles name a function by where it is defined
        space[function.__name__] = guarded
    return guarded


_instances: dict[int, tuple[Any, str]] = {}
"""Public objects that are called or indexed, by identity: `sum`, `mgrid`."""


@functools.cache
def _publish_class(kind: type, plain: bool, single: bool, indexed: str) -> None:
    """Make a class's methods public; `single`: its instances have names of their own."""
    kind.__doc__ = head_examples(kind.__doc__)
    for name, value in list(vars(kind).items()):
        if not isinstance(value, FunctionType) or value.__code__ is _WRAPPER or not _mine(value):
            continue
        dunder = name.startswith("__") and name.endswith("__")
        if name.startswith("_") and not dunder:
            continue
        if not dunder or name in _OPERATORS:
            spoken = indexed if name == "__getitem__" else _OPERATORS.get(name, name)
            origin.say(spoken)
            origin.publish(value, spoken if plain and not single else functools.partial(_method, spoken))
        elif name == "__call__" and kind.__name__ not in _LABELLED:
            origin.publish(value, functools.partial(_method, ""))
        if name not in _LEFT:
            value.__doc__ = head_examples(value.__doc__)
            setattr(kind, name, guard(value))


def _method(name: str, frame: FrameType) -> str:
    """Return "Class.method" for a call of a method."""
    receiver = frame.f_locals.get(frame.f_code.co_varnames[0])
    kind = receiver if isinstance(receiver, type) else type(receiver)
    _, known = _instances.get(id(receiver), (None, kind.__name__))
    return f"{known}.{name}" if name and name not in _OPERATORS.values() else known
