"""Kernels of a checkout of npbench: their descriptions, functions, inputs, and what counts as the same result."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

PRESETS = ("S", "M", "L", "paper")
ENOUGH = 0.5
"""Seconds that NumPy should need."""


@dataclass(frozen=True)
class Kernel:
    """A kernel as a file of `bench_info` describes it.

    Attributes
    ----------
    name : str
        The description's file name.
    folder : Path
        Where its modules are.
    info : dict
        The description.
    """

    name: str
    folder: Path
    info: dict[str, Any]

    @property
    def presets(self) -> list[str]:
        """The sizes that it has, small ones first."""
        return [name for name in PRESETS if name in self.info["parameters"]]

    @property
    def arrays(self) -> list[str]:
        """The names of arguments that are arrays."""
        return list(self.info["array_args"])

    def module(self, ending: str = "") -> ModuleType:
        """Load its module; "_numpy" is that of the function."""
        path = self.folder / f"{self.info['module_name']}{ending}.py"
        spec = importlib.util.spec_from_file_location(f"kernel_{self.name}{ending}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def inputs(self, preset: str) -> dict[str, Any]:
        """Return all arguments by name."""
        found = dict(self.info["parameters"][preset])
        if init := self.info.get("init"):
            made = getattr(self.module(), init["func_name"])(*(found[name] for name in init["input_args"]))
            names = init["output_args"]
            found |= dict(zip(names, made if len(names) > 1 else (made,), strict=True))
        return {name: found[name] for name in self.info["input_args"]}

    def same(self, found: Any, expected: np.ndarray[Any, Any]) -> bool:
        """Whether a result is right: each element, or in the norm, as npbench has it."""
        found = np.asarray(found)
        if found.shape != expected.shape:
            return False
        rtol, atol = self.info.get("rtol", 1e-5), self.info.get("atol", 1e-8)
        if np.allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True):
            return True
        if not np.isfinite(found).all():
            return False
        apart = np.linalg.norm((found - expected).ravel()) / np.linalg.norm(expected.ravel())
        return bool(apart < self.info.get("norm_error", 1e-5))


def read(path: Path) -> Kernel:
    """Read a description."""
    info = json.loads(path.read_text(encoding="utf-8"))["benchmark"]
    folder = path.resolve().parents[1] / "npbench" / "benchmarks" / info["relative_path"]
    return Kernel(path.stem, folder, info)


def find(suite: Path, only: Sequence[str] = ()) -> list[Path]:
    """Return the descriptions of a checkout, or the one that is given."""
    paths = [suite] if suite.suffix == ".json" else sorted((suite / "bench_info").glob("*.json"))
    return [path for path in paths if not only or path.stem in only]


def flat(results: Any) -> list[Any]:
    """Return arrays and numbers that lie in tuples and lists, one after the other."""
    if isinstance(results, tuple | list):
        return [one for each in results for one in flat(each)]
    return [] if results is None else [results]
