"""A folder of files that appears when it is complete: at a path or at a URL."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from ....workers.sources.formats.places import is_url
from ....workers.sources.formats.uploads import Upload
from .atomic_write import aside, check_sizes
from .uploading import check_uploaded, upload_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from ..glob import Options


@contextmanager
def new_folder(
    operation: str, target: str, options: Options, overwrite: bool, ours: Callable[[list[str]], bool]
) -> Iterator[str | Upload]:
    """Give what tasks write the folder's files to; they take their places together at the end, or none does.

    `ours(names)` tells whether a folder that has these files may be replaced.
    """
    if is_url(target):
        with upload_folder(operation, target, options, overwrite, ours) as upload:
            yield upload
        return
    with aside(operation, target, overwrite, partial(_replaceable, ours)) as hidden:
        os.mkdir(os.path.join(hidden, "data"))
        yield hidden


def _replaceable(ours: Callable[[list[str]], bool], path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path) and ours(os.listdir(path))


def check_files(operation: str, folder: str | Upload, names: list[str], sizes: np.ndarray[Any, Any]) -> None:
    """Raise if a file that a task has written isn't visible here with the same size."""
    if isinstance(folder, Upload):
        check_uploaded(folder, names, sizes)
    else:
        check_sizes(operation, folder, names, sizes)


def put_file(folder: str | Upload, name: str, raw: bytes) -> None:
    """Write a file of the folder from here."""
    if isinstance(folder, Upload):
        folder.put(name, raw)
        return
    with open(os.path.join(folder, "data", name), "xb") as file:
        file.write(raw)
