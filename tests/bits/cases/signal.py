"""Fourier transforms, running sums, differences, filters, padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """Lines in chunks, and small parts of the matrices."""
    line, tiny, i, f = a["line"], a["tiny"][:90], a["i"][:, :90], a["f"][:90]
    y, z = a["y"][:120, :350], a["z"][:130, :130]
    spectrum = keep(wr.fft.fft(line[:150_000]))
    windows = wr.sliding_window_view(y[:40, :50], 7, axis=1)
    chosen = wr.where(windows > 0, windows, 0)
    return {
        "fft-long": spectrum,
        "ifft-long": wr.fft.ifft(spectrum * 2)[::100],
        "rfft-long": wr.fft.rfft(line[:131_072])[::50],
        "irfft-long": wr.fft.irfft(line[:75_001])[::50],
        "fft-0": wr.fft.fft(z, axis=0),
        "fft2": wr.fft.fft2(y, s=(100, 360)),
        "irfftn": wr.fft.irfftn(z),
        "hfft": wr.fft.hfft(z, axis=0),
        "ihfft": wr.fft.ihfft(f),
        "fftshift": wr.fft.fftshift(y),
        "fftfreq": wr.fft.fftfreq(1001, chunks=100),
        "cumsum": wr.cumsum(line),
        "cumsum-0": wr.cumsum(y, axis=0),
        "cumsum-float32": wr.cumulative_sum(f, axis=1, include_initial=True),
        "cumprod-int": wr.cumprod(i, axis=0),
        "cumprod-float": wr.cumprod(y[:150, :90], axis=0),
        "nancumsum": wr.nancumsum(a["x"][:, :50], axis=0),
        "cumsum-tiny": wr.cumsum(tiny),
        "diff": wr.diff(y, 2, axis=0),
        "gradient": wr.gradient(y, axis=0),
        "gradient-at": wr.gradient(tiny, np.arange(90.0) ** 2, edge_order=2),
        "trapezoid": wr.trapezoid(y, axis=0),
        "unwrap": wr.unwrap(y * 9, axis=0),
        "convolve": wr.convolve(line, line[:40]),
        "correlate": wr.correlate(tiny, line[:30] + 1j, "same"),
        "interp": wr.interp(y, np.arange(9.0), line[:9]),
        "polyval": wr.polyval(line[:5], y),
        "pad-reflect": wr.pad(y[:40, :50], ((3, 70), (2, 1)), "reflect", reflect_type="odd"),
        "pad-ramp": wr.pad(y[:40, :50], 5, "linear_ramp"),
        "pad-median": wr.pad(y[:40, :50], 5, "median"),
        "roll": wr.roll(y, (3, -200), (0, 1)),
        "rot90": wr.rot90(y),
        "sliding": wr.sliding_window_view(y[:40, :50], (3, 2)),
        "sliding-chosen": chosen.std(-1),
        "sliding-weighted": wr.einsum("abw,w->b", chosen, np.linspace(0, 1, 7)),
        "kaiser": wr.kaiser(1001, 14.0, chunks=300),
        "sinc": wr.sinc(y),
    }
