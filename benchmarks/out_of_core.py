"""Arrays larger than memory, from files to files: each step's seconds, and the most that its job takes.

    python benchmarks/out_of_core.py --gib 12 --memory "1 GiB" --ranks 2

A table of numbers lies in a .npy file and in a zarr array. It is reduced, standardised, brought into other chunks and
sorted, from either one and into zarr or .npy again, each step in a process of its own (with its ranks) under a memory
control group of `memory` times ranks and half a GiB. What is written is read again, in pieces, and compared.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from control_group import limited

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = 1000
BESIDE = 1 << 29
PIECE = 8192
CLOSE = 1e-8
BLOCK = 512
"""Bytes by which the kernel counts."""
SOURCE = Path(__file__).parents[1] / "src"


def pieces(folder: Path, every: int = 1) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """Yield rows of the table, some at a time, and at which they begin; read past the memory map."""
    table = np.load(folder / "x.npy", mmap_mode="r")
    rows, offset = len(table), table.offset
    with open(folder / "x.npy", "rb") as file:
        for begin in range(0, rows, every * PIECE):
            file.seek(offset + begin * COLUMNS * 8)
            yield begin, np.fromfile(file, np.float64, min(PIECE, rows - begin) * COLUMNS).reshape(-1, COLUMNS)


def write_sources(folder: Path, rows: int) -> None:
    """Write the table as .npy and as zarr."""
    import zarr

    draw = np.random.default_rng(0)
    shape = (rows, COLUMNS)
    stored = zarr.create_array(folder / "x.zarr", shape=shape, chunks=(2 * PIECE // 8, COLUMNS), dtype=np.float64)
    with open(folder / "x.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
        for begin in range(0, rows, PIECE):
            part = draw.random((min(PIECE, rows - begin), COLUMNS)) * 10 + np.arange(COLUMNS)
            file.write(part.data)
            stored[begin : begin + len(part)] = part
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


STEPS = {
    "reduce npy": "m, s = wr.compute(x.mean(0), x.std(0)); np.save(out / 'reduced.npy', [m, s])",
    "reduce zarr": "m, s = wr.compute(z.mean(0), z.std(0)); np.save(out / 'reduced.npy', [m, s])",
    "standardise npy": "((x - x.mean(0)) / x.std(0)).to_zarr(out / 'made.zarr')",
    "standardise zarr": "((z - z.mean(0)) / z.std(0)).to_zarr(out / 'made.zarr')",
    "rechunk npy": "wr.to_npy(x.rechunk((-1, 'auto')), out / 'made.npy')",
    "rechunk zarr": "z.rechunk((-1, 'auto')).to_zarr(out / 'made.zarr')",
    "sort npy": "wr.to_npy(wr.sort(x, axis=None), out / 'made.npy')",
    "sort zarr": "wr.sort(z, axis=None).to_zarr(out / 'made.zarr')",
}
HEAD = """
import pathlib, sys
import numpy as np
import windrow as wr
folder, out = map(pathlib.Path, sys.argv[1:3])
x, z = wr.from_npy(folder / "x.npy"), wr.from_zarr(folder / "x.zarr")
"""


def moments(folder: Path) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], float, int]:
    """Return the columns' means and deviations, the least element and the number of rows, by NumPy; found once."""
    known = folder / "moments.npz"
    if not known.exists():
        middle = 5.0 + np.arange(COLUMNS)  # about the means, so that squares stay small
        total, square, least, count = np.zeros(COLUMNS), np.zeros(COLUMNS), np.inf, 0
        for _, part in pieces(folder):
            least = min(least, part.min())
            part -= middle
            total += part.sum(0)
            square += np.einsum("ij,ij->j", part, part)
            count += len(part)
        mean = total / count
        np.savez(known, mean=mean + middle, deviation=np.sqrt(square / count - mean**2), least=least, count=count)
    with np.load(known) as found:
        return found["mean"], found["deviation"], float(found["least"]), int(found["count"])


def check(step: str, folder: Path, out: Path, every: int) -> str:
    """Compare what a step has written with NumPy's, in pieces, `every` so many; return what is wrong."""
    mean, deviation, least, count = moments(folder)
    if step.startswith("reduce"):
        return "" if np.allclose(np.load(out / "reduced.npy"), [mean, deviation]) else "other means"
    made: Any
    if (out / "made.npy").exists():
        made = np.load(out / "made.npy", mmap_mode="r")
    else:
        import zarr

        made = zarr.open_array(out / "made.zarr", mode="r")
    if step.startswith("sort"):
        added, before = 0.0, least
        if made[0] != least or made.shape != (count * COLUMNS,):
            return "another least element, or shape"
        for begin in range(0, made.shape[0], every * PIECE * COLUMNS):
            part = np.asarray(made[begin : begin + PIECE * COLUMNS])
            if part[0] < before or (np.diff(part) < 0).any():
                return f"not in order after {begin}"
            before = part[-1]
            added += part.sum()
        return "" if every > 1 or np.isclose(added, mean.sum() * count) else "other numbers"
    for begin, part in pieces(folder, every):
        wanted = (part - mean) / deviation if step.startswith("standardise") else part
        for column in range(0, COLUMNS, COLUMNS // 4) if step.startswith("rechunk") else (0,):
            width = 1 if step.startswith("rechunk") else COLUMNS
            off = made[begin : begin + len(part), column : column + width] - wanted[:, column : column + width]
            if not max(-off.min(), off.max()) < CLOSE:
                return f"other elements at row {begin}"
        if step.startswith("rechunk") and begin > 4 * every * PIECE:
            break
    return ""


def _disk_bytes(before: resource.struct_rusage) -> dict[str, int]:
    """Return what children that have ended since then read from disk and wrote."""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "read": (after.ru_inblock - before.ru_inblock) * BLOCK,
        "written": (after.ru_oublock - before.ru_oublock) * BLOCK,
    }


def run(step: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run a step in a group of its own."""
    from windrow.graph.chunks.normalize import parse_bytes

    out = Path(tempfile.mkdtemp(dir=folder))
    limit = parse_bytes(options.memory) * options.ranks + BESIDE
    words = [sys.executable, "-m", "windrow", *(["-n", str(options.ranks)] if options.ranks > 1 else [])]
    words += ["--memory", options.memory, "-c", HEAD + STEPS[step], str(folder), str(out)]
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "WINDROW_SPILL_DIR": str(folder)}
    try:
        with limited(limit) as group:
            if group.folder is None:
                sys.exit("no memory control groups can be made here")
            begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            try:
                done = subprocess.run(
                    group.wrap(words),
                    env=environment,
                    timeout=options.seconds,
                    check=False,
                    capture_output=True,
                    text=True,
                )
                status, said = done.returncode, done.stderr
            except subprocess.TimeoutExpired:
                status, said = 1, f"no end in {options.seconds:.0f} s"
            found = {
                "step": step,
                "seconds": round(time.monotonic() - begin, 1),
                **_disk_bytes(before),
                "peak": group.peak,
                "held": group.held,
                "limit": limit,
                "killed": group.killed,
                "status": status,
            }
        wrong = said[-2000:] if status else check(step, folder, out, options.every)
        return found | {"wrong": wrong, "said": said[-500:]}
    finally:
        shutil.rmtree(out)


def main() -> None:
    """Run the steps; fail where one is wrong, or was killed."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--gib", type=float, default=12.0)
    parser.add_argument("--memory", default="1 GiB")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--only", default="", help="part of the names of steps")
    parser.add_argument("--seconds", type=float, default=3600.0, help="limit of each step")
    parser.add_argument("--every", type=int, default=1, help="compare each so-manieth piece alone")
    parser.add_argument("--folder", help="where files go; a temporary one is removed")
    options = parser.parse_args()
    made = Path(options.folder or tempfile.mkdtemp(prefix="windrow-out-of-core-"))
    bad = False
    try:
        if not (made / "x.npy").exists():
            write_sources(made, int(options.gib * (1 << 30)) // (8 * COLUMNS))
        for step in (name for name in STEPS if options.only in name):
            found = run(step, made, options)
            print(json.dumps(found), flush=True)
            bad |= bool(found["wrong"] or found["killed"])
    finally:
        if options.folder is None:
            shutil.rmtree(made)
    sys.exit(bad)


if __name__ == "__main__":
    main()
