"""Running a worker in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let SIGTERM unwind the stack, as Ctrl-C does: workers have sessions of their own, and would live on."""

    def end(number: int, frame: Any) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def answer(command: Sequence[str], environment: dict[str, str], limit: float) -> dict[str, Any]:
    """Return the JSON on a worker's last line; what went wrong comes back under "error"."""
    with ended_in_order():
        worker = subprocess.Popen(
            command,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = worker.communicate(timeout=limit)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                return {"error": f"no end in {limit:.0f} s"}
            raise
    if worker.returncode:
        return {"error": (err.strip().splitlines() or [f"exit status {worker.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return found
