"""Windows, and moves that repeat elements: what reads them reads what they are made from, and none is held."""

import numpy as np
import pytest

import windrow as wr

RNG = np.random.default_rng(8)
DATA = RNG.random((48, 30)).astype(np.float32)
DATA[RNG.random(DATA.shape) < 0.05] = np.nan
VIEWS = {
    "windows": (
        lambda x: wr.sliding_window_view(x, 9, axis=0),
        np.lib.stride_tricks.sliding_window_view(DATA, 9, axis=0),
    ),
    "windows along both": (
        lambda x: wr.sliding_window_view(x, (4, 5)),
        np.lib.stride_tricks.sliding_window_view(DATA, (4, 5)),
    ),
    "part of windows": (
        lambda x: wr.sliding_window_view(x, 9, axis=0)[3:-2, 1:, 2:-1],
        np.lib.stride_tricks.sliding_window_view(DATA, 9, axis=0)[3:-2, 1:, 2:-1],
    ),
    "broadcast_to": (lambda x: wr.broadcast_to(x, (20, 48, 30)), np.broadcast_to(DATA, (20, 48, 30))),
    "broadcast function": (lambda x: wr.broadcast_to(x * 2, (20, 48, 30)), np.broadcast_to(DATA * 2, (20, 48, 30))),
    "repeat": (lambda x: wr.repeat(x, 20, axis=0), np.repeat(DATA, 20, axis=0)),
    "tile": (lambda x: wr.tile(x, (20, 1)), np.tile(DATA, (20, 1))),
    "take": (lambda x: wr.take(x, np.arange(900) % 48, axis=0), np.take(DATA, np.arange(900) % 48, axis=0)),
}
READERS = {
    "choice": lambda np, v: [np.where(np.isnan(v), 0, v).sum(-1)],
    "several reductions": lambda np, v: [np.nanmax(v, 1), (v * v).min(-1), np.nanstd(v, axis=1), v.max()],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("view", VIEWS)
def test_several_readers_hold_none(view, reader):
    make, expected = VIEWS[view]
    x = wr.from_array(DATA, chunks=(12, 30)) + 0
    results = READERS[reader](wr, make(x))
    most = max(stage.bytes_held for stage in wr.explain(*results).stages)
    assert most <= max(2 * DATA.nbytes, *(result.nbytes for result in results)) < expected.nbytes
    for found, wanted in zip(wr.compute(*results), READERS[reader](np, expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_functions_of_windows_are_windows_of_functions():
    windows = wr.sliding_window_view(wr.from_array(DATA, chunks=(12, 30)), 9, axis=0)
    chosen = wr.where(wr.isnan(windows), np.float32(0), windows) * 2
    expected = np.where(np.isnan(VIEWS["windows"][1]), np.float32(0), VIEWS["windows"][1]) * 2
    np.testing.assert_array_equal(chosen.compute(), expected)
    np.testing.assert_array_equal(chosen.rechunk((10, 7, 9)).compute(), expected)
    np.testing.assert_array_equal(chosen.rechunk((10, 7, 4)).compute(), expected)
    np.testing.assert_array_equal(chosen[::2, 3].compute(), expected[::2, 3])
    kept = windows.persist()
    np.testing.assert_array_equal((kept * 2).compute(), VIEWS["windows"][1] * 2)


def test_functions_of_different_windows():
    x = wr.from_array(DATA, chunks=(12, 30))
    a, b = wr.sliding_window_view(x, 9, axis=0), wr.sliding_window_view(x * 2, 9, axis=0)
    wide = VIEWS["windows"][1]
    np.testing.assert_array_equal((a[1:] - b[:-1]).compute(), wide[1:] - wide[:-1] * 2)
    np.testing.assert_array_equal((a[1:] - b[1:]).compute(), wide[1:] - wide[1:] * 2)
    np.testing.assert_array_equal((a * b[:, :1]).compute(), wide * (wide[:, :1] * 2))
    np.testing.assert_array_equal((a + np.arange(9)).compute(), wide + np.arange(9))
