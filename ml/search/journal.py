"""The folder of a search, from which it is resumed.

`search.json` identifies the search. Each finished rung has a file `rung-<number>.json` with the metrics of its trials.
The models of the last one are in `models-<number>.npz`, as arrays; nothing in the folder is ever unpickled. A model
that isn't only arrays isn't stored: it is trained again from the beginning, with the same result. Files are written
under another name and renamed.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import ArgumentError, InWords, bad

__all__ = ["Journal"]

Values = np.ndarray[Any, Any]
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Journal:
    """The folder of a search; without a path nothing is stored."""

    def __init__(self, operation: str, path: Any, description: dict[str, Any]) -> None:
        self.folder = None if path is None else Path(path)
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        description = json.loads(json.dumps({k: ADDRESS.sub("", repr(v)) for k, v in description.items()}))
        known = self._read("search.json")
        if known is None:
            self._write("search.json", description)
            return
        for name in sorted(description.keys() | known.keys()):
            if description.get(name) != known.get(name):
                came = InWords(f"{path} with {name} {known.get(name)}")
                raise ArgumentError(
                    bad(operation, "resume", came, f"a folder of this search, with {description.get(name)}")
                )

    def rung(self, number: int) -> dict[str, Any] | None:
        """Return the stored data of a rung; None if the rung isn't finished."""
        return self._read(f"rung-{number:04}.json")

    def enter(self, number: int, content: dict[str, Any], models: dict[str, Values]) -> None:
        """Write a rung and its models; delete the models of the previous one."""
        if self.folder is None:
            return
        name = f"models-{number:04}.npz"
        aside = self.folder / f".{name}.{os.getpid()}"
        with aside.open("wb") as file:
            np.savez(file, allow_pickle=False, **models)
            _sync(file)
        aside.replace(self.folder / name)
        self._write(f"rung-{number:04}.json", content)
        (self.folder / f"models-{number - 1:04}.npz").unlink(missing_ok=True)

    def models(self, number: int) -> dict[str, Values]:
        """Return the stored arrays of a rung's models."""
        if self.folder is None or not (path := self.folder / f"models-{number:04}.npz").exists():
            return {}
        with np.load(path, allow_pickle=False) as npz:
            return {name: npz[name] for name in npz.files}

    def _read(self, name: str) -> dict[str, Any] | None:
        if self.folder is None or not (self.folder / name).exists():
            return None
        content: dict[str, Any] = json.loads((self.folder / name).read_text())
        return content

    def _write(self, name: str, content: dict[str, Any]) -> None:
        assert self.folder is not None
        aside = self.folder / f".{name}.{os.getpid()}"
        with aside.open("w") as file:
            json.dump(content, file, indent=1)
            _sync(file)
        aside.replace(self.folder / name)


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())
