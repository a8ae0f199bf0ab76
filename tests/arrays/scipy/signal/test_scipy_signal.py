"""Functions of signals give what SciPy gives for whole lines."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from support.beside_scipy import alike, outcome, same

signal = pytest.importorskip("scipy.signal")

RNG = np.random.default_rng(0)
A = RNG.random((13, 40))
LINE = RNG.random(500)
B2, A2 = signal.butter(3, 0.2)
SOS = signal.butter(4, 0.2, output="sos")
CHUNKS = ((5, 7), (13, 1), (4, 40))


@pytest.mark.parametrize("mode", ["full", "same", "valid", "other"])
@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve", "oaconvolve"])
def test_convolutions(name, mode):
    for x, v, chunks in (
        (A, RNG.random((3, 4)), (5, 7)),
        (A, RNG.random((6, 1)), (5, 40)),
        (RNG.random((3, 4)), A, 5),
        (A, RNG.random((15, 3)), (5, 7)),
        (LINE[:90], LINE[:30] * 1j, 7),
        (np.arange(50), np.arange(6), 9),
        (A.astype("f4"), A[:2, :2].astype("f4"), 6),
        (A, LINE[:3], 6),
    ):
        rtol = 1e-4 if x.dtype == np.float32 else 1e-9
        same("signal", name, [x, v], chunks, mode, rtol=rtol, atol=1e-4 if rtol > 1e-5 else 1e-10)


def test_convolutions_along_some_axes():
    for axes in (0, 1, (1,), [0, 1], -1):
        for x, v in ((A, A[:, :1]), (A, A[:1]), (A, A[:4]), (A[:1], A), (A, A)):
            for name in ("fftconvolve", "oaconvolve"):
                same("signal", name, [x, v], (5, 7), "same", axes=axes, atol=1e-10)
                same("signal", name, [x, v], (5, 7), "full", axes=axes, atol=1e-10)


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_recursive_filters_go_on_from_chunk_to_chunk(chunks):
    for axis in (0, 1, -1):
        x = wr.from_array(A, chunks=chunks)
        for b, a in ((B2, A2), ([1.0, 2, 3], [2.0]), ([1.0], [1.0, -0.5]), ([2.0], [4.0])):
            alike(signal.lfilter(b, a, A, axis), wr.signal.lfilter(b, a, x, axis), "lfilter", rtol=1e-12)
            m = max(len(a), len(b)) - 1
            shape = [n if i != axis % 2 else m for i, n in enumerate(A.shape)]
            for zi in (RNG.random(shape), RNG.random([1 if n != m else m for n in shape])):
                if m:
                    want, got = (
                        outcome(f, b, a, y, axis, zi) for f, y in ((signal.lfilter, A), (wr.signal.lfilter, x))
                    )
                    alike(want, wr.compute(*got), "lfilter with a state", rtol=1e-12)
        alike(signal.sosfilt(SOS, A, axis), wr.signal.sosfilt(SOS, x, axis), "sosfilt", rtol=1e-12)
        zi = RNG.random((len(SOS), *(2 if i == axis % 2 else n for i, n in enumerate(A.shape))))
        got = wr.compute(*wr.signal.sosfilt(SOS, x, axis, zi))
        alike(signal.sosfilt(SOS, A, axis, zi), got, "sosfilt with a state", rtol=1e-12)


def test_states_of_other_shapes_are_refused_by_name():
    for x, zi in ((LINE, [0.1]), (LINE, np.zeros(4)), (LINE, np.zeros((1, 3))), (A, np.zeros((2, 3))), (A, [0.1] * 3)):
        with pytest.raises(ValueError):
            signal.lfilter(B2, A2, x, zi=np.asarray(zi))
        with pytest.raises(wr.ShapeError, match=r"lfilter: argument 'zi' is .*; expected shape"):
            wr.signal.lfilter(B2, A2, wr.from_array(x, chunks=20), zi=zi)


def test_recursive_filters_of_other_dtypes():
    for x in (np.arange(20), A[0].astype("f4"), A[0] * 1j):
        lazy = wr.from_array(x, chunks=6)
        alike(signal.lfilter(B2, A2, x), wr.signal.lfilter(B2, A2, lazy), "lfilter", rtol=1e-6)
        alike(signal.sosfilt(SOS, x), wr.signal.sosfilt(SOS, lazy), "sosfilt", rtol=1e-6)
    with pytest.raises(wr.WindrowError, match="lfilter"):
        wr.signal.lfilter([1.0], [0.0, 1.0][:0], wr.ones(5))


RANKS = {
    "medfilt": [(), (5,), ([3, 7],), (41,), (4,), ([3],), (-3,), ([1.5, 3],)],
    "order_filter": [
        (np.eye(3), 0),
        (np.eye(3), 2),
        (np.ones((5, 3)), 7),
        (np.eye(3), -1),
        (np.eye(4), 0),
        ([1, 1, 1], 0),
        (np.eye(3), 9),
    ],
}


@pytest.mark.filterwarnings("ignore:kernel_size exceeds")
@pytest.mark.parametrize("name", RANKS)
def test_filters_by_ranks(name):
    for arguments in RANKS[name]:
        for x in (A, (A * 100).astype(int), A.astype("f4"), A.astype("f2"), A * 1j, A > 0.5):
            for chunks in CHUNKS:
                same("signal", name, [x], chunks, *arguments)


def test_medians_of_lines():
    for size in (None, 3, 21, 601):
        same("signal", "medfilt", [LINE], 90, size)
    same("signal", "medfilt", [np.float64(3.0)], (), 3)


LINES = {
    "detrend": [{}, {"type": "constant"}, {"axis": 0}, {"bp": [3, 7]}],
    "savgol_filter": [
        {"window_length": 5, "polyorder": 2},
        {"window_length": 5, "polyorder": 2, "mode": "mirror", "axis": 0},
    ],
    "hilbert": [{}, {"N": 10, "axis": 0}],
    "resample": [{"num": 9}, {"num": 50, "axis": 1}],
    "resample_poly": [{"up": 3, "down": 2}, {"up": 1, "down": 4, "axis": 1, "padtype": "line"}],
    "decimate": [{"q": 2}, {"q": 3, "ftype": "fir"}],
    "periodogram": [{}, {"axis": 0, "nfft": 20}],
    "csd": [{"nperseg": 8}],
    "coherence": [{"nperseg": 8}],
    "welch": [{"nperseg": 8}, {"nperseg": 5, "noverlap": 1, "axis": 0}, {"average": "median", "nperseg": 8}, {}],
    "spectrogram": [
        {"nperseg": 8},
        {"nperseg": 5, "noverlap": 4, "axis": 0},
        {"nperseg": 8, "mode": "complex", "nfft": 16},
        {"nperseg": 8, "mode": "phase"},
        {"nperseg": 8, "window": np.ones(8), "fs": 4.0, "detrend": False},
    ],
}


@pytest.mark.filterwarnings("ignore:nperseg")
@pytest.mark.parametrize("name", LINES)
def test_lines(name):
    for keywords in LINES[name]:
        for chunks in CHUNKS:
            arrays = [A, A[::-1]] if name in ("csd", "coherence") else [A]
            same("signal", name, arrays, chunks, **keywords)


def test_filters_before_their_lines():
    x = wr.from_array(A, chunks=(5, 7))
    alike(signal.filtfilt(B2, A2, A), wr.signal.filtfilt(B2, A2, x), "filtfilt")
    alike(signal.sosfiltfilt(SOS, A), wr.signal.sosfiltfilt(SOS, x), "sosfiltfilt")
    alike(signal.upfirdn([1, 2, 3], A, 2, 3), wr.signal.upfirdn([1, 2, 3], x, 2, 3), "upfirdn")
    with pytest.raises(wr.ArgumentError, match="filtfilt"):
        wr.signal.filtfilt(B2, A2, x, axis=0, padlen=50)


@pytest.mark.filterwarnings("ignore:nperseg")
def test_long_lines_in_many_chunks():
    for name in ("welch", "spectrogram"):
        for keywords in ({}, {"nperseg": 100, "noverlap": 90}, {"nperseg": 600}, {"detrend": "linear", "nperseg": 64}):
            same("signal", name, [LINE], 33, **keywords)


LONG = RNG.random(30_007)
OF_LONG = [
    ("detrend", (), {}),
    ("detrend", (), {"bp": [3, 9_000]}),
    ("filtfilt", (), {}),
    ("sosfiltfilt", (), {"padlen": 6_000}),
    ("savgol_filter", (5_001, 2), {}),
    ("hilbert", (), {}),
    ("hilbert", (9_999,), {}),
    ("resample", (9_999,), {}),
    ("resample", (301,), {}),
    ("resample_poly", (6, 4), {}),
    ("resample_poly", (3, 7), {}),
    ("decimate", (9,), {}),
    ("decimate", (3,), {"ftype": "fir", "zero_phase": False}),
    ("upfirdn", (), {"up": 3, "down": 7}),
    ("upfirdn", (), {"up": 2, "down": 5, "mode": "line"}),
    ("periodogram", (), {}),
    ("periodogram", (), {"nfft": 20_001, "return_onesided": False}),
    ("periodogram", (), {"nfft": 5_000, "fs": 3.0}),
    ("welch", (), {"nperseg": 1_001, "noverlap": 7}),
    ("welch", (), {"average": "median"}),
    ("spectrogram", (), {"nperseg": 300, "noverlap": 17, "fs": 2.5}),
    ("spectrogram", (), {"window": np.hanning(64)}),
]


@pytest.mark.parametrize(("name", "args", "keywords"), OF_LONG, ids=str)
def test_lines_longer_than_what_is_tried(name, args, keywords, monkeypatch):
    before = {"filtfilt": (B2, A2), "sosfiltfilt": (SOS,), "upfirdn": (RNG.random(50),)}.get(name, ())
    want = getattr(signal, name)(*before, LONG, *args, **keywords)
    lengths = []
    own = getattr(signal, name)

    def noted(*args, **keywords):
        lengths.append(max(map(np.size, [*args, *keywords.values()])))
        return own(*args, **keywords)

    monkeypatch.setattr(signal, name, noted)
    got = getattr(wr.signal, name)(*before, wr.from_array(LONG, chunks=4_000), *args, **keywords)
    monkeypatch.undo()
    assert max(lengths, default=0) < 30_007
    for w, g in zip(want, wr.compute(*got), strict=True) if isinstance(want, tuple) else [(want, got.compute())]:
        assert w.dtype == g.dtype
        np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-12)


def test_breaks_beyond_a_long_line():
    for wrong in ([10_001], "a", [0.5], []):
        with pytest.raises(wr.ArgumentError, match=r"detrend: argument 'bp' is .* positions in lines of 10000"):
            wr.signal.detrend(wr.zeros(10_000), bp=wrong)


def test_arguments_that_scipy_does_not_take_name_the_dtype():
    with pytest.raises(wr.DTypeError, match="decimate: an array of float32 can't be taken"):
        wr.signal.decimate(wr.zeros(100, "f4"), "a")
