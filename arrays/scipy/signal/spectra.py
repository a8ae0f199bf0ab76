"""Spectra of signals: their segments are transformed where they lie, and averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import is_integer
from ....graph.chunks.axismap import Slice
from ....graph.chunks.grid import Axis, Grid
from ....graph.chunks.positions import Runs
from ....graph.kinds.mapping import BlockFunction
from ...base import check_axis, make
from ...ops.moves.axis_moves import move
from ..bridge import attempt, find, numbers, settled
from ..documents import described
from .about import ABOUT
from .lines import SHORT, along, try_line

if TYPE_CHECKING:
    from ...array import Array

__all__ = [
    "coherence",
    "csd",
    "periodogram",
    "spectrogram",
    "welch",
]

SPECTRUM = "Frequencies, a NumPy array, and the spectrum, lazy, along the axis."
spectrum = described(ABOUT, SPECTRUM, "tuple of numpy.ndarray and Array")
PER_TASK = 1 << 20
"""About so many elements of segments are transformed by one task."""


@spectrum
def periodogram(
    x: Any,
    fs: float = 1.0,
    window: Any = "boxcar",
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> tuple[Any, Array]:
    """Estimate power spectra of whole lines, which are brought into one chunk.

    >>> import windrow as wr
    >>> freqs, power = wr.signal.periodogram(wr.asarray([1.0, -1, 1, -1], chunks=2))
    >>> freqs, power.compute()
    (array([0.  , 0.25, 0.5 ]), array([0., 0., 4.]))
    """
    options = {"fs": fs, "window": window, "nfft": nfft, "detrend": detrend}
    options |= {"return_onesided": return_onesided, "scaling": scaling}
    signal = numbers("periodogram", "x", x)
    n = signal.shape[check_axis("periodogram", axis, signal.ndim)]
    count = n if nfft is None else nfft
    if not is_integer(count) or min(n, count) <= SHORT or not isinstance(window, str | tuple | float | int):
        return _whole("periodogram", {"x": signal}, axis, options)
    one = return_onesided and signal.dtype.kind != "c"
    tried = None if nfft is None else {"nfft": SHORT}

    def length(n: int) -> int:
        size = n if nfft is None else int(count)
        return size // 2 + 1 if one else size

    power = along("periodogram", {"x": signal}, axis, options, length, part=1, tried=tried)
    return (np.fft.rfftfreq if one else np.fft.fftfreq)(int(count), 1 / fs), power


@spectrum
def csd(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Array]:
    """Estimate cross power spectra of whole lines of two signals, after Welch.

    >>> import windrow as wr
    >>> x = wr.sin(wr.arange(64.0, chunks=20))
    >>> freqs, power = wr.signal.csd(x, x, nperseg=16)
    >>> freqs.shape == power.shape
    True
    """
    options = {"fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap, "nfft": nfft, "detrend": detrend}
    options |= {"return_onesided": return_onesided, "scaling": scaling, "average": average}
    return _whole("csd", {"x": x, "y": y}, axis, options)


@spectrum
def coherence(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    axis: int = -1,
) -> tuple[Any, Array]:
    """Estimate the coherence of whole lines of two signals.

    >>> import windrow as wr
    >>> x = wr.sin(wr.arange(64.0, chunks=20) ** 2)
    >>> _, found = wr.signal.coherence(x, x, nperseg=16)
    >>> found.compute().round(3)
    array([1., 1., 1., 1., 1., 1., 1., 1., 1.])
    """
    options = {"fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap, "nfft": nfft, "detrend": detrend}
    return _whole("coherence", {"x": x, "y": y}, axis, options)


@described(
    ABOUT | {"mode": '{"psd", "complex", "magnitude", "angle", "phase"}: What is given of each transform.'},
    "Frequencies and times, NumPy arrays, and the spectra of segments, lazy: times run along a last axis.",
    "tuple of numpy.ndarray and Array",
)
def spectrogram(
    x: Any,
    fs: float = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> tuple[Any, Any, Array]:
    """Return the spectra of segments of lines; each task reads the elements of its own.

    >>> import windrow as wr
    >>> freqs, times, power = wr.signal.spectrogram(wr.ones(64, chunks=20), nperseg=16, noverlap=0)
    >>> freqs.size, times.tolist(), power.shape
    (9, [8.0, 24.0, 40.0, 56.0], (9, 4))
    """
    options = {"fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap, "nfft": nfft, "detrend": detrend}
    options |= {"return_onesided": return_onesided, "scaling": scaling, "mode": mode}
    signal = numbers("spectrogram", "x", x)
    n = signal.shape[check_axis("spectrogram", axis, signal.ndim)]
    freqs, step, spectra = _segments("spectrogram", signal, axis, options)
    size = _length(options, n)
    return freqs, np.arange(size / 2, n - size / 2 + 1, step) / float(fs), spectra


@spectrum
def welch(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Array]:
    """Estimate power spectra by averages over segments, after Welch.

    With `average="mean"` each task reads the elements of its own segments; for medians lines come into one chunk.

    >>> import windrow as wr
    >>> freqs, power = wr.signal.welch(wr.sin(wr.arange(64.0, chunks=20)), nperseg=16)
    >>> freqs.shape == power.shape
    True
    """
    options = {"fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap, "nfft": nfft, "detrend": detrend}
    options |= {"return_onesided": return_onesided, "scaling": scaling}
    signal = numbers("welch", "x", x)
    at = check_axis("welch", axis, signal.ndim)
    if average != "mean" or signal.numblocks[at] == 1 or not signal.size:
        return _whole("welch", {"x": signal}, at, options | {"average": average})
    size = _length(options, signal.shape[at])
    options["noverlap"] = size // 2 if noverlap is None else noverlap
    attempt("welch", find("signal", "welch").welch, np.ones(size, signal.dtype), **dict(settled("welch", options)))
    freqs, _, spectra = _segments("welch", signal, at, options | {"mode": "psd", "nperseg": size})
    return freqs, spectra.mean(axis=-1)


def _length(given: dict[str, Any], n: int) -> int:
    """Return how long segments are."""
    size = given["nperseg"]
    window = given["window"]
    if not isinstance(window, str | tuple | float | int):
        return int(np.size(window))
    return min(256 if size is None else int(size), n)


def _whole(name: str, arrays: dict[str, Any], axis: Any, given: dict[str, Any]) -> tuple[Any, Array]:
    x = numbers(name, "x", arrays["x"])
    at = check_axis(name, axis, x.ndim)
    dtypes = {n: numbers(name, n, value).dtype for n, value in arrays.items()}
    line = tuple([n if i == at else 1 for i, n in enumerate(x.shape)])
    (freqs, _), _ = try_line(name, dtypes, line, at, dict(settled(name, given)) | {"axis": at})
    return freqs, along(name, arrays | {"x": x}, at, given, part=1)


def _segments(name: str, x: Any, axis: Any, given: dict[str, Any]) -> tuple[Any, int, Array]:
    """Return frequencies, how far segments are apart, and the spectra of segments: each task reads those of its own."""
    signal = numbers(name, "x", x)
    at = check_axis(name, axis, signal.ndim)
    n = signal.shape[at]
    function = find("signal", name).spectrogram
    keywords = dict(settled(name, given))
    size = _length(given, n)
    freqs, _, sample = attempt(name, function, np.ones(min(n, 2 * size), signal.dtype), **keywords)
    dtype = sample.dtype
    step = size - (int(keywords["noverlap"]) if keywords["noverlap"] is not None else size // 8)
    count = (n - size) // step + 1
    per = max(1, min(count, max(signal.chunksize[at], PER_TASK // max(1, size)) // max(1, step)))
    per = count if given["mode"] in ("phase",) else per
    segments = Axis.regular(count, per)
    blocks = np.arange(segments.count)
    start = segments.start(blocks) * step
    length = (segments.size(blocks) - 1) * step + size
    # the axis of segments takes the lines' place: what was read for each lies in one chunk
    steps: list[Any] = [(i, Slice()) for i in range(signal.ndim)]
    steps[at] = (at, Runs(start, length))
    wide = [Axis.of_sizes(length) if i == at else a for i, a in enumerate(signal.expr.grid.axes)]
    window = move("windows", signal, steps, wide)
    fixed = tuple((keywords | {"nperseg": size, "axis": at}).items())
    if not isinstance(keywords["window"], str | tuple | float | int):
        fixed = tuple(item for item in fixed if item[0] != "nperseg")
    out = [Axis.whole(len(freqs)) if i == at else a for i, a in enumerate(signal.expr.grid.axes)]
    places = (tuple(signal.ndim if i == at else i for i in range(signal.ndim)),)
    op = BlockFunction("scipy.signal:segments", ("spectrogram", fixed, dtype.str, len(freqs)), places, where=True)
    return freqs, step, make(op, (window,), Grid([*out, segments]), dtype)
