"""Stacks of images: a file each, of one shape, which imageio reads as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import FileError, ShapeError, SourceChanged

if TYPE_CHECKING:
    from ....graph.expr.expr import DType
    from ..file_arrays import Array
    from ..source_reader import Picks
    from .places import FilePlace


def read_image(place: FilePlace) -> Array:
    import imageio.v3 as imageio

    ending = f".{place.path.rpartition('.')[2]}"
    try:
        if place.is_local:
            place.check()
            with open(place.path, "rb") as file:  # imageio leaves open what it can't read
                samples = np.asarray(imageio.imread(file, extension=ending))
        else:
            samples = np.asarray(imageio.imread(place.read_bytes(), extension=ending))
    except SourceChanged:
        raise
    except Exception as error:
        place.check()
        raise FileError(f"{place.label}: {place.path} can't be read: {type(error).__name__}: {error}") from error
    place.check()
    return samples


def check_image(path: str, label: str, found: Any, shape: tuple[int, ...], dtype: DType) -> Array:
    """Return what was read of a file; raise where it isn't like the first one."""
    image: Array = np.asarray(found)
    if image.shape != shape or image.dtype != dtype:
        raise ShapeError(
            f"{label}: {path} has shape {image.shape} and dtype {image.dtype}; expected {shape} and {dtype}, as the "
            "first image has"
        )
    return image


@dataclass(frozen=True, eq=False)
class ImageStack:
    """The files, and what each of them holds."""

    places: tuple[FilePlace, ...]
    shape: tuple[int, ...]
    dtype: DType

    def open(self) -> ImageStack:
        """Return what reads it: itself, since no file stays open."""
        return self

    def read(self, where: tuple[slice, ...], picks: Picks) -> Array:
        out = np.empty([len(p) for p in picks], self.dtype)
        inside = np.ix_(*(np.asarray(p, np.int64) + s.start for p, s in zip(picks[1:], where[1:], strict=True)))
        for k, number in enumerate(picks[0]):
            place = self.places[where[0].start + int(number)]
            image = check_image(place.path, place.label, read_image(place), self.shape, self.dtype)
            out[k] = image[inside] if image.ndim else image
        return out
