"""How far is it to the coast? A million points of the globe ask a k-d tree of the coast's cells.

The mask of the globe at 1 km comes with the package global-land-mask. Of its cells those count as coast that are land
and have water beside them. They lie in a tree of points on the sphere, once a host; each block of points asks it.
Prints how far the farthest land is from the sea, and the farthest sea from land.

    python examples/knn_land.py
    mpirun -n 2 python -m windrow examples/knn_land.py --step 1 --points 1000000
"""

from __future__ import annotations

import argparse
import time
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import windrow as wr

RADIUS = 6371.0


def globe(step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which cells are land, every so many of them, and the latitudes and longitudes of these."""
    archive = distribution("global-land-mask").locate_file("global_land_mask/globe_combined_mask_compressed.npz")
    with zipfile.ZipFile(str(archive)) as members:
        parts = []
        for name in ("mask", "lat", "lon"):
            with members.open(f"{name}.npy") as packed:
                parts.append(np.lib.format.read_array(packed))
    ocean, latitude, longitude = parts
    return ~ocean[::step, ::step], latitude[::step], longitude[::step]


def on_sphere(latitude: Any, longitude: Any) -> Any:
    """Return points of the unit sphere along a last axis; of NumPy's arrays, or of lazy ones."""
    latitude, longitude = np.radians(latitude), np.radians(longitude)
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=-1)


def coast(land: np.ndarray, latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """Return the points of land cells that have water beside them; east and west of the map meet."""
    inner = land.copy()
    inner[1:] &= land[:-1]
    inner[:-1] &= land[1:]
    inner &= np.roll(land, 1, axis=1) & np.roll(land, -1, axis=1)
    rows, columns = np.nonzero(land & ~inner)
    return on_sphere(latitude[rows], longitude[columns])


def ask(tree: Any, points: int, chunk: int) -> tuple[Any, Any, Any]:
    """Return latitudes and longitudes of points that are spread evenly, and how far each is from the coast, in km."""
    number = wr.arange(points, chunks=chunk)
    latitude = np.degrees(np.arcsin(1 - (2 * number + 1) / points))
    longitude = (number * 137.50776405 + 180) % 360 - 180  # the golden angle
    chord, _ = tree.query(on_sphere(latitude, longitude))
    return latitude, longitude, 2 * RADIUS * np.arcsin(chord / 2)


def on_land(land: np.ndarray, latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """Tell which points lie on land."""
    rows = np.clip((90 - latitude) / 180 * land.shape[0], 0, land.shape[0] - 1).astype(int)
    columns = np.clip((longitude + 180) / 360 * land.shape[1], 0, land.shape[1] - 1).astype(int)
    return land[rows, columns]


def draw(latitude: np.ndarray, longitude: np.ndarray, signed: np.ndarray, path: Path) -> None:
    """Draw all points: land in brown, water in blue, the darker the farther from the coast."""
    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.add_subplot(xlim=(-180, 180), ylim=(-90, 90), aspect="equal")
    most = np.abs(signed).max()
    drawn = axes.scatter(
        longitude, latitude, c=signed, s=500_000 / len(signed), cmap="BrBG_r", vmin=-most, vmax=most, linewidths=0
    )
    figure.colorbar(drawn, label="km to the coast; water is negative", shrink=0.7)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Build the tree, ask it, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=int, default=8, help="take every so many cells of the mask")
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--chunk", type=int, default=20_000)
    parser.add_argument("--output", type=Path, help="where a picture is to go")
    options = parser.parse_args()
    land, north, east = globe(options.step)
    cells = coast(land, north, east)
    begin = time.perf_counter()
    tree = wr.shared.KDTree(cells)
    print(f"coast   {tree.n:,} cells, a tree of {tree.nbytes / 2**20:.0f} MiB in {time.perf_counter() - begin:.1f} s")
    begin = time.perf_counter()
    latitude, longitude, distance = wr.compute(*ask(tree, options.points, options.chunk))
    print(f"asked   {options.points:,} points in {time.perf_counter() - begin:.1f} s")
    inland = on_land(land, latitude, longitude)
    for name, chosen in (("land", inland), ("water", ~inland)):
        far = int(np.argmax(np.where(chosen, distance, -1)))
        print(
            f"{name:<7} {chosen.mean():.1%} of the points; the farthest is {distance[far]:,.0f} km from the coast, "
            f"at {latitude[far]:.1f}, {longitude[far]:.1f}"
        )
    if options.output:
        draw(latitude, longitude, np.where(inland, distance, -distance), options.output)


if __name__ == "__main__":
    main()
