"""A line of the table: what Windrow takes, what its peer takes in the same run, and what was wanted."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FLAGS = "--with-ft ulfm --oversubscribe --bind-to none"
ROOT = {f"{name}_ALLOW_RUN_AS_ROOT{more}": "1" for name in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes
    ----------
    name
        What is measured.
    value, peer
        Of Windrow and of its peer; 0 where there is none.
    beside
        What the peer is.
    most
        `value / peer` at most, or, without a peer, `value`.
    unit
        Of both.
    """

    name: str
    value: float
    beside: str
    peer: float
    most: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """What `most` limits."""
        return self.value / self.peer if self.peer else self.value

    def plain(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


def mpirun(ranks: int, *words: str) -> list[str]:
    """Return the command that runs Python on ranks; the variable MPIRUN replaces launcher and flags."""
    beside = Path(sys.executable).parent / "mpirun"
    launcher = str(beside) if beside.exists() else shutil.which("mpirun") or "mpirun"
    launch = shlex.split(os.environ.get("MPIRUN", f"{launcher} {FLAGS}"))
    return [*launch, "-n", str(ranks), sys.executable, *words]
