"""Run one kernel in this process, and print one line of JSON.

"sizes" times each preset once with NumPy, up to the first that takes long enough; "numpy" measures one and saves what
it finds; "windrow" measures the same function with lazy arrays, and compares; "traced" does so after `windrow.jit`.
What is timed of Windrow begins with arrays in the user's memory and ends with NumPy arrays: handing in and taking back
included.
"""

from __future__ import annotations

import argparse
import copy
import json
import resource
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from suite import ENOUGH, Kernel, flat, read

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 3


def results(kernel: Kernel, returned: Any, given: dict[str, Any]) -> list[Any]:
    """Return what a run comes to: what was returned, and the arguments that were written to; all, if it names none."""
    found = [*flat(returned), *(given[name] for name in kernel.info["output_args"])]
    return found or [given[name] for name in kernel.arrays]


def sizes(kernel: Kernel, folder: Path) -> dict[str, Any]:
    """Time presets, and tell of each at once: the next may take too long."""
    found: dict[str, float] = {}
    function = getattr(kernel.module("_numpy"), kernel.info["func_name"])
    for preset in kernel.presets:
        try:
            given = kernel.inputs(preset)
            begin = time.perf_counter()
            function(*given.values())
        except MemoryError:
            break
        found[preset] = time.perf_counter() - begin
        (folder / "sizes.json").write_text(json.dumps(found))
        if found[preset] >= ENOUGH:
            break
    return {"sizes": found}


def timed(run: Callable[[dict[str, Any]], list[Any]], given: dict[str, Any], limit: float) -> tuple[list[float], Any]:
    """Return the times of some runs, each with arguments of its own, and what the first found."""
    times: list[float] = []
    first: list[Any] = []
    while len(times) <= REPEATS and sum(times) + (times[-1] if times else 0) < limit / 3:
        own = {name: copy.deepcopy(value) for name, value in given.items()}
        begin = time.perf_counter()
        found = run(own)
        times.append(time.perf_counter() - begin)
        first = first or found
        del own, found
    return times, first


def numpy_run(kernel: Kernel, preset: str, folder: Path, limit: float) -> dict[str, Any]:
    """Measure NumPy, and save what it finds."""
    function = getattr(kernel.module("_numpy"), kernel.info["func_name"])

    def run(own: dict[str, Any]) -> list[Any]:
        return results(kernel, function(*own.values()), own)

    times, found = timed(run, kernel.inputs(preset), limit)
    for number, value in enumerate(found):
        np.save(folder / f"{number}.npy", np.asarray(value))
    return {"times": times, "results": len(found)}


def windrow_run(kernel: Kernel, preset: str, folder: Path, limit: float, as_np: bool, traced: bool) -> dict[str, Any]:
    """Measure Windrow, and compare."""
    import windrow as wr

    module: Any = kernel.module("_numpy")
    if as_np:
        module.np = wr
    function = getattr(module, kernel.info["func_name"])
    if traced:
        function = wr.jit(function)
    lazy: list[bool] = []

    def run(own: dict[str, Any]) -> list[Any]:
        for name in kernel.arrays:
            own[name] = wr.asarray(own[name])
        found = results(kernel, function(*own.values()), own)
        lazy[:] = [isinstance(one, wr.Array) for one in found]
        return list(wr.compute(*found))

    times, found = timed(run, kernel.inputs(preset), limit)
    wanted = [np.load(path) for path in sorted(folder.glob("*.npy"), key=lambda path: int(path.stem))]
    right = len(found) == len(wanted) and all(map(kernel.same, found, wanted))
    return {"times": times, "right": right, "lazy": sum(lazy), "results": len(lazy)}


def main() -> None:
    """Do as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", type=Path, help="a file of bench_info")
    parser.add_argument("what", choices=["sizes", "numpy", "windrow", "traced"])
    parser.add_argument("folder", type=Path, help="where results are kept between processes")
    parser.add_argument("--preset", default="S")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--memory", type=float, default=0.0, help="bytes of address space; 0: as much as there is")
    parser.add_argument("--as-np", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(options.memory),) * 2)
    kernel = read(options.kernel)
    if options.what == "sizes":
        told = sizes(kernel, options.folder)
    elif options.what == "numpy":
        told = numpy_run(kernel, options.preset, options.folder, options.limit)
    else:
        told = windrow_run(
            kernel, options.preset, options.folder, options.limit, options.as_np, options.what == "traced"
        )
    print(json.dumps(told))


if __name__ == "__main__":
    main()
