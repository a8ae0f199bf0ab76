"""Writing stacks of `.npy` files: a task makes one whole file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .files import whole_file

if TYPE_CHECKING:
    from .files import Array, Where


def to_npy_stack(block: Array, folder: str, axis: int, all_bytes: int, *, where: Where) -> Array:
    """Write the file of a block, of so many bytes in all; return its size."""
    number = where[axis].start
    with whole_file(folder, f"{number}.npy", all_bytes) as path:
        with open(path, "wb") as file:
            write_header(file, block)
            file.flush()
            np.ascontiguousarray(block).tofile(file)
        size = os.stat(path).st_size
    return np.full((1,) * len(where), size)


def write_header(file: Any, block: Array) -> None:
    """Write what a `.npy` file begins with."""
    head = {"descr": np.lib.format.dtype_to_descr(block.dtype), "fortran_order": False, "shape": block.shape}
    short = len(repr(head)) < 60_000  # a header of version 1.0 has less than 64 KiB
    (np.lib.format.write_array_header_1_0 if short else np.lib.format.write_array_header_2_0)(file, head)
