"""What share of the Earth's surface is land?

The mask of the globe at 1 km comes with the package global-land-mask: 21600 × 43200 cells, equal in angle
and not in area, so each row counts with the cosine of its latitude. The weighted mask would be 7.5 GB.

    python examples/land.py
    mpirun -n 4 python -m windrow examples/land.py
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from contextlib import contextmanager
from importlib.metadata import distribution
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

ROWS, COLUMNS = 21600, 43200
CHUNKS = (600, 10800)
CELL = 120
BAND = 1800


@contextmanager
def globe() -> Iterator[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
    """Give the ocean mask, mapped from a file that lasts as long as this block, and the rows' latitudes.

    Importing global_land_mask would read the whole mask into memory, so only its archive is opened.
    """
    archive = distribution("global-land-mask").locate_file("global_land_mask/globe_combined_mask_compressed.npz")
    with (
        zipfile.ZipFile(str(archive)) as members,
        tempfile.TemporaryDirectory(prefix="windrow-land-") as folder,
    ):
        path = Path(folder, "mask.npy")
        with members.open("mask.npy") as packed, path.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
        with members.open("lat.npy") as packed:
            latitude = np.lib.format.read_array(packed)
        yield np.load(path, mmap_mode="r"), latitude


def north(latitude: float, _: object = None) -> str:
    return f"{abs(latitude):.0f}°{'N' if latitude > 0 else 'S' if latitude < 0 else ''}"


def east(longitude: float, _: object = None) -> str:
    return f"{abs(longitude):.0f}°{'E' if longitude > 0 else 'W' if longitude < 0 else ''}"


def draw(coarse: NDArray[np.float64], profile: NDArray[np.float64], share: float, path: str) -> None:
    figure = Figure(figsize=(12, 5), dpi=150, layout="constrained")
    world, side = figure.subplots(1, 2, width_ratios=[5, 1], sharey=True)
    colours = LinearSegmentedColormap.from_list("land", ["#dbe9f1", "#c9d6b0", "#5b7a3a"])
    world.imshow(coarse, cmap=colours, extent=(-180, 180, -90, 90), vmin=0, vmax=1, aspect="auto")
    world.set_title(f"Land covers {share:.1%} of the Earth", loc="left", fontsize=14)
    world.set(xticks=range(-120, 121, 60), yticks=range(-90, 91, 30))
    world.xaxis.set_major_formatter(east)
    world.yaxis.set_major_formatter(north)
    latitude = 90 - (np.arange(profile.size) + 0.5) * 180 / profile.size
    side.fill_betweenx(latitude, profile, color="#5b7a3a", linewidth=0)
    side.fill_betweenx(latitude, profile, 1, color="#dbe9f1", linewidth=0)
    side.set_title("by latitude", loc="left", fontsize=11)
    side.set(xlim=(0, 1), ylim=(-90, 90), xticks=(0, 0.5, 1), xticklabels=("0", "50 %", "100 %"))
    for axes in (world, side):
        axes.tick_params(length=0, labelsize=9, labelcolor="#555555")
        axes.spines[:].set_visible(False)
        axes.grid(color="white", linewidth=0.5, alpha=0.6)
    figure.savefig(path)


def main() -> None:
    with globe() as (mask, degrees):
        land = ~wr.from_array(mask, chunks=CHUNKS)
        latitude = wr.from_array(degrees, chunks=CHUNKS[0])
        weight = wr.cos(latitude * (np.pi / 180))
        area = weight * COLUMNS
        rows = (land * weight[:, np.newaxis]).sum(axis=1)

        band_land = rows.reshape(ROWS // BAND, BAND).sum(axis=1)
        band_area = area.reshape(ROWS // BAND, BAND).sum(axis=1)
        coarse = land.reshape(ROWS // CELL, CELL, COLUMNS // CELL, CELL).mean(axis=(1, 3))
        results = wr.compute(rows.sum() / area.sum(), band_land, band_area, coarse, rows / area)
    share, band_land, band_area, coarse, profile = results

    print("latitude        land   of the globe")
    edges = np.linspace(90, -90, ROWS // BAND + 1)
    for (top, bottom), inside, whole in zip(pairwise(edges), band_land, band_area, strict=True):
        print(f"{north(top):>4} to {north(bottom):<4} {inside / whole:6.1%}  {whole / band_area.sum():12.1%}")
    draw(coarse, profile, float(share), "land.png")
    print("picture in land.png")
    print(f"land share {float(share):.12f}")


if __name__ == "__main__":
    main()
