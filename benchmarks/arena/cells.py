"""One cell of the table: a workload on a system, in a process of its own under the limit."""

from __future__ import annotations

import importlib.util
import json
import mmap
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from control_group import limited
from limits import ONE_BLAS
from process import answer

from .data import ensure
from .measuring import Order
from .options import gib
from .registry import load
from .systems import SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
MEMORY = ("MemoryError", "OutOfMemory", "_ArrayMemoryError", "KilledWorker", "ArrayMemoryError")
"""What a process says that ended in order for want of memory."""
SLACK = 60.0
"""Seconds for imports and the end."""
TOUCHED = 6 << 30
"""Bytes of the machine's memory, at most, that this process holds between cells."""
POPULATE_WRITE = 23
"""MADV_POPULATE_WRITE, which `mmap` doesn't name."""


@dataclass(frozen=True)
class Cell:
    """What was measured.

    Attributes
    ----------
    limit
        Seconds that a run might take.
    times
        Seconds of each run, the first first; none: it failed.
    cpu
        Seconds of processor time of the worker itself; of ranks and other processes not.
    decoded
        How many stored chunks the worker itself decoded in the last run.
    peak, held
        The most bytes of the group, and of those that are no files' pages.
    error
        Why there is no figure, in words for the table; "" where there is one.
    detail
        What the process said of it.
    limiter
        What the limit was.
    """

    workload: str
    system: str
    memory: int
    small: bool
    revision: str
    cores: int = 2
    limit: float = 0.0
    times: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    first_task: float | None = None
    decoded: int = 0
    peak: int = 0
    held: int = 0
    kills: int = 0
    error: str = ""
    detail: str = ""
    limiter: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, int, bool, int]:
        """What a later cell replaces an earlier one by."""
        return self.workload, self.system, self.memory, self.small, self.cores

    def stands(self, revision: str, limit: float) -> bool:
        """Whether it needn't be measured again: by this revision, or by a peer of this version."""
        if self.error.startswith("over") and self.limit < limit:
            return False
        if self.system.startswith("windrow"):
            return self.revision == revision and not revision.endswith("-dirty")
        return self.versions == versions(self.system)


def versions(system: str) -> dict[str, str]:
    """Return the versions of what a system is made of."""
    package = SYSTEMS[system][1]
    found = {}
    for name in dict.fromkeys((package, "numpy", "xarray", "zarr")):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found if not system.startswith("windrow") else {}


def read(file: Path) -> dict[tuple[str, str, int, bool, int], Cell]:
    """Return the cells of a file, the last of each."""
    if not file.exists():
        return {}
    cells = [Cell(**json.loads(line)) for line in file.read_text().splitlines()]
    return {cell.key: cell for cell in cells}


def keep(file: Path, cell: Cell) -> None:
    """Add a cell to the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as lines:
        lines.write(json.dumps(asdict(cell)) + "\n")


def ready(systems: Sequence[str]) -> Iterator[str]:
    """Give the systems that are installed."""
    yield from (name for name in systems if importlib.util.find_spec(SYSTEMS[name][1]) is not None)


def available() -> int:
    """Return the bytes that the machine has for who asks for them."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


_TOUCHED: list[mmap.mmap] = []


def _take(nbytes: int) -> None:
    if not _TOUCHED and (most := min(TOUCHED, nbytes, available() // 2)) > 0:
        _TOUCHED.append(memory := mmap.mmap(-1, most, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        memory.madvise(mmap.MADV_HUGEPAGE)  # as NumPy and arenas have it: else large pages are still to be made
        memory.madvise(POPULATE_WRITE)


@contextmanager
def touched(nbytes: int) -> Iterator[None]:
    """Hold memory, at most so many bytes, but for as long as a cell runs: before the first, and between cells.

    A virtual machine gives idle memory back to its host. Who uses it first, of several that are compared, waits until
    it is there again: seconds for each GiB.
    """
    _take(nbytes)
    while _TOUCHED:
        _TOUCHED.pop().close()
    try:
        yield
    finally:
        _take(nbytes)


def measure(workload: str, system: str, options: Any, revision: str) -> Cell:
    """Run it; whatever happens is a cell. What it reads is written before, outside of the limit."""
    options.data.mkdir(parents=True, exist_ok=True)
    for name in load()[workload].stores:
        ensure(options.data, name, options.small)
    with (
        touched(0 if options.small else options.memory),
        tempfile.TemporaryDirectory(prefix="arena-") as folder,
        limited(options.memory, measured := Path(folder, "measured")) as group,
    ):
        late = Path(folder, "late")
        order = Order(
            workload,
            system,
            str(options.data),
            str(late),
            options.memory,
            options.limit,
            options.repeats,
            options.small,
            options.cores,
        )
        environment = SYSTEMS[system][2] | {"TMPDIR": folder, "ARENA_MEASURED": str(measured)}
        environment |= {"ARENA_PEAK": str(group.peak_file)} if group.peak_file is not None else {}
        environment |= ONE_BLAS if system in ("dask", "distributed", "cubed") else {}
        command = group.wrap([sys.executable, str(HERE / "worker.py"), json.dumps(asdict(order))])
        found: dict[str, Any] = answer(command, environment, 4 * options.limit + SLACK)
        more: dict[str, Any] = {
            "peak": found.get("peak", 0) or group.peak,
            "held": group.held,
            "kills": group.killed,
        }
        failed = found.get("failed") or found.get("error", "")
        if late.exists() and late.stat().st_size:
            more |= {"error": f"over {options.limit:.0f} s", "detail": late.read_text()[-3000:]}
        elif failed and (more["kills"] or failed.startswith(MEMORY)):
            more |= {"error": f"died at {gib(more['peak'])} GiB", "detail": failed}
        elif failed:
            late_end, refused = failed.startswith("no end"), "exceeds allowed_mem" in failed
            more |= {"error": "no end" if late_end else "refused" if refused else "fails"}
            more["detail"] = found.get("stack", "") + failed
        else:
            more |= found["figures"]
            more |= {"error": "wrong", "detail": found["wrong"]} if found["wrong"] else {}
        return Cell(
            workload,
            system,
            options.memory,
            options.small,
            revision,
            cores=options.cores,
            limit=options.limit,
            limiter=group.name,
            versions=versions(system),
            **more,
        )
