"""What NumPy has and Windrow hasn't: why, and what to use instead. Loaded when such a name is asked for."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import numpy as np

from ...graph import migration_hints
from ...graph.keyword_hints import near
from ...graph.migration_hints import FUNCTIONS

if TYPE_CHECKING:
    from ..array import Array

REASONS: tuple[tuple[str, str], ...] = (
    (
        "they look at or set how Python, NumPy or this process behave, or print: NumPy's serve",
        "array2string array_repr array_str format_float_positional format_float_scientific get_include "
        "get_printoptions getbufsize geterr geterrcall info printoptions set_printoptions setbufsize seterr seterrcall "
        "show_config show_runtime test typename mintypecode base_repr binary_repr ScalarType typecodes sctypeDict "
        "little_endian",
    ),
    (
        "arrays of one process's memory, its layout and its iterators: compute() first",
        "asfortranarray asarray_chkfinite asmatrix bmat frombuffer fromstring fromiter may_share_memory shares_memory "
        "nested_iters require isfortran frompyfunc ndarray matrix memmap flatiter nditer ndenumerate broadcast "
        "ctypeslib rec recarray record void object_",
    ),
    (
        "text and Python objects, files of one process: read with NumPy, then from_array",
        "fromfile fromregex genfromtxt loadtxt savetxt savez savez_compressed",
    ),
    (
        "polynomials of a few numbers: NumPy's",
        "poly polyadd polyder polydiv polyint polymul polysub roots poly1d polynomial",
    ),
    (
        "calendars: NumPy's, or map_blocks()",
        "busday_count busday_offset busdaycalendar datetime_as_string datetime_data is_busday",
    ),
    ("texts: map_blocks() with NumPy's functions", "char strings"),
    ("they join by brackets: concatenate(), stack() and arange() say the same", "c_ r_"),
)

SPACES = {
    "random": "they go from one number to the next; Philox gives the number at a position: random.default_rng(seed)",
    "strings": "how wide its results are depends on the texts: map_blocks(f, x, dtype='U20') says it",
}

ELSE = "not there yet: compute() first, or map_blocks()"
FUNCTION = "compute() first, or map_blocks()"
DISTRIBUTION = "map_blocks() calls a distribution's methods for each chunk, and windrow.random draws from many"
ESTIMATOR = "fit it to computed rows, and windrow.ml.Fitted(model) predicts lazily"
SEARCH = "it runs on ranks within joblib.parallel_config('windrow')"

METHODS = {
    "tofile": "to_npy() and save() write files",
    "dump": "save() writes files",
    "dumps": "save() writes files",
    "itemset": "x[i] = v sets an element",
    "newbyteorder": "x.view(x.dtype.newbyteorder()) reads the bytes in another order",
    "getfield": "x[name] gives a field",
    "setfield": "fields are not set one by one: compute() first",
}
MEMORY = "chunks have no common memory: compute() first"


def reason(name: str, space: str) -> str:
    """Tell why a function of NumPy's isn't there."""
    for text, names in REASONS:
        if name in names.split():
            return text
    return SPACES.get(space, ELSE)


def _in_numpy(name: str, space: str) -> str:
    if not hasattr(getattr(np, space, None) if space else np, name):
        return ""
    return f"those of NumPy that are like it are not here: {reason(name, space)} (see docs/operations.md)"


def _in_scipy(name: str, space: str) -> str:
    original = getattr(importlib.import_module(f"scipy.{space}"), name, None)
    why = DISTRIBUTION if hasattr(original, "rvs") else FUNCTION
    return "" if original is None else f"SciPy's is not here: {why}"


def _in_sklearn(name: str, space: str) -> str:
    module = importlib.import_module("sklearn." + {"search": "model_selection"}.get(space, space))
    original = getattr(module, name, None)
    why = FUNCTION if not hasattr(original, "fit") else SEARCH if space == "search" else ESTIMATOR
    return "" if original is None else f"scikit-learn's is not here: {why}"


def _elsewhere(name: str, space: str) -> str:
    """Tell why a name that the library has whose names a module bears isn't there; nothing where it hasn't."""
    if space in ("ndimage", "signal", "stats"):
        return _in_scipy(name, space)
    if space.startswith("ml."):
        return _in_sklearn(name, space.removeprefix("ml."))
    return _in_numpy(name, space)


def missing_function(name: str, space: str) -> AttributeError:
    """Return the error for a name that a module hasn't, with what to use instead where NumPy or others have it."""
    module = f"windrow.{space}" if space else "windrow"
    text = f"module {module!r} has no attribute {name!r}"
    namespace = sys.modules.get(module) or sys.modules[f"windrow.arrays.{space}"]
    meant = near(name, vars(namespace).get("__all__") or dir(namespace))
    if name.startswith("_"):
        pass
    elif name in FUNCTIONS:
        text += f"; {FUNCTIONS[name]}"
    elif meant and space.startswith("ml"):
        text += f"; {meant}"
    elif why := _elsewhere(name, space):
        text += f"; {why}"
    elif meant:
        text += f"; {meant}"
    return AttributeError(text, name=name)


def missing_method(array: Array, name: str) -> AttributeError:
    """Return the error for a name that arrays haven't, with what to use instead where others have it."""
    text = f"'windrow.Array' object has no attribute {name!r}"
    if name in ("__dask_graph__", "name") and "xarray.core.parallel" in sys.modules:
        # xarray asks what it has in hand: from now on it knows that these are lazy
        importlib.import_module(f"{__package__}.xarray.gates").open_gates()
    if name == "name" and "pandas" in sys.modules:  # so asks pandas what has groups
        importlib.import_module(f"{__package__}.pandas").open_gates()
    if name.startswith("_"):
        return AttributeError(text, name=name)
    module = sys.modules[str(__package__).partition(".")[0]]
    meant = near(name, [n for n in dir(array) if not n.startswith("_")])
    if name in METHODS:
        text += f"; {METHODS[name]}"
    elif name in migration_hints.METHODS:
        text += f"; {migration_hints.METHODS[name]}"
    elif name in dir(module) and callable(getattr(module, name)):
        text += f"; windrow.{name}() is a function"
    elif hasattr(np.ndarray, name):
        text += f"; {MEMORY}"
    elif meant:
        text += f"; {meant}"
    elif meant := near(name, dir(module)):
        text += f"; among the functions of windrow, {meant}"
    return AttributeError(text, name=name)
