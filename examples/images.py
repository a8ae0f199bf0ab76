"""How large are the coins? A stack of noisy pictures, filtered, segmented and measured, each picture a chunk.

The pictures are made of scikit-image's own photograph of Greek coins: twelve exposures with noise, as PNG files. They
are read by all ranks, smoothed, freed of the uneven light, cut at Otsu's threshold; holes are filled, and what is
connected within a picture is labelled and measured. Nothing is computed before the numbers are asked for.

    pip install "windrow[mpi,scipy,files]" scikit-image
    python examples/images.py
    mpirun --with-ft ulfm -n 3 python -m windrow examples/images.py
"""

from __future__ import annotations

import os
import tempfile

import imageio.v3 as imageio
import numpy as np
import skimage
from skimage.filters import threshold_otsu

import windrow as wr

EXPOSURES = 12
LEAST = 500  # pixels of a coin


def expose(folder: str) -> str:
    """Write pictures of the coins with noise, and return the pattern of their names."""
    coins = imageio.imread(os.path.join(os.path.dirname(skimage.__file__), "data", "coins.png")).astype(float)
    rng = np.random.default_rng(1)
    for i in range(EXPOSURES):
        noisy = np.clip(coins + rng.normal(0, 12, coins.shape), 0, 255)
        imageio.imwrite(os.path.join(folder, f"coins-{i}.png"), noisy.astype(np.uint8))
    return os.path.join(folder, "coins-*.png")


def segment(frames: wr.Array) -> wr.Array:
    """Return where coins are."""
    smooth = wr.ndimage.gaussian_filter(frames.astype(float), (0, 2, 2))
    flat = (smooth - wr.ndimage.gaussian_filter(smooth, (0, 40, 40), truncate=3)).persist()
    counts, edges = wr.compute(*wr.histogram(flat, bins=256, range=(-120, 120)))
    level = threshold_otsu(hist=(counts, (edges[1:] + edges[:-1]) / 2))
    within = np.zeros((3, 3, 3), bool)  # neighbours are looked for in the same picture
    within[1] = True
    return wr.ndimage.binary_fill_holes(wr.ndimage.binary_opening(flat > level, within), within)


def measure(coins: wr.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return areas and centres of the coins in all pictures: those that are large enough."""
    within = np.zeros((3, 3, 3), bool)
    within[1] = True
    labels, count = wr.ndimage.label(coins, within)
    labels, number = labels.persist(), np.arange(1, int(count) + 1)
    areas = np.asarray(wr.ndimage.sum_labels(coins, labels, number))
    centres = np.asarray(wr.ndimage.center_of_mass(coins, labels, number))
    large = areas >= LEAST
    return areas[large], centres[large]


def main() -> None:
    """Make the pictures, find the coins, print their sizes."""
    with tempfile.TemporaryDirectory() as folder:
        frames = wr.imread(expose(folder))
        print(f"{frames.shape[0]} pictures of {frames.shape[1]} x {frames.shape[2]}, {frames.npartitions} chunks")
        areas, centres = measure(segment(frames))
    picture = np.round(centres[:, 0]).astype(int)
    found = np.bincount(picture, minlength=EXPOSURES)
    print("coins in each picture:", *found)
    print(f"areas: {areas.min():.0f} to {areas.max():.0f} pixels, median {np.median(areas):.0f}")
    whole = np.bincount(picture, weights=areas)
    print(
        f"all coins of a picture: {whole.mean():.0f} pixels, from picture to picture {whole.std() / whole.mean():.2%}"
    )


if __name__ == "__main__":
    main()
