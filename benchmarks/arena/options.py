"""The command line, and sizes of memory as people write them."""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

from .systems import SYSTEMS

ROOT = Path(__file__).parents[2]
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def size(text: str) -> int:
    """Return the bytes of "2GiB" or "512 MiB"."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([KMGT]iB|)\s*", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; expected one such as 2GiB or 512MiB")
    return int(float(match[1]) * UNITS[match[2]])


def gib(nbytes: float) -> str:
    """Return bytes as GiB, with two digits."""
    return f"{nbytes / UNITS['GiB']:.2g}"


def words(text: str) -> list[str]:
    """Return the words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="make arena", description=__doc__)
    parser.add_argument("--only", type=words, default=[], help="workloads; dot,ols (see --list)")
    parser.add_argument(
        "--systems", type=words, default=[], help=f"default: {','.join(SYSTEMS)}; with --climate windrow,dask"
    )
    parser.add_argument("--memory", type=size, default=size("8GiB"), help="the limit for each; default: 8GiB")
    parser.add_argument(
        "--cores", type=int, default=2, help="threads of a system, ranks or workers; default: %(default)s"
    )
    parser.add_argument("--limit", type=float, default=90.0, help="seconds of a run; default: %(default)s")
    parser.add_argument("--repeats", type=int, default=3, help="runs, until they took 12 seconds; default: %(default)s")
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    parser.add_argument("--data", type=Path, help="where data sets are kept; default: build/arena/data")
    parser.add_argument("--results", type=Path, default=ROOT / "build/arena/results.jsonl", help="default: %(default)s")
    parser.add_argument("--again", action="store_true", help="measure what was measured at this revision, too")
    parser.add_argument("--climate", action="store_true", help="xarray's operations on a zarr store, beside dask")
    parser.add_argument("--table", action="store_true", help="only show what the file of results has")
    parser.add_argument("--list", action="store_true", help="only list the workloads")
    options = parser.parse_args(given)
    if unknown := [name for name in options.systems if name not in SYSTEMS]:
        parser.error(f"unknown systems {unknown}; expected some of {', '.join(SYSTEMS)}")
    options.systems = options.systems or (["windrow", "dask"] if options.climate else list(SYSTEMS))
    options.data = options.data or ROOT / "build/arena/data"
    options.small = options.scale == "small"
    return options


def revision() -> str:
    """Return the checkout's revision, marked where files differ from it; "" where there is none."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()
