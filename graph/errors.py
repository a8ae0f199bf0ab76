"""Windrow's own exceptions; each is also the built-in that NumPy's users would catch."""

from __future__ import annotations

import numpy as np

__all__ = [
    "ArgumentError",
    "AxisError",
    "BadValue",
    "ChunksError",
    "ClusterError",
    "DTypeError",
    "FileError",
    "FileExists",
    "FileFormatError",
    "IndexingError",
    "MissingFile",
    "OutOfMemory",
    "RangeError",
    "ShapeError",
    "SourceChanged",
    "WaitTimeout",
    "WindrowError",
]


class WindrowError(Exception):
    """Base of every exception that Windrow raises by itself."""


class ShapeError(WindrowError, ValueError):
    """Shapes that don't fit together, or a shape that an operation can't take."""


class ChunksError(WindrowError, ValueError):
    """A `chunks=` that can't be read, or that doesn't fit the shape."""


class DTypeError(WindrowError, TypeError):
    """A dtype that an operation can't take."""


class AxisError(WindrowError, np.exceptions.AxisError):
    """An axis that the array doesn't have."""


class ArgumentError(WindrowError, TypeError, ValueError):
    """An argument of the wrong kind, an unknown keyword or choice; NumPy raises now one, now the other built-in."""


class BadValue(WindrowError, ValueError):
    """An argument of the right kind, but with a value that an operation can't take."""


class RangeError(WindrowError, OverflowError):
    """A number that a dtype can't hold."""


class IndexingError(WindrowError, IndexError):
    """An index that the array doesn't take."""


class OutOfMemory(WindrowError, MemoryError):
    """The arenas can't hold what a computation needs."""


class ClusterError(WindrowError, RuntimeError):
    """The cluster is closed, was started wrongly, or has lost what it can't do without."""


class WaitTimeout(WindrowError, TimeoutError):
    """What was waited for isn't there yet; it goes on."""


class SourceChanged(WindrowError, RuntimeError):
    """A file, or memory of the user's, behind an array has changed since the array was made."""


class FileError(WindrowError, OSError):
    """A file that could not be read or written: a full disk, missing rights, a folder that ranks don't share."""


class MissingFile(FileError, FileNotFoundError):
    """A path at which there is nothing."""


class FileExists(FileError, FileExistsError):
    """A path at which there is something that must not be overwritten."""


class FileFormatError(WindrowError, ValueError):
    """A file that isn't of the kind that was expected, is incomplete, or is of a later version."""


class InWords(str):
    """What came, where it is described: `bad` doesn't quote it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def bad(operation: str, argument: str, got: object, expected: str) -> str:
    """Return the text of a message about a bad argument: operation, argument, what came, what was expected."""
    return f"{operation}: argument {argument!r} is {got!r}; expected {expected}"
