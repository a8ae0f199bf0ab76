"""This tree beside an earlier revision: `make bench ARGS="--compare REV"`.

The revision is checked out as a git worktree in a temporary folder, which is removed at the end. Of each row the same
worker measures both in turn, and who goes first alternates; PYTHONPATH says whose package it imports.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from means import geometric
from process import answer, ended_in_order

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
SLOWER = 1.05
"""From this ratio on a row is marked."""


@dataclass
class Pair:
    """A row: the seconds of both trees, or what went wrong."""

    name: str
    old: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def ratio(self) -> float:
        """The present tree's least time over the revision's."""
        return min(self.new) / min(self.old)

    def line(self) -> str:
        """Return it as text, in milliseconds."""
        if self.error:
            return f"{self.name:<44} failed: {self.error}"
        cells = [f"{min(t) * 1e3:.4g} ({median(t) * 1e3:.4g})" for t in (self.old, self.new)]
        mark = "  SLOWER" if self.ratio > SLOWER else ""
        ratios = f"{self.ratio:8.3f} ({median(self.new) / median(self.old):.3f})"
        return f"{self.name:<44} {cells[0]:>20} {cells[1]:>20} {ratios}{mark}"


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Give the tree of a revision, which is removed afterwards, also after Ctrl-C or SIGTERM."""
    git = ["git", "-C", str(ROOT)]
    with ended_in_order(), tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        tree = Path(folder) / "tree"
        try:
            subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(tree), revision], check=True)
            yield tree
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(tree)], check=False, capture_output=True)
            subprocess.run([*git, "worktree", "prune"], check=False)


def paired(name: str, turns: int, trees: dict[str, Path], run: Callable[[dict[str, str]], dict[str, Any]]) -> Pair:
    """Measure one row by both trees in turn."""
    pair = Pair(name)
    for turn in range(turns):
        for which in ("old", "new") if turn % 2 == 0 else ("new", "old"):
            found = run({"PYTHONPATH": str(trees[which] / "src")})
            if "error" in found:
                pair.error = f"{which}: {found['error']}"
                return pair
            assert Path(found["source"]).is_relative_to(trees[which].resolve()), found["source"]
            getattr(pair, which).extend(found["times"])
    return pair


def steps(turns: int, trees: dict[str, Path], quick: bool) -> Iterator[Pair]:
    """Measure the loops of steps.py."""
    command = [sys.executable, str(ROOT / "benchmarks" / "steps.py"), *(["--quick"] if quick else [])]
    pairs: dict[str, Pair] = {}
    for turn in range(turns):
        for which in ("old", "new") if turn % 2 == 0 else ("new", "old"):
            found = answer(command, {"PYTHONPATH": str(trees[which] / "src")}, 300.0)
            if "error" in found:
                yield Pair("steps", error=f"{which}: {found['error']}")
                return
            for name, seconds in found.items():
                getattr(pairs.setdefault(name, Pair(f"step, {name}")), which).append(seconds)
    yield from pairs.values()


def compare(
    options: argparse.Namespace, rows: list[tuple[str, str]], measure: Callable[..., dict[str, Any]], with_steps: bool
) -> int:
    """Measure (system, workload) after (system, workload), print each, and return 1 if anything went wrong."""
    pairs = []
    with checked_out(options.compare) as tree:
        trees = {"old": tree, "new": ROOT}
        print(f"{'ms, least (median)':<44} {options.compare[:20]:>20} {'this tree':>20} {'ratio':>8}")

        def add(pair: Pair) -> None:
            pairs.append(pair)
            print(pair.line(), flush=True)

        for system, workload in rows:
            name = workload if system == "windrow" else f"{workload}, {system}"
            add(paired(name, options.rounds, trees, lambda more, s=system, w=workload: measure(s, w, options, more)))
        if with_steps:
            for pair in steps(options.rounds, trees, options.quick):
                add(pair)
    right = [pair for pair in pairs if not pair.error]
    if right:
        slower = sum(pair.ratio > SLOWER for pair in right)
        print(f"geometric mean of {len(right)} ratios: {geometric(pair.ratio for pair in right):.3f}; slower: {slower}")
    return int(len(right) < len(pairs))
