"""Every function of SciPy's and scikit-image's on lazy arrays is right, or an error; never wrong.

For each function the calls of a table that work with NumPy arrays are made again with lazy arrays in their place. What
works with none of them takes no arrays, and is listed: a new function of a library is noticed.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from functools import partial

import numpy as np
import pytest

import windrow as wr

pytest.importorskip("scipy")

RNG = np.random.default_rng(0)
IMAGE = RNG.random((18, 21))
BYTES = (IMAGE * 255).astype(np.uint8)
TRUE = IMAGE > 0.4
LABELS = (np.indices(IMAGE.shape) // 6).sum(0)
LINE = RNG.random(64)
CUBE = RNG.random((5, 6, 7))
KERNEL = RNG.random((3, 3))
B, A = np.array([0.2, 0.3]), np.array([1.0, -0.4])
SOS = np.array([[0.2, 0.3, 0.1, 1.0, -0.4, 0.1]])
SQUARE = RNG.random((3, 3))


def same_size(values, axis=None):
    return np.max(values, axis=axis)


def double(line, out):
    out[...] = 2 * line[1:-1]


def turned(place):
    return place[::-1]


def second(x, axis, output, mode, cval):
    return importlib.import_module("scipy.ndimage").correlate1d(x, [1, -2, 1], axis, output, mode, cval)


CALLS = [
    *[(x,) for x in (IMAGE, BYTES, TRUE, LABELS, LINE, CUBE)],
    *[(x, y) for x in (IMAGE, BYTES, LINE) for y in (2, 1.5, 0.1, 3)],
    *[(x, 3, y) for x in (IMAGE, LINE) for y in (2, 1)],
    (IMAGE, KERNEL),
    (BYTES, np.ones((3, 3), np.uint8)),
    (LINE, B),
    (LINE, LINE + 1),
    (IMAGE, IMAGE + 1),
    (IMAGE, LABELS),
    (IMAGE, LABELS, 1),
    (IMAGE, LABELS, [1, 2]),
    (BYTES, np.minimum(LABELS, 100).astype(np.int16)),
    (IMAGE, np.eye(2)),
    (IMAGE, (1, 2)),
    (IMAGE, np.indices((4, 5)) * 1.5),
    (IMAGE, (2, 3), 0.5),
    (IMAGE, 0.2, 0.8),
    (IMAGE, 0, 1, 5),
    (B, A),
    (B, A, LINE),
    (SOS, LINE),
    (SOS,),
    (SQUARE,),
    (SQUARE, SQUARE[:, :1], SQUARE[:1], np.ones((1, 1))),
    (SQUARE, SQUARE[:, :1], [-0.1, -0.2, -0.3]),
    (B, A, 2.0),
    (LINE, np.less),
    (LINE, [3, 10]),
    (LINE, np.arange(1, 4)),
    (LINE, LINE[::-1], np.arange(1.0, 5)),
    (IMAGE, B, A),
    (LINE, 0.2, 0.3),
    ((B, A),),
    ((B, A), LINE),
    ((B, A, 0.1),),
    ((B, A, 0.1), LINE),
    ((B, A), LINE, np.arange(64.0)),
    (KERNEL[0], 5),
    (LINE, [1.0, 2.0, 0.5]),
    (IMAGE, same_size, 3),
    (IMAGE, double, 3),
    (IMAGE, turned),
    (IMAGE, second),
    (IMAGE, LABELS, [1, 2], np.mean, float, 0.0),
    (IMAGE, lambda r, c: np.exp(-np.hypot(r, c))),
    (LINE, 2, 3, "hann"),
    ([B[0], A[1]], 3, 0.5),
]
KEYWORDS = ({}, {"size": 3}, {"footprint": np.ones((3, 3), bool)}, {"impulse_response": lambda r, c: np.exp(-r * c)})
MEASURES = dict.fromkeys(
    ["sum", "sum_labels", "mean", "median", "variance", "minimum", "maximum", "extrema", "center_of_mass"], 2
)
"""Functions whose other arguments are of interest, and how many."""
NEVER = {"try_all_threshold"}  # it draws
SEEDS = {"medial_axis": {"rng": 0}}
"""Keywords of functions that draw random numbers."""


def lazy(value):
    if isinstance(value, np.ndarray) and value.size > 1:
        return wr.from_array(value.copy(), chunks=tuple(max(1, (n + 1) // 2) for n in value.shape))
    if isinstance(value, tuple) and any(isinstance(v, np.ndarray) for v in value):
        return tuple(map(lazy, value))
    return value


def quiet(function, *args, **keywords):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args, **keywords)


def check(want, got, told):
    """Compare two results, of whatever they are made."""
    if isinstance(got, wr.Array):
        got = got.compute()
    if isinstance(want, dict):
        want, got = list(want.values()), [got[key] for key in want]
    if isinstance(want, tuple | list) and not all(np.isscalar(v) for v in want):
        assert len(want) == len(got), told
        for one, other in zip(want, got, strict=True):
            check(one, other, told)
        return
    if isinstance(want, np.ndarray | np.generic | int | float | complex | tuple | list):
        want, got = np.asarray(want), np.asarray(got)
        assert want.shape == got.shape, told
        if want.dtype.kind in "biufc":
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=told)
        elif want.dtype.kind == "O":
            check(list(want.reshape(-1)), list(got.reshape(-1)), told)
        return
    if hasattr(want, "__dict__") and not callable(want):
        check(vars(want), vars(got), told)


def required(function):
    """Return how many arguments a function needs: with others some of SciPy's end the process."""
    try:
        given = inspect.signature(function).parameters.values()
    except ValueError:
        return 3
    count = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in given)
    return max(count, 1) + MEASURES.get(getattr(function, "__name__", ""), 0)


def runs(function):
    """Yield the calls that work with NumPy arrays, and what they give."""
    count = required(function)
    for args in CALLS:
        if len(args) != count:
            continue
        for keywords in KEYWORDS if len(args) == 1 or callable(args[1]) else KEYWORDS[:2]:
            before = [np.copy(a) for a in args if isinstance(a, np.ndarray)]
            try:
                want = quiet(function, *args, **keywords)
            except Exception:
                continue
            if want is None or inspect.isclass(want):
                continue
            assert all(
                (a == b).all() for a, b in zip(before, (a for a in args if isinstance(a, np.ndarray)), strict=True)
            )
            yield args, keywords, want


def functions(space):
    module = importlib.import_module(space)
    for name in sorted(getattr(module, "__all__", None) or dir(module)):
        value = getattr(module, name)
        if callable(value) and not inspect.isclass(value) and not name.startswith("_") and name not in NEVER:
            yield name, partial(value, **SEEDS[name]) if name in SEEDS else value


def compare(space, some=None, most=99):
    """Call functions with lazy arrays; return how many calls were right, and how many were errors."""
    right, errors, none = [], [], []
    for name, function in functions(space):
        if some is not None and name not in some:
            continue
        found = 0
        for args, keywords, want in runs(function):
            if found == most:
                break
            found += 1
            told = f"{space}.{name}{[getattr(a, 'shape', a) for a in args]} {list(keywords)}"
            try:
                got = quiet(function, *map(lazy, args), **keywords)
            except Exception as error:
                errors.append(f"{told}: {error!r}")
                continue
            check(want, got, told)
            right.append(told)
        if not found:
            none.append(name)
    return right, errors, none


TAKE_NONE = {
    "scipy.ndimage": "generate_binary_structure vectorized_filter generic_filter",
    "skimage.filters": "gabor_kernel window median",
    "skimage.morphology": """ball diamond disk ellipse footprint_from_sequence footprint_rectangle octagon octahedron
        star""",
    "scipy.signal": """abcd_normalize band_stop_obj bessel besselap bilinear_zpk buttap butter buttord cheb1ap cheb1ord
        cheb2ap cheb2ord cheby1 cheby2 check_COLA check_NOLA correlation_lags czt_points ellip ellipap ellipord
        findfreqs firls firwin firwin2 firwin_2d gammatone get_window iircomb iirdesign iirfilter iirnotch iirpeak
        kaiser_beta kaiserord max_len_seq remez savgol_coeffs unit_impulse order_filter
        sepfir2d spline_filter""",
}
"""Functions that take no arrays of samples, or none of the calls above."""
SOME = {
    "scipy.ndimage": None,
    "skimage.morphology": None,
    "skimage.filters": ["gaussian", "sobel", "rank_order", "threshold_otsu", "unsharp_mask", "laplace"],
    "scipy.signal": ["lfilter", "sosfilt", "fftconvolve", "medfilt", "welch", "detrend", "hilbert", "savgol_filter"],
}
LEAST = {"scipy.ndimage": 500, "skimage.morphology": 100, "skimage.filters": 10, "scipy.signal": 20}


def there(space):
    return pytest.importorskip(space.partition(".")[0])


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="older NumPy takes an array for its dtype")
@pytest.mark.parametrize("space", SOME)
def test_lazy_arrays_give_what_is_right_or_an_error(space):
    there(space)
    right, _, _ = compare(space, SOME[space], 6 if SOME[space] is None else 3)
    assert len(right) >= LEAST[space] / (3 if SOME[space] is None else 1)


@pytest.mark.slow
@pytest.mark.parametrize("space", SOME)
def test_all_functions_give_what_is_right_or_an_error(space):
    there(space)
    right, _, none = compare(space)
    assert len(right) >= LEAST[space]
    assert set(none) - set(TAKE_NONE[space].split()) == set()


IGNORE = ("binary_", "distance_", "morphological_", "watershed_ift")
OUTPUTS = {
    "scipy.ndimage": ("output", "distances", "indices"),
    "skimage.morphology": ("out",),
    "skimage.filters": ("out",),
    "scipy.signal": ("out",),
}


@pytest.mark.parametrize("space", OUTPUTS)
def test_lazy_arrays_to_fill_are_filled_or_refused(space):
    there(space)
    tried = 0
    for name, function in functions(space):
        try:
            known = inspect.signature(function).parameters
        except ValueError:
            continue
        keyword = next((k for k in OUTPUTS[space] if k in known), None)
        for args, keywords, want in runs(function) if keyword else ():
            if not isinstance(want, np.ndarray) or want.ndim == 0:
                continue
            out = wr.zeros(want.shape, want.dtype, chunks=4)
            tried += 1
            try:
                got = quiet(function, *args, **keywords | {keyword: out})
            except Exception:
                break
            # some of SciPy's look for NumPy's class, and ignore what else they should fill
            check(want, got if name.startswith(IGNORE) else out, f"{space}.{name} {keyword}")
            break
    assert tried > 3 or space in ("scipy.signal", "skimage.filters")


def test_parts_of_arrays_are_outputs():
    x, a = wr.zeros(6, chunks=2), np.zeros(6)
    for write in (
        lambda x: np.add(x[1:], 1, out=x[1:]),
        lambda x: np.cumsum(np.ones(5), out=x[1:]),
        lambda x: x[1:].sort(),
        lambda x: np.putmask(x[1:], [True, False] * 2 + [True], 1),
        lambda x: np.add.at(x[1:], [0, 0], 1),
        lambda x: np.copyto(x[1:3], 5),
        lambda x: x[4:].fill(3),
    ):
        write(x)
        write(a)
        assert x.tolist() == a.tolist()
    own = wr.zeros(6, chunks=2)[1:].copy()
    np.add(own, 1, out=own)
    assert own.sum() == 5
    alone = wr.arange(5)[::-1]
    alone.sort()
    assert alone.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="older NumPy takes an array for its dtype")
def test_an_array_is_no_dtype():
    with pytest.raises(TypeError, match="dtype"):
        np.empty(3, wr.ones(3))
