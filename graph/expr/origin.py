"""Where expressions come from: the public function that the user called, and the user's own line.

Everything that users see (reprs, plans, errors, progress) is named by these, whatever an operation is made of inside.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import inspect
import os
import re
import sys
import sysconfig
import threading
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import CodeType, FrameType

    Naming = str | Callable[[FrameType], str]

PACKAGE = __name__.partition(".")[0]

_PROMPTS = {"<stdin>": "prompt", "<console>": "prompt", "<string>": "-c"}


class Origin(NamedTuple):
    """What made an expression: the public function's name ("" for operators and ufuncs), file and line of its call."""

    call: str = ""
    file: str = ""
    line: int = 0

    @property
    def where(self) -> str:
        """File and line for people: "script.py:3", "cell In[3], line 2"; "" where it isn't known."""
        if not self.file:
            return ""
        typed = name_prompt(self.file)
        return f"{typed}, line {self.line}" if typed else f"{self.file}:{self.line}"

    @property
    def short(self) -> str:
        """The same without the file's folder."""
        return self.where.rpartition("/")[2]


NOWHERE = Origin()


def name_prompt(file: str) -> str:
    """Return the cell or prompt that a code's file name stands for; "" for a file."""
    return _cell(file) or _PROMPTS.get(file) or _number_prompt(file)


def _cell(file: str) -> str:
    """Return the cell of a notebook, or of IPython's prompt, that a file's name stands for."""
    shell = sys.modules.get("IPython")
    if shell is None or (running := shell.get_ipython()) is None:
        return ""
    name = getattr(getattr(running, "compile", None), "format_code_name", None)
    named = None if name is None else name(file)
    return " ".join(named).lower().replace("in[", "In[") if named else ""


def _number_prompt(file: str) -> str:
    """Python's prompt numbers what is typed, from 3.13 on."""
    match = re.fullmatch(r"<python-input-(\d+)>", file)
    return f"prompt input {match[1]}" if match else ""


_named: dict[int, tuple[CodeType, Naming]] = {}
"""Public functions by the identity of their code: their name, or what makes it from the frame of a call."""

_ours: dict[int, CodeType] = {}
"""Other code of Windrow's that was met, by identity; it is kept, too."""

_words: set[str] = set()


def publish(function: Callable[..., object], naming: Naming) -> None:
    """Note that users call a function, and by what name; the code is kept, so that its identity stays its own."""
    code = inspect.unwrap(function).__code__  # decorated functions share the decorator's
    _named.setdefault(id(code), (code, naming))
    if isinstance(naming, str):
        _words.add(naming)


def is_spoken(word: str) -> bool:
    """Whether a word is one of those that users call something by."""
    return word in _words


def say(*words: str) -> None:
    """Note words that users know, though they are no functions."""
    _words.update(words)


@lru_cache(4096)
def _is_installed(file: str) -> bool:
    """Tell whether a file is a library's: no line of theirs is the user's, in whose name they call Windrow."""
    folders = Path(file).parts
    if "site-packages" in folders or "dist-packages" in folders:
        return True
    return file.startswith((_STANDARD_LIBRARY, "<frozen "))


_STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"] + os.sep
_inherited = threading.local()


@contextmanager
def standing(origin: Origin) -> Generator[None]:
    """While steps of an operation are made later than it was: what is made meanwhile comes from where it came.

    Of an operation that came from nowhere it comes from where it would without.
    """
    before = getattr(_inherited, "origin", None)
    _inherited.origin = before if origin is NOWHERE else origin
    try:
        yield
    finally:
        _inherited.origin = before


def find_origin() -> Origin:
    """Return the outermost public function on the way to the caller, and the user's line that called it."""
    inherited: Origin | None = getattr(_inherited, "origin", None)
    if inherited is not None:
        return inherited
    at = sys._getframe(1)
    frame: FrameType | None = at
    naming: Naming = ""
    while frame is not None:
        code = frame.f_code
        known = _named.get(id(code))
        if known is not None:
            naming, at = known[1], frame
        elif id(code) not in _ours:
            module = str(frame.f_globals.get("__name__"))
            if module.partition(".")[0] == PACKAGE:
                _ours[id(code)] = code
            elif module == "__main__" or not _is_installed(code.co_filename):
                break
        frame = frame.f_back
    call = naming if isinstance(naming, str) else naming(at)
    return Origin(call) if frame is None else Origin(call, frame.f_code.co_filename, frame.f_lineno)
