"""Run npbench's kernels on lazy arrays beside NumPy: `make npbench SUITE=path/to/a/checkout`, or of one description.

Each kernel's own NumPy function runs unchanged; its arrays are made lazy, and NumPy's dispatch protocols do the rest.
Then it runs again, traced by `windrow.jit`, with nothing else changed: "values" says that tracing needs some. The least
preset is taken at which NumPy needs half a second. Each part runs in a process of its own, for `--limit` seconds at
most; nothing is fetched. Shown is the least time, and the first of Windrow's, which compiles.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from process import answer  # noqa: E402
from report import machine  # noqa: E402
from suite import ENOUGH, find, read  # noqa: E402


@dataclass
class Row:
    """A line of the table."""

    kernel: str
    preset: str = ""
    numpy: float = 0.0
    first: float = 0.0
    windrow: float = 0.0
    verdict: str = ""
    more: str = ""
    traced: float = 0.0
    traced_verdict: str = ""

    @property
    def ratio(self) -> float:
        """How many times faster than NumPy; 0 if there is no time."""
        return self.numpy / self.windrow if self.windrow else 0.0

    @property
    def traced_ratio(self) -> float:
        """The same of the traced function."""
        return self.numpy / self.traced if self.traced else 0.0

    def line(self) -> str:
        """Return it as text."""
        times = [f"{t:10.4g}" if t else " " * 10 for t in (self.numpy, self.first, self.windrow, self.traced)]
        ratios = [f"{ratio:8.3g}" if ratio else " " * 8 for ratio in (self.ratio, self.traced_ratio)]
        verdicts = f"{self.verdict:<8} {self.traced_verdict:<8} {self.more}"
        return f"{self.kernel:<24} {self.preset:<6}{''.join(times)}{''.join(ratios)}  {verdicts}".rstrip()


HEAD = (
    f"{'kernel':<24} {'preset':<6}{'numpy, s':>10}{'first, s':>10}{'windrow, s':>10}{'traced, s':>10}"
    f"{'ratio':>8}{'traced':>8}"
)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path, help="a checkout of npbench, or a file of its bench_info")
    parser.add_argument("--only", default="", help="kernels by their files' names: jacobi_2d,gemm")
    parser.add_argument("--preset", default="", help="S, M, L or paper for all; default: chosen by measuring")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each process; default: %(default)s")
    parser.add_argument("--memory", type=float, default=0.5, help="part of the machine's that NumPy may take")
    parser.add_argument("--as-np", action="store_true", help="let the kernel's `np` be windrow")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    options = parser.parse_args()
    options.only = [word.strip() for word in options.only.split(",") if word.strip()]
    if not find(options.suite, options.only):
        parser.error(f"no description of a kernel in {options.suite}")
    return options


def worker(path: Path, what: str, folder: str, options: argparse.Namespace, *more: str) -> dict[str, Any]:
    """Run a part in a process of its own."""
    command = [sys.executable, str(HERE / "worker.py"), str(path), what, folder, "--limit", str(options.limit)]
    return answer([*command, *more], {"WINDROW_FULL_TRACEBACK": "1"}, options.limit)


def choose(path: Path, folder: str, options: argparse.Namespace) -> str:
    """Return the preset to measure, of those that three runs fit in: the first that takes NumPy long, or the last."""
    if options.preset:
        return str(options.preset)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * options.memory
    worker(path, "sizes", folder, options, "--memory", str(memory))
    told = Path(folder) / "sizes.json"
    found: dict[str, float] = json.loads(told.read_text()) if told.exists() else {}
    fit = {preset: seconds for preset, seconds in found.items() if seconds <= options.limit / 3}
    longest = max(fit, key=lambda preset: fit[preset], default=read(path).presets[0])
    return next((preset for preset, seconds in fit.items() if seconds >= ENOUGH), longest)


def measure(path: Path, options: argparse.Namespace) -> Row:
    """Measure a kernel."""
    row = Row(path.stem)
    if not read(path).arrays and not options.as_np:
        row.verdict, row.more = "none", "it takes no arrays; --as-np runs it"
        return row
    with tempfile.TemporaryDirectory() as folder:
        row.preset = choose(path, folder, options)
        plain = worker(path, "numpy", folder, options, "--preset", row.preset)
        if "error" in plain:
            row.verdict, row.more = "none", f"NumPy: {plain['error']}"
            return row
        row.numpy = min(plain["times"])
        lazily = ["--as-np"] if options.as_np else []
        found = worker(path, "windrow", folder, options, "--preset", row.preset, *lazily)
        traced = worker(path, "traced", folder, options, "--preset", row.preset, *lazily)
    if "error" in traced:
        late = traced["error"].startswith("no end")
        row.traced_verdict = "timeout" if late else "values" if "while it is traced" in traced["error"] else "error"
        row.more = traced["error"]
    else:
        row.traced, row.traced_verdict = min(traced["times"]), "right" if traced["right"] else "wrong"
    if "error" in found:
        row.verdict = "timeout" if found["error"].startswith("no end") else "error"
        row.more = found["error"]
    else:
        row.first, row.windrow = found["times"][0], min(found["times"])
        row.verdict = "right" if found["right"] else "wrong"
        if found["lazy"] < found["results"] and not row.more:
            row.more = f"lazy: {found['lazy']} of {found['results']} results"
    return row


def summary(rows: list[Row], limit: float) -> list[str]:
    """Return the means and counts, of functions as they are and traced."""
    lines = []
    for name in ("windrow", "traced"):
        plain = name == "windrow"
        cells = [(r.ratio, r.verdict) if plain else (r.traced_ratio, r.traced_verdict) for r in rows]
        ratios = [ratio for ratio, verdict in cells if verdict == "right"]
        if ratios:
            lines.append(f"{name}: geometric mean over {len(ratios)} right: {_mean(ratios):.3g}")
        late = [row.numpy / limit for row, (_, verdict) in zip(rows, cells, strict=True) if verdict == "timeout"]
        if late:
            both = [*ratios, *late]
            lines.append(f"{name}: with the limit for timeouts, {len(both)}: {_mean(both):.3g} at most")
        counts = Counter(verdict for _, verdict in cells)
        words = ("right", "wrong", "error", "timeout", "none" if plain else "values")
        lines.append(f"{name}: " + ", ".join(f"{word} {counts[word]}" for word in words))
    return lines


def _mean(ratios: list[float]) -> float:
    return exp(sum(map(log, ratios)) / len(ratios))


def main() -> int:
    """Measure, print, and say by the exit status whether any result was wrong."""
    options = arguments()
    print(machine())
    print(HEAD, flush=True)
    rows = []
    for path in find(options.suite, options.only):
        rows.append(measure(path, options))
        print(rows[-1].line(), flush=True)
    print("\n".join(summary(rows, options.limit)))
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return int(any("wrong" in (row.verdict, row.traced_verdict) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
