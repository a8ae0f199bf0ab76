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
from ..bridge import attempt, find_function, like_scipy, numbers, settled
from .lines import ABOUT, SHORT, along, try_line

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

spectrum = like_scipy(
    "signal",
    ABOUT,
    "Frequencies, a NumPy array, and the spectrum, lazy, along the axis.",
    "tuple of numpy.ndarray and Array",
)
PER_TASK = 1 << 20
"""About so many elements of segments are transformed by one task."""


@spectrum
def periodogram(name: str, arguments: dict[str, Any]) -> tuple[Any, Array]:
    """Estimate power spectra of whole lines, which are brought into one chunk.

    >>> import windrow as wr
    >>> freqs, power = wr.signal.periodogram(wr.asarray([1.0, -1, 1, -1], chunks=2))
    >>> freqs, power.compute()
    (array([0.  , 0.25, 0.5 ]), array([0., 0., 4.]))
    """
    signal, nfft = numbers(name, "x", arguments["x"]), arguments["nfft"]
    n = signal.shape[check_axis(name, arguments["axis"], signal.ndim)]
    count = n if nfft is None else nfft
    if not is_integer(count) or min(n, count) <= SHORT or not _is_named(arguments["window"]):
        return _whole(name, arguments)
    one = arguments["return_onesided"] and signal.dtype.kind != "c"
    freqs = (np.fft.rfftfreq if one else np.fft.fftfreq)(int(count), 1 / arguments["fs"])
    tried = None if nfft is None else {"nfft": SHORT}

    def length(n: int) -> int:
        size = n if nfft is None else int(count)
        return size // 2 + 1 if one else size

    return freqs, along(name, arguments, length, part=1, tried=tried)


@spectrum
def csd(name: str, arguments: dict[str, Any]) -> tuple[Any, Array]:
    """Estimate cross power spectra of whole lines of two signals, after Welch.

    >>> import windrow as wr
    >>> x = wr.sin(wr.arange(64.0, chunks=20))
    >>> freqs, power = wr.signal.csd(x, x, nperseg=16)
    >>> freqs.shape == power.shape
    True
    """
    return _whole(name, arguments, ("x", "y"))


@spectrum
def coherence(name: str, arguments: dict[str, Any]) -> tuple[Any, Array]:
    """Estimate the coherence of whole lines of two signals.

    >>> import windrow as wr
    >>> x = wr.sin(wr.arange(64.0, chunks=20) ** 2)
    >>> _, coherent = wr.signal.coherence(x, x, nperseg=16)
    >>> coherent.compute().round(3)
    array([1., 1., 1., 1., 1., 1., 1., 1., 1.])
    """
    return _whole(name, arguments, ("x", "y"))


@like_scipy(
    "signal",
    ABOUT,
    "Frequencies and times, NumPy arrays, and the spectra of segments, lazy: times run along a last axis.",
    "tuple of numpy.ndarray and Array",
)
def spectrogram(name: str, arguments: dict[str, Any]) -> tuple[Any, Any, Array]:
    """Return the spectra of segments of lines; each task reads the elements of its own.

    >>> import windrow as wr
    >>> freqs, times, power = wr.signal.spectrogram(wr.ones(64, chunks=20), nperseg=16, noverlap=0)
    >>> freqs.size, times.tolist(), power.shape
    (9, [8.0, 24.0, 40.0, 56.0], (9, 4))
    """
    signal = numbers(name, "x", arguments["x"])
    n = signal.shape[check_axis(name, arguments["axis"], signal.ndim)]
    freqs, step, spectra = _segments(name, arguments)
    size = _length(arguments, n)
    return freqs, np.arange(size / 2, n - size / 2 + 1, step) / float(arguments["fs"]), spectra


@spectrum
def welch(name: str, arguments: dict[str, Any]) -> tuple[Any, Array]:
    """Estimate power spectra by averages over segments, after Welch.

    With `average="mean"` each task reads the elements of its own segments; for medians lines come into one chunk.

    >>> import windrow as wr
    >>> freqs, power = wr.signal.welch(wr.sin(wr.arange(64.0, chunks=20)), nperseg=16)
    >>> freqs.shape == power.shape
    True
    """
    signal = numbers(name, "x", arguments["x"])
    at = check_axis(name, arguments["axis"], signal.ndim)
    if arguments["average"] != "mean" or signal.numblocks[at] == 1 or not signal.size:
        return _whole(name, arguments)
    size = _length(arguments, signal.shape[at])
    options = {key: value for key, value in arguments.items() if key not in ("x", "axis", "average")}
    options["noverlap"] = size // 2 if options["noverlap"] is None else options["noverlap"]
    attempt(name, find_function("signal", "welch"), np.ones(size, signal.dtype), **dict(settled(name, options)))
    segmented = options | {"x": signal, "axis": at, "mode": "psd", "nperseg": size}
    freqs, _, spectra = _segments(name, segmented)
    return freqs, spectra.mean(axis=-1)


def _is_named(window: ArrayLike) -> bool:
    """Whether a window is told by its name and parameters, not by its elements."""
    return isinstance(window, str | tuple | float | int)


def _length(given: dict[str, Any], n: int) -> int:
    """Return how long segments are."""
    size = given["nperseg"]
    window = given["window"]
    if not _is_named(window):
        return int(np.size(window))
    return min(256 if size is None else int(size), n)


def _whole(name: str, arguments: dict[str, Any], arrays: tuple[str, ...] = ("x",)) -> tuple[Any, Array]:
    operands = {n: numbers(name, n, arguments[n]) for n in arrays}
    x = operands["x"]
    at = check_axis(name, arguments["axis"], x.ndim)
    line = tuple(n if i == at else 1 for i, n in enumerate(x.shape))
    options = {key: value for key, value in arguments.items() if key not in arrays} | {"axis": at}
    dtypes = {n: operand.dtype for n, operand in operands.items()}
    (freqs, _), _ = try_line(name, dtypes, line, at, dict(settled(name, options)))
    return freqs, along(name, operands | options, part=1, arrays=arrays)


def _segments(name: str, arguments: dict[str, Any]) -> tuple[Any, int, Array]:
    """Return frequencies, how far segments are apart, and the spectra of segments: each task reads those of its own."""
    signal = numbers(name, "x", arguments["x"])
    at = check_axis(name, arguments["axis"], signal.ndim)
    n = signal.shape[at]
    function = find_function("signal", "spectrogram")
    keywords = dict(settled(name, {key: value for key, value in arguments.items() if key not in ("x", "axis")}))
    size = _length(arguments, n)
    freqs, _, sample = attempt(name, function, np.ones(min(n, 2 * size), signal.dtype), **keywords)
    dtype = sample.dtype
    step = size - (int(keywords["noverlap"]) if keywords["noverlap"] is not None else size // 8)
    count = (n - size) // step + 1
    per = max(1, min(count, max(signal.chunksize[at], PER_TASK // max(1, size)) // max(1, step)))
    per = count if keywords["mode"] == "phase" else per
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
    if not _is_named(keywords["window"]):
        fixed = tuple(item for item in fixed if item[0] != "nperseg")
    out = [Axis.whole(len(freqs)) if i == at else a for i, a in enumerate(signal.expr.grid.axes)]
    places = (tuple(signal.ndim if i == at else i for i in range(signal.ndim)),)
    op = BlockFunction("scipy.signal:segments", ("spectrogram", fixed, dtype.str, len(freqs)), places, where=True)
    return freqs, step, make(op, (window,), Grid([*out, segments]), dtype)
