"""What docstrings of functions that read and write files have in common."""

from __future__ import annotations

from ...workers.docstrings import Glossary
from ..docstrings import COMMON

FILES = Glossary(
    """
{storage_options}
storage_options : dict, optional
    For fsspec, beside a URL.
{table}
x : dict of str to array_like, or array_like
    1-D arrays of one length; chunks are aligned. Without a dict: a 1-D array is a column "values", and the
    columns of a 2-D array are named "0", "1", ….
{FileExists}
FileExists
    There is something at `path` that mustn't be replaced.
{MissingFile}
MissingFile
    There is nothing at `path`.
{table_errors}
MissingFile
    The folder to write in doesn't exist.
ArgumentError
    `path` is not a path, or `x` has no columns or names that are no strings.
ShapeError
    The arrays are not 1-D and of one length.
{unwritten}
FileError
    The files can't be written.
""",
    COMMON,
)
