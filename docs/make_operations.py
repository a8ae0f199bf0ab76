"""Writes docs/operations.md: every public function, found from its definition and one small example each.

An example is a call on small chunked arrays: the first that works of `CALLS`, or what `EXAMPLES` says. What stands in
the page is read off the graph that the call makes, and off the stages that it is lowered to; nothing is computed but by
what must know values at once.

    python docs/make_operations.py          writes the page
    python docs/make_operations.py --check  tells whether it is up to date
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import tempfile
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import windrow as wr
from windrow.arrays.base import ArrayBase, make
from windrow.arrays.execution.deferred import outline_plan
from windrow.arrays.interop.unsupported import reason
from windrow.arrays.ops.elementwise.ufunc import Ufunc
from windrow.graph.chunks.block_reads import ByBlock
from windrow.graph.expr.expr import Expr, walk
from windrow.graph.kinds.contraction import Contract
from windrow.graph.kinds.deferred import Deferred
from windrow.graph.kinds.elementwise import Elementwise
from windrow.graph.kinds.gang import Filled, Gang
from windrow.graph.kinds.mapping import BlockFunction, MapBlocks
from windrow.graph.kinds.move import Move
from windrow.graph.kinds.reduction import Level, Reduce
from windrow.graph.kinds.reshape import Reshape
from windrow.graph.kinds.source import Full, Host, Source
from windrow.graph.lowering.lower import lower
from windrow.graph.lowering.program import Apply, Call, Load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = Path(__file__).with_name("operations.md")
SPACES = ("", "linalg", "fft", "overlap", "random", "ndimage", "signal", "stats", "testing")
SECTIONS = (*SPACES[:5], "random.Generator", *SPACES[5:])

KINDS: tuple[tuple[Any, str], ...] = (
    (Elementwise, "elementwise"),
    ((Reduce, Level), "reduction"),
    ((Move, Reshape, Filled), "move"),
    (Contract, "product"),
    (BlockFunction, "blocks"),
    ((MapBlocks, Gang), "own function"),
    (Deferred, "planned"),
    (Source, "source"),
)


def given(block: np.ndarray) -> np.ndarray:
    """Stand for whatever makes an input: a stage of its own where it isn't fused."""
    return block


def inputs() -> dict[str, wr.Array]:
    """Small arrays in several uneven chunks, none of which the user's memory holds."""
    rng = np.random.default_rng(0)
    square = rng.random((12, 12)) + 12 * np.eye(12)
    line = rng.random(24)
    made: dict[str, tuple[np.ndarray, Any]] = {
        "x": (square, 5),
        "y": (square + 1, 5),
        "i": (rng.integers(1, 9, (12, 12)), 5),
        "b": (square > 0.5, 5),
        "z": (square + 1j, 5),
        "line": (line, 7),
        "whole": (rng.integers(0, 5, 24), 7),
        "box": (rng.random((4, 6, 6)) + 6 * np.eye(6), (3, 4, 4)),
    }
    return {name: copied(wr.map_blocks(given, wr.from_array(a, c), dtype=a.dtype)) for name, (a, c) in made.items()}


def copied(x: wr.Array) -> wr.Array:
    """Put an elementwise operation, which can be fused, on an array; moves would read what a copy is of."""
    return make(Elementwise("cast", (0,)), (x,), x.expr.grid, x.dtype)


CALLS: tuple[Callable[..., Any], ...] = (
    lambda f, a: f(a["x"]),
    lambda f, a: f(a["x"], a["y"]),
    lambda f, a: f(a["i"]),
    lambda f, a: f(a["i"], a["i"] + 1),
    lambda f, a: f([a["x"], a["y"]]),
    lambda f, a: f(a["line"]),
    lambda f, a: f(a["line"], a["line"] + 1),
    lambda f, a: f(a["x"], 2),
    lambda f, a: f(a["x"], 0),
    lambda f, a: f(a["x"], 0, 1),
    lambda f, a: f((12, 12), chunks=5),
    lambda f, a: f(12, chunks=5),
    lambda f, a: f(0, 12, chunks=5),
    lambda f, a: f((12, 12)),
    lambda f, a: f(12),
    lambda f, a: f(a["b"], a["x"], a["y"]),
    lambda f, a: f(a["line"], a["whole"]),
    lambda f, a: f(a["x"], (12, 12)),
    lambda f, a: f(a["z"]),
    lambda f, a: f(a["box"]),
    lambda f, a: f(a["b"]),
)


def changed(x: wr.Array, _: None) -> wr.Array:
    """Return what a function without a result has changed."""
    return x


def write_tiff(x: wr.Array, path: str) -> None:
    """Write an array as a TIFF file."""
    import tifffile

    tifffile.imwrite(path, x.compute())


def write_hdf5(x: wr.Array, path: str) -> None:
    """Write an array to a data set "x"."""
    x.to_hdf5(path, "x")


def read_back(function: Callable[..., Any], name: str, write: Callable[..., None]) -> Any:
    """Return the array of a file that was written now, and is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        write(f"{folder}/{name}")
        return function(f"{folder}/{name}")


DRAWS: tuple[Callable[..., Any], ...] = (
    lambda f, a: f(size=(12, 12), chunks=5),
    lambda f, a: f(2, size=(12, 12), chunks=5),
    lambda f, a: f(2, 0.5, size=(12, 12), chunks=5),
    lambda f, a: f(1, 2, 3, size=(12, 12), chunks=5),
    lambda f, a: f(a["line"]),
    lambda f, a: f([0.5, 0.5], size=12, chunks=5),
    lambda f, a: f(2, [0.5, 0.5], size=12, chunks=5),
    lambda f, a: f([0.0, 0.0], np.eye(2), size=12, chunks=5),
    lambda f, a: f([5, 5], 3, size=12, chunks=5),
    lambda f, a: f(12),
)

GREY = (
    *("grey_erosion", "grey_dilation", "grey_opening", "grey_closing", "morphological_gradient"),
    *("morphological_laplace", "white_tophat", "black_tophat", "median_filter", "minimum_filter", "maximum_filter"),
)
MEASURES = (
    *("sum", "sum_labels", "mean", "variance", "standard_deviation", "minimum", "maximum", "extrema"),
    *("minimum_position", "maximum_position", "center_of_mass"),
)

EXAMPLES: dict[str, Callable[..., Any] | None] = {
    "apply_along_axis": lambda f, a: f(np.sort, 1, a["x"]),
    "apply_gufunc": lambda f, a: f(np.sort, "(i)->(i)", a["x"], output_dtypes=float),
    "as_gufunc": lambda f, a: f("(i)->(i)", output_dtypes=float)(np.sort)(a["x"]),
    "gufunc": lambda f, a: f(np.sort, signature="(i)->(i)", output_dtypes=float)(a["x"]),
    "apply_over_axes": lambda f, a: f(wr.sum, a["x"], [0, 1]),
    "arange": lambda f, a: f(12, chunks=5),
    "array": lambda f, a: f(np.ones(12), chunks=5),
    "asarray": lambda f, a: f(np.ones(12), chunks=5),
    "astype": lambda f, a: f(a["x"], "f4"),
    "atleast_2d": lambda f, a: f(a["line"]),
    "atleast_3d": lambda f, a: f(a["line"]),
    "block": lambda f, a: f([[a["x"], a["y"]]]),
    "push": lambda f, a: f(a["x"]),
    "unify_chunks": lambda f, a: f(a["x"], "ij", a["y"], "ij")[1],
    "blockwise": lambda f, a: f(np.add, "ij", a["x"], "ij", a["y"], "ij", dtype=float),
    "broadcast_arrays": lambda f, a: f(a["x"], a["line"][:12]),
    "dsplit": lambda f, a: f(a["box"], 2),
    "fromfunction": lambda f, a: f(lambda i, j: i + j, (12, 12), chunks=5),
    "geomspace": lambda f, a: f(1, 100, 12, chunks=5),
    "logspace": lambda f, a: f(0, 2, 12, chunks=5),
    "rollaxis": lambda f, a: f(a["x"], 1),
    "sliding_window_view": lambda f, a: f(a["line"], 3),
    "squeeze": lambda f, a: f(a["x"][:1]),
    "unpackbits": lambda f, a: f(a["i"].astype("u1")),
    "bincount": lambda f, a: f(a["whole"]),
    "broadcast_to": lambda f, a: f(a["x"], (3, 12, 12)),
    "clip": lambda f, a: f(a["x"], 0, 1),
    "compress": lambda f, a: f(np.arange(12) % 2 == 0, a["x"], axis=0),
    "cross": lambda f, a: f(a["x"][:, :3], a["y"][:, :3]),
    "digitize": lambda f, a: f(a["line"], [0.2, 0.5]),
    "dot": lambda f, a: f(a["x"], a["y"]),
    "einsum": lambda f, a: f("ij,jk->ik", a["x"], a["y"]),
    "expand_dims": lambda f, a: f(a["x"], 0),
    "extract": lambda f, a: f(a["b"], a["x"]),
    "eye": lambda f, a: f(12, chunks=5),
    "fft": lambda f, a: f(a["x"]),
    "from_dlpack": lambda f, a: f(np.ones(12)),
    "from_array": lambda f, a: f(np.ones((12, 12)), chunks=5),
    "from_arrow": lambda f, a: f(pa.table({"x": np.ones(12)}), chunks=5),
    "full": lambda f, a: f((12, 12), 1.0, chunks=5),
    "full_like": lambda f, a: f(a["x"], 1.0),
    "histogramdd": lambda f, a: f(a["x"][:, :2]),
    "interp": lambda f, a: f(a["line"], [0.0, 1.0], [2.0, 3.0]),
    "ix_": lambda f, a: f(a["whole"], [1, 2]),
    "isnat": lambda f, a: f(a["i"].astype("M8[s]")),
    "iscomplex": lambda f, a: f(a["z"]),
    "isreal": lambda f, a: f(a["z"]),
    "isin": lambda f, a: f(a["i"], [1, 2]),
    "linspace": lambda f, a: f(0, 1, 12, chunks=5),
    "map_blocks": lambda f, a: f(np.sqrt, a["x"], dtype=float),
    "map_overlap": lambda f, a: f(np.sqrt, a["x"], depth=1, dtype=float),
    "matrix_power": lambda f, a: f(a["x"], 3),
    "mask_indices": lambda f, a: f(12, wr.triu),
    "meshgrid": lambda f, a: f(a["line"], a["line"]),
    "moveaxis": lambda f, a: f(a["x"], 0, 1),
    "multi_dot": lambda f, a: f([a["x"], a["y"], a["x"]]),
    "pad": lambda f, a: f(a["x"], 1),
    "percentile": lambda f, a: f(a["x"], 50, axis=0),
    "quantile": lambda f, a: f(a["x"], 0.5, axis=0),
    "fori_loop": lambda f, a: f(0, 2, lambda i, x: x + i, a["line"]),
    "jit": lambda f, a: f(lambda x: x.T)(a["x"]),
    "scan": lambda f, a: f(lambda c, x: (c + x, c), 0.0, a["line"]),
    "while_loop": lambda f, a: f(lambda x: x.max() < 9, lambda x: x + 1, a["line"]),
    "spmd": lambda f, a: f(print, a["line"], out=a["line"], members=2),
    "nanpercentile": lambda f, a: f(a["x"], 50, axis=0),
    "nanquantile": lambda f, a: f(a["x"], 0.5, axis=0),
    "piecewise": lambda f, a: f(a["x"], [a["b"]], [1.0, 0.0]),
    "put_along_axis": lambda f, a: changed(a["x"], f(a["x"], np.zeros((12, 1), int), 0.0, 1)),
    "coarsen": lambda f, a: f(np.sum, a["x"], {0: 2}),
    "cumreduction": lambda f, a: f(np.cumsum, np.add, 0, a["line"]),
    "moment": lambda f, a: f(a["x"], 3, axis=0),
    "shuffle": lambda f, a: f(a["x"], [[1, 0, 2, 3], [11, 5, 4], [6, 7, 8, 9, 10]], axis=0),
    "rechunk": lambda f, a: f(a["x"], 4),
    "reduction": lambda f, a: f(a["x"], np.max, np.max),
    "repeat": lambda f, a: f(a["x"], 2, axis=0),
    "reshape": lambda f, a: f(a["x"], (4, 36)),
    "reshape_blockwise": lambda f, a: f(a["x"], 144),
    "roll": lambda f, a: f(a["x"], 3, axis=0),
    "searchsorted": lambda f, a: f(np.linspace(0, 1, 9), a["line"]),
    "select": lambda f, a: f([a["b"]], [a["x"]]),
    "solve": lambda f, a: f(a["x"], a["y"]),
    "take": lambda f, a: f(a["x"], [5, 1, 1], axis=0),
    "take_along_axis": lambda f, a: f(a["x"], np.zeros((12, 1), int), axis=1),
    "tensordot": lambda f, a: f(a["x"], a["y"], axes=1),
    "tile": lambda f, a: f(a["x"], (2, 1)),
    "argtopk": lambda f, a: f(a["x"], 3),
    "topk": lambda f, a: f(a["x"], 3),
    "overlap": lambda f, a: f(a["x"], 1),
    "trim_internal": lambda f, a: f(a["x"], {0: 1}),
    "trim_overlap": lambda f, a: f(a["x"], {0: 1}),
    "trace": lambda f, a: f(a["x"]),
    "unravel_index": lambda f, a: f(a["whole"], (3, 8)),
    "where": lambda f, a: f(a["b"], a["x"], a["y"]),
    **dict.fromkeys(("compute", "persist", "wait", "owners", "release", "explain", "visualize", "operation_graph")),
    "signal.lfilter": lambda f, a: f([1.0], [1.0, -0.5], a["x"]),
    "signal.sosfilt": lambda f, a: f([[1, 0, 0, 1, -0.5, 0]], a["x"]),
    "signal.filtfilt": lambda f, a: f([0.5, 0.5], [1.0], a["x"]),
    "signal.sosfiltfilt": lambda f, a: f([[1, 0, 0, 1, -0.5, 0]], a["x"]),
    "signal.savgol_filter": lambda f, a: f(a["x"], 3, 1),
    "signal.resample_poly": lambda f, a: f(a["x"], 1, 2),
    "signal.upfirdn": lambda f, a: f([1, 2], a["x"]),
    "signal.convolve": lambda f, a: f(a["x"], np.ones((2, 2))),
    "signal.correlate": lambda f, a: f(a["x"], np.ones((2, 2))),
    "signal.fftconvolve": lambda f, a: f(a["x"], np.ones((2, 2))),
    "signal.oaconvolve": lambda f, a: f(a["x"], np.ones((2, 2))),
    "signal.order_filter": lambda f, a: f(a["x"], np.ones((3, 3)), 4),
    "signal.welch": lambda f, a: f(a["x"], nperseg=4),
    "signal.spectrogram": lambda f, a: f(a["x"], nperseg=4),
    "signal.decimate": lambda f, a: f(a["x"], 2, ftype="fir"),
    "stats.moment": lambda f, a: f(a["x"], 3),
    "stats.ttest_1samp": lambda f, a: f(a["x"], 1.0),
    **{
        f"ndimage.{n}": lambda f, a: f(a["x"].rechunk(12))
        for n in ("distance_transform_edt", "distance_transform_cdt", "spline_filter")
    },
    "ndimage.zoom": lambda f, a: f(a["x"].rechunk(12), 2),
    "ndimage.shift": lambda f, a: f(a["x"].rechunk(12), 2),
    "ndimage.affine_transform": lambda f, a: f(a["x"].rechunk(12), np.eye(2)),
    "ndimage.map_coordinates": lambda f, a: f(a["x"].rechunk(12), np.zeros((2, 3))),
    "ndimage.generic_filter": lambda f, a: f(a["x"], np.max, 3),
    "ndimage.generic_filter1d": lambda f, a: f(a["x"], np.copyto, 3),
    "ndimage.convolve1d": lambda f, a: f(a["x"], [1, 2, 1]),
    "ndimage.correlate1d": lambda f, a: f(a["x"], [1, 2, 1]),
    "ndimage.convolve": lambda f, a: f(a["x"], np.ones((3, 3))),
    "ndimage.correlate": lambda f, a: f(a["x"], np.ones((3, 3))),
    **{f"ndimage.{n}": lambda f, a: f(a["x"], size=3) for n in GREY},
    "ndimage.rank_filter": lambda f, a: f(a["x"], 1, size=3),
    "ndimage.percentile_filter": lambda f, a: f(a["x"], 50, size=3),
    **{f"ndimage.{n}": lambda f, a: f(a["b"]) for n in ("label", "binary_fill_holes", "binary_propagation")},
    **{f"ndimage.{n}": lambda f, a: f(a["x"], a["i"], [1, 2]) for n in MEASURES},
    "ndimage.histogram": lambda f, a: f(a["x"], 0, 1, 5),
    **dict.fromkeys(("ndimage.find_objects", "ndimage.generate_binary_structure", "ndimage.iterate_structure")),
    **dict.fromkeys(("to_arrow", "store", "stage_graph", "task_graph")),
    **dict.fromkeys(("save", "to_npy", "to_npy_stack", "to_zarr", "to_hdf5", "to_parquet", "to_ipc", "to_csv")),
    **dict.fromkeys(("cluster", "arena", "config")),
    "load": lambda f, a: read_back(f, "x", a["x"].save),
    "from_npy_stack": lambda f, a: read_back(f, "x", partial(wr.to_npy_stack, x=a["x"])),
    "from_tiff": lambda f, a: read_back(f, "x.tif", partial(write_tiff, a["x"])),
    "imread": lambda f, a: read_back(f, "x.tif", partial(write_tiff, a["x"])),
    "from_npy": lambda f, a: read_back(f, "x.npy", a["x"].to_npy),
    "ravel_multi_index": lambda f, a: f((a["whole"], a["whole"]), (8, 8)),
    "read_ipc": lambda f, a: read_back(f, "x", partial(wr.to_ipc, x=a["x"])),
    "read_feather": lambda f, a: read_back(f, "x", partial(wr.to_ipc, x=a["x"])),
    "read_csv": lambda f, a: read_back(f, "x", partial(wr.to_csv, x=a["x"])),
    "from_hdf5": lambda f, a: read_back(partial(f, datapath="x"), "x.h5", partial(write_hdf5, a["x"])),
    "read_parquet": lambda f, a: read_back(f, "x", a["x"].to_parquet),
    "copyto": lambda f, a: changed(a["x"], f(a["x"], a["y"])),
    "fill_diagonal": lambda f, a: changed(a["x"], f(a["x"], 1.0)),
    "place": lambda f, a: changed(a["x"], f(a["x"], a["b"], [1.0])),
    "put": lambda f, a: changed(a["x"], f(a["x"], [1, 2], [1.0, 2.0])),
    "putmask": lambda f, a: changed(a["x"], f(a["x"], a["b"], a["y"])),
    "random.shuffle": lambda f, a: changed(a["line"], f(a["line"])),
    "random.Generator.shuffle": lambda f, a: changed(a["line"], f(a["line"])),
}
"""Calls for functions that none of `CALLS` fits, or that it fits by accident; None: it makes no graph."""

NONE, AT_ONCE = "–", "at once"


@dataclass(frozen=True)
class Row:
    """One function: its name, what it is, and the first line of its docstring."""

    name: str
    kind: str
    fuses: str
    moves: str
    about: str


def public() -> Iterator[tuple[str, Any]]:
    """Yield the names of public functions, with their namespace, and the functions."""
    for space in SPACES:
        module = getattr(wr, space) if space else wr
        for name in sorted(getattr(module, "__all__", dir(module)), key=str.lower):
            value = None if name == "ml" else getattr(module, name)
            mine = str(getattr(value, "__module__", type(value).__module__)).startswith("windrow")
            if callable(value) and not inspect.isclass(value) and mine and not name.startswith("_"):
                yield f"{space}.{name}" if space else name, value
    generator = wr.random.default_rng(0)
    for name in sorted(n for n in dir(generator) if not n.startswith("_")):
        if callable(getattr(generator, name)):
            yield f"random.Generator.{name}", getattr(generator, name)


def lazy(value: Any) -> list[Any]:
    """Return the lazy arrays in what a function returned."""
    if isinstance(value, ArrayBase):
        return [value]
    if isinstance(value, dict):
        return lazy(list(value.values()))
    return [found for item in value for found in lazy(item)] if isinstance(value, list | tuple) else []


def example(name: str, function: Any) -> list[Any]:
    """Return the lazy arrays that the first call which works gives; none where no call gives any."""
    space, _, plain = name.rpartition(".")
    if space == "testing":
        return []
    key = name if name in EXAMPLES else plain
    calls = (EXAMPLES[key],) if key in EXAMPLES else DRAWS if space.startswith("random") else CALLS
    for call in calls:
        if call is None:
            return []
        with contextlib.suppress(Exception), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            if found := lazy(call(function, inputs())):
                return found
    return []


def kind_of(arrays: list[Any]) -> str:
    """Tell what operations an example's result is made by, inputs left out."""
    if any(None in a.shape for a in arrays):
        return "size found later"
    if any(isinstance(a.expr.op, Host) for a in arrays):
        return "source"
    found = []
    for node in walk([a.expr for a in arrays]):
        if node.op.label == "copy" or is_given(node) or any(map(is_given, node.operands)) or isinstance(node.op, Host):
            continue
        if not isinstance(node.op, Full) or len(arrays[0].expr.operands) == 0:
            if isinstance(node.op, BlockFunction) and not node.operands:
                found.append("source")
                continue
            found.append(next((text for kind, text in KINDS if isinstance(node.op, kind)), node.op.label))
    order = [text for _, text in KINDS]
    names = sorted(set(found), key=lambda t: order.index(t) if t in order else len(order))
    if "planned" in names:
        return "planned"
    return " + ".join(names) or "the array itself"


def is_given(node: Expr) -> bool:
    """Tell whether a node stands for the user's array."""
    return node.op.label == "given"


def stages_of(roots: list[Expr]) -> list[Any]:
    """Return the stages that would run, the user's arrays left out."""
    plain, _ = outline_plan(roots)
    return [s for s in lower(plain, lambda token: False) if s.data is None]


def copies(stage: Any) -> bool:
    """Tell whether a stage does nothing but copy an example's input, which its user could have made itself."""
    done = [v for v in stage.program.values if not (isinstance(v, Load) and isinstance(v.access, ByBlock))]
    plain = [isinstance(v, Apply) and v.function == "cast" for v in done]
    made = [isinstance(v, Call) and v.op.label == "given" for v in done]
    return stage.program.level is None and sum(plain) == 1 and all(a or b for a, b in zip(plain, made, strict=True))


def costs(kind: str, arrays: list[Any]) -> tuple[str, str]:
    """Tell what an example is fused with, and what it moves, as a share of what it reads."""
    roots = [a.expr for a in arrays]
    stages = stages_of(roots)
    read = [e for e in walk(roots) if e.op.label == "given"]
    ways = []
    if read and not any(map(copies, stages)):
        ways.append("inputs")
    if len(stages_of([copied(a).expr for a in arrays])) == len(stages):
        ways.append("users")
    plan = wr.explain(*arrays)
    if kind == "planned":
        moves = "known when it runs"
    elif "reduction" in kind and "move" not in kind and "product" not in kind:
        moves = "partial results"
    elif plan.bytes_moved and read:
        moves = f"{plan.bytes_moved / max(1, sum(e.nbytes for e in read)):.1f} × input"
    else:
        moves = "parts of itself" if plan.bytes_moved else "nothing"
    return " and ".join(ways) or NONE, moves


def summary(function: Any) -> str:
    """Return the line that says what a function does; that of a ufunc follows its signature."""
    lines = (inspect.getdoc(function) or "").strip().splitlines() or [""]
    return lines[2] if isinstance(function, Ufunc) else lines[0]


def row(name: str, function: Any) -> Row:
    """Find out about one function."""
    doc = summary(function)
    arrays = example(name, function)
    if not arrays:
        return Row(name, AT_ONCE, NONE, NONE, doc)
    kind = kind_of(arrays)
    fuses, moves = (NONE, "known when it runs") if kind == "size found later" else costs(kind, arrays)
    return Row(name, kind, fuses, moves, doc)


def rows() -> list[Row]:
    """Find out about all functions."""
    return [row(name, function) for name, function in public()]


# -------------------------------------------------------------------- what NumPy has besides


def missing() -> dict[str, dict[str, list[str]]]:
    """Return, for each namespace and reason, the functions of NumPy that Windrow lacks."""
    found: dict[str, dict[str, list[str]]] = {}
    for space in ("", "linalg", "fft"):
        theirs: Any = getattr(np, space) if space else np
        ours: Any = getattr(wr, space) if space else wr
        names = [n for n in getattr(theirs, "__all__", dir(theirs)) if not n.startswith("_")]
        for name in sorted(names, key=str.lower):
            value = getattr(theirs, name, None)
            used = (callable(value) and not inspect.isclass(value)) or name in ("c_", "r_")
            if used and not hasattr(ours, name):
                found.setdefault(space, {}).setdefault(reason(name, space), []).append(name)
    return found


# -------------------------------------------------------------------- the page

INTRODUCTION = """# Operations

Every public function: what kind of operation it makes, what it is fused with, what it moves. This page is written by
`python docs/make_operations.py` from the definitions and a small example of each.

- **kind**: `elementwise`, `reduction`, `move` (elements at other places), `product` (summed over axes), `blocks` (a
  function of whole chunks), `own function` (yours, on chunks), `source` (made from nothing, or read). `planned`: some
  values are computed when it runs, and the rest is planned by them. `size found later`: the shape holds None until
  something needs it. `at once`: it makes no graph.
- **fused with**: `inputs` are not held but computed within its own tasks; `users` compute it within theirs.
- **moved**: what its tasks read across the borders of chunks, beside the bytes of its inputs, for arrays of 12 × 12
  elements in chunks of 5 × 5; with larger chunks it is less for what only needs their borders.
"""


def page(found: list[Row]) -> str:
    """Return the page's text."""
    parts = [INTRODUCTION]
    for space in SECTIONS:
        mine = [r for r in found if r.name.rpartition(".")[0] == space]
        parts.append(f"## windrow{'.' + space if space else ''}\n")
        parts.append("| function | kind | fused with | moved | |\n| --- | --- | --- | --- | --- |")
        parts += [
            f"| `{r.name}` | {r.kind} | {r.fuses} | {r.moves} | {r.about.replace('|', chr(92) + '|')} |" for r in mine
        ]
        parts.append("")
    parts.append("## What NumPy has besides\n")
    for space, reasons in missing().items():
        parts.append(f"### numpy{'.' + space if space else ''}\n")
        parts.append("| why not, and what instead | functions |\n| --- | --- |")
        parts += [f"| {why} | {', '.join(f'`{n}`' for n in names)} |" for why, names in sorted(reasons.items())]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def listed(text: str) -> dict[str, str]:
    """Return what a page says of functions, by name: their kinds and summaries."""
    lines = [line.removesuffix(" |").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {c[0].removeprefix("| ").strip("`"): f"{c[1]}: {' | '.join(c[4:])}" for c in lines if len(c) > 2}


def stale(text: str, found: list[Row]) -> list[str]:
    """Return what a page has wrong: functions that are missing, gone, of another kind, or with another summary."""
    told, now = listed(text), listed(page(found))
    names = sorted(name for name in {**told, **now} if told.get(name) != now.get(name))
    return [f"{name}: {told.get(name, 'not listed')}, now {now.get(name, 'gone')}" for name in names]


def main() -> None:
    """Write the page, or with --check compare it."""
    found = rows()
    if "--check" in sys.argv:
        wrong = stale(PAGE.read_text(encoding="utf-8"), found)
        sys.exit("\n".join([*wrong, "run python docs/make_operations.py"]) if wrong else 0)
    PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
