"""cuPyNumeric's examples: NumPy programs whose `np` is replaced, and what they end with is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from ..registry import workload

if TYPE_CHECKING:
    from ..systems.base import System

LOOPS = {
    "distributed": "dask's threads stand for it in programs that loop",
    "cubed": "its arrays can't be written, and each step would go to disk",
}


def normal_cdf(np: Any, d: Any) -> Any:
    """Return the cumulative distribution by cuPyNumeric's polynomial."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(d))
    poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.39894228040143267794 * np.exp(-0.5 * d * d) * poly
    return np.where(d > 0, 1.0 - tail, tail)


def prices(np: Any, s: Any, x: Any, t: Any) -> Any:
    """Return Black and Scholes' prices of calls and puts."""
    rate, sigma = 0.02, 0.3
    root = np.sqrt(t)
    d1 = (np.log(s / x) + (rate + 0.5 * sigma * sigma) * t) / (sigma * root)
    d2 = d1 - sigma * root
    c1, c2, discounted = normal_cdf(np, d1), normal_cdf(np, d2), np.exp(-rate * t) * x
    return s * c1 - discounted * c2, discounted * (1.0 - c2) - s * (1.0 - c1)


@workload("black-scholes")
def black_scholes(at: System) -> Any:
    """64 million options of float32."""
    n, chunk = at.size((64_000_000, 4_000_000), (64_000, 16_000))
    s, x, t = (at.rng(i).random((n,), dtype="float32", chunks=chunk) + 0.5 for i in (1, 2, 3))
    call, put = prices(at.xp, s, x, t)
    return (s, x, t), at.compute(at.xp.mean(call), at.xp.mean(put))


@black_scholes.checked
def _(at: System, found: Any) -> None:
    inputs, means = found
    n, step = inputs[0].shape[0], inputs[0].shape[0] // 16
    parts = []
    for begin in range(0, n, step):
        s, x, t = (at.part(each, slice(begin, begin + step)) for each in inputs)
        parts.append([each.mean(dtype=numpy.float64) for each in prices(numpy, s, x, t)])
    numpy.testing.assert_allclose([float(mean) for mean in means], numpy.mean(parts, axis=0), rtol=2e-4)


@workload("jacobi-dense", without=LOOPS)
def jacobi(at: System) -> Any:
    """A dense system of 8000 by 100 steps."""
    np = at.xp
    n = at.size(8000, 200)
    a = at.rng(1).random((n, n)) + np.eye(n) * n
    b = at.rng(2).random((n,))
    d = np.diag(a)
    rest = a - np.diag(d)
    x = np.zeros(n)
    for _ in range(100):
        x = (b - rest @ x) / d
    return a, b, at.compute(x)


@jacobi.checked
def _(at: System, found: Any) -> None:
    a, b, x = found
    n, step = len(x), len(x) // 4
    for begin in range(0, n, step):
        rows = slice(begin, begin + step)
        numpy.testing.assert_allclose(at.part(a, rows, slice(None)) @ x, at.part(b, rows), rtol=1e-8)


@workload("cg-dense", without=LOOPS)
def conjugate_gradients(at: System) -> Any:
    """Poisson's equation on 100 x 100 as a dense matrix, 200 steps."""
    np = at.xp
    side = at.size(100, 15)
    n = side * side
    near, far = np.ones(n - 1), np.ones(n - side)
    a = 4 * np.eye(n) - np.diag(near, 1) - np.diag(near, -1) - np.diag(far, side) - np.diag(far, -side)
    b = at.rng(1).random((n,))
    x, r = np.zeros(n), b
    p, rsold = r, r @ r
    for _ in range(at.size(200, 60)):
        ap = a @ p
        alpha = rsold / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        rsnew = r @ r
        p = r + (rsnew / rsold) * p
        rsold = rsnew
    return b, at.compute(x, rsold)


@conjugate_gradients.checked
def _(at: System, found: Any) -> None:
    b, (x, left) = found
    side = round(len(x) ** 0.5)
    product = 4 * x
    for step in (1, side):
        product[step:] -= x[:-step]
        product[:-step] -= x[step:]
    residual = at.part(b, slice(None)) - product
    assert residual @ residual < 1e-6 * len(x), residual @ residual
    numpy.testing.assert_allclose(float(left), residual @ residual, rtol=1e-3, atol=1e-12)


def _regression(at: System, logistic: bool) -> Any:
    np = at.xp
    n, p = at.size((2_000_000, 32), (20_000, 8))
    x = at.rng(1).random((n, p), dtype="float32", chunks=(n // 16, p))
    y = at.rng(2).random((n,), dtype="float32", chunks=(n // 16,))
    w = np.zeros(p, dtype="float32")
    for _ in range(100):
        z = x @ w
        error = (1 / (1 + np.exp(-z)) if logistic else z) - y
        w = w - numpy.float32(0.1 / n) * (x.T @ error)
    return x, y, at.compute(w)


def _regression_checked(at: System, found: Any, logistic: bool) -> None:
    x, y, got = found
    x, y = at.part(x, slice(None), slice(None)), at.part(y, slice(None))
    w = numpy.zeros(x.shape[1])
    for _ in range(100):
        total = 0
        for begin in range(0, len(x), len(x) // 16):
            part = slice(begin, begin + len(x) // 16)
            z = x[part] @ w.astype(x.dtype)
            total = total + x[part].T @ ((1 / (1 + numpy.exp(-z)) if logistic else z) - y[part])
        w -= 0.1 / len(x) * total
    numpy.testing.assert_allclose(got, w, rtol=1e-3, atol=1e-4)


@workload("linreg", without=LOOPS)
def linear(at: System) -> Any:
    """Linear regression, 100 steps over 2 million rows of float32."""
    return _regression(at, False)


@workload("logreg", without=LOOPS)
def logistic(at: System) -> Any:
    """Logistic regression, likewise."""
    return _regression(at, True)


linear.checked(lambda at, found: _regression_checked(at, found, False))
logistic.checked(lambda at, found: _regression_checked(at, found, True))

CLUSTERS, TURNS = 10, 10


def _kmeans(at: System, step: Any) -> Any:
    np = at.xp
    n = at.size(5_000_000, 10_000)
    x = at.rng(1).random((n, 10), chunks=(n // 20, 10))
    centres = at.part(x, slice(0, CLUSTERS), slice(None))
    for _ in range(TURNS):
        distances = (centres * centres).sum(axis=1) - 2 * (x @ centres.T)
        centres = step(at, np, x, np.argmin(distances, axis=1))
    return x, centres


def by_bincount(at: System, np: Any, x: Any, labels: Any) -> Any:
    """Return centres, a column after another."""
    counts = np.bincount(labels, minlength=CLUSTERS)
    centres = numpy.empty((CLUSTERS, x.shape[1]))
    columns = [np.bincount(labels, weights=x[:, j], minlength=CLUSTERS) for j in range(x.shape[1])]
    for j, sums in enumerate(at.compute(*(column / counts for column in columns))):
        centres[:, j] = sums
    return centres


def by_product(at: System, np: Any, x: Any, labels: Any) -> Any:
    """Return centres by a product with a mask."""
    own = (labels[:, None] == np.arange(CLUSTERS)).astype("float64")
    return at.compute((own.T @ x) / np.sum(own, axis=0)[:, None])


def _kmeans_checked(at: System, found: Any) -> None:
    x, got = found
    x = at.part(x, slice(None), slice(None))
    centres = x[:CLUSTERS].copy()
    for _ in range(TURNS):
        sums, counts = numpy.zeros_like(centres), numpy.zeros(CLUSTERS)
        for begin in range(0, len(x), 100_000):
            part = x[begin : begin + 100_000]
            labels = ((centres**2).sum(axis=1) - 2 * part @ centres.T).argmin(axis=1)
            counts += numpy.bincount(labels, minlength=CLUSTERS)
            for j in range(x.shape[1]):
                sums[:, j] += numpy.bincount(labels, part[:, j], minlength=CLUSTERS)
        centres = sums / counts[:, None]
    numpy.testing.assert_allclose(got, centres, rtol=1e-6)


@workload("kmeans", without=LOOPS)
def kmeans(at: System) -> Any:
    """k-means of 5 million points by products."""
    return _kmeans(at, by_product)


@workload("kmeans-bincount", without=LOOPS)
def kmeans_by_bincount(at: System) -> Any:
    """k-means of 5 million points by weighted counts."""
    return _kmeans(at, by_bincount)


kmeans.checked(_kmeans_checked)
kmeans_by_bincount.checked(_kmeans_checked)


def stencil_views(np: Any, n: int, steps: int) -> Any:
    """Average neighbours in place, by views; cuPyNumeric's text."""
    grid = np.zeros((n + 2, n + 2))
    grid[:, 0] = -273.15
    grid[:, -1] = -273.15
    grid[-1, :] = -273.15
    grid[0, :] = 40.0
    center = grid[1:-1, 1:-1]
    north, south = grid[0:-2, 1:-1], grid[2:, 1:-1]
    east, west = grid[1:-1, 2:], grid[1:-1, 0:-2]
    for _ in range(steps):
        average = center + north + east + west + south
        center[:] = 0.2 * average
    return grid


def stencil_keys(np: Any, n: int, steps: int) -> Any:
    """Average neighbours in place, by keys."""
    grid = np.zeros((n + 2, n + 2))
    grid[:, 0] = -273.15
    grid[:, -1] = -273.15
    grid[-1, :] = -273.15
    grid[0, :] = 40.0
    for _ in range(steps):
        grid[1:-1, 1:-1] = 0.2 * (
            grid[1:-1, 1:-1] + grid[0:-2, 1:-1] + grid[1:-1, 2:] + grid[1:-1, 0:-2] + grid[2:, 1:-1]
        )
    return grid


def _stencil_checked(at: System, grid: Any) -> None:
    n, steps, width = *at.size((8000, 100), (100, 20)), 120
    # What a step changes comes from the borders: far from the others, a strip's corner is the whole's.
    strip = stencil_keys(numpy, min(n, 2 * steps + width), steps)
    inside = min(width, n // 2)
    numpy.testing.assert_allclose(
        at.part(grid, slice(0, inside), slice(0, inside)), strip[:inside, :inside], rtol=1e-10
    )
    if n > 2 * steps + width:
        middle = at.part(grid, slice(n // 2, n // 2 + 5), slice(n // 2, n // 2 + 5))
        numpy.testing.assert_array_equal(middle, 0)


@workload("stencil-views", without=LOOPS)
def stencil_by_views(at: System) -> Any:
    """cuPyNumeric's stencil of 8000 x 8000, 100 steps on views of one array."""
    return at.compute(stencil_views(at.xp, *at.size((8000, 100), (100, 20))))


@workload("stencil-keys", without=LOOPS)
def stencil_by_keys(at: System) -> Any:
    """The same by keys."""
    return at.compute(stencil_keys(at.xp, *at.size((8000, 100), (100, 20))))


stencil_by_views.checked(_stencil_checked)
stencil_by_keys.checked(_stencil_checked)


def channel(np: Any, n: int, turns: int, inner: int) -> Any:
    """Flow in a channel: step 12 of CFD Python, with cuPyNumeric's sizes; walls below and above, periodic along x."""
    dx = 2 / (n - 1)
    rho, nu, force, dt = 1.0, 0.1, 1.0, dx * dx / 8
    u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.ones((n, n))
    for _ in range(turns):
        right, left = np.roll(u, -1, axis=1), np.roll(u, 1, axis=1)
        vright, vleft = np.roll(v, -1, axis=1), np.roll(v, 1, axis=1)
        ux = (right - left)[1:-1] / (2 * dx)
        vx = (vright - vleft)[1:-1] / (2 * dx)
        uy, vy = (u[2:] - u[:-2]) / (2 * dx), (v[2:] - v[:-2]) / (2 * dx)
        source = rho * ((ux + vy) / dt - ux * ux - 2 * uy * vx - vy * vy)
        for _ in range(inner):
            around = (np.roll(p, -1, axis=1) + np.roll(p, 1, axis=1))[1:-1]
            new = (around + p[2:] + p[:-2] - dx * dx * source) / 4
            p = np.concatenate([new[:1], new, new[-1:]])
        px, py = (np.roll(p, -1, axis=1) - np.roll(p, 1, axis=1))[1:-1], p[2:] - p[:-2]
        about = u[1:-1], v[1:-1]
        curved = [(a + b)[1:-1] + w[2:] + w[:-2] - 4 * w[1:-1] for a, b, w in ((right, left, u), (vright, vleft, v))]
        unew = about[0] - dt * (about[0] * ux + about[1] * uy) - dt / (2 * rho * dx) * px + nu * dt / dx**2 * curved[0]
        vnew = about[1] - dt * (about[0] * vx + about[1] * vy) - dt / (2 * rho * dx) * py + nu * dt / dx**2 * curved[1]
        wall = np.zeros((1, n))
        u, v = np.concatenate([wall, unew + force * dt, wall]), np.concatenate([wall, vnew, wall])
    return u, v, p


@workload("cfd", without=LOOPS)
def cfd(at: System) -> Any:
    """Channel flow on 1001 x 1001: 20 steps of 50 inner ones."""
    return at.compute(*channel(at.xp, *at.size((1001, 20, 50), (61, 3, 5))))


@cfd.checked
def _(at: System, found: Any) -> None:
    n, turns, inner = at.size((1001, 20, 50), (61, 3, 5))
    # The flow is the same in each column, so that few tell it.
    for got, want in zip(found, channel(numpy, n, turns, inner), strict=True):
        numpy.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-12)


@workload("sort", without={"dask": "it has no sort", "distributed": "it has no sort", "cubed": "it has no sort"})
def sort(at: System) -> Any:
    """64 million numbers sorted, to a null store."""
    n = at.size(64_000_000, 64_000)
    x = at.rng(1).random((n,), chunks=n // 16)
    return x, at.null(at.xp.sort(x))


@sort.checked
def _(at: System, found: Any) -> None:
    x, sink = found
    want = numpy.sort(at.part(x, slice(None)))
    sink.check(lambda i: want[i], blocks=16)


@workload("scan", without={"cubed": "it has no cumsum of this kind"})
def scan(at: System) -> Any:
    """Running sums of 100 million numbers, to a null store."""
    n = at.size(100_000_000, 100_000)
    x = at.rng(1).random((n,), chunks=n // 20)
    return x, at.null(at.xp.cumsum(x))


@scan.checked
def _(at: System, found: Any) -> None:
    x, sink = found
    want = numpy.cumsum(at.part(x, slice(None)))
    sink.check(lambda i: want[i], blocks=16, rtol=1e-9)


@workload("quantiles", without=dict.fromkeys(("dask", "distributed"), "its quantiles of more chunks are not exact"))
def quantiles(at: System) -> Any:
    """Nine quantiles of 20 million numbers."""
    n = at.size(20_000_000, 20_000)
    x = at.rng(1).random((n,), chunks=n // 10)
    return x, at.compute(at.xp.quantile(x, numpy.linspace(0.1, 0.9, 9)))


@quantiles.checked
def _(at: System, found: Any) -> None:
    x, got = found
    numpy.testing.assert_allclose(got, numpy.quantile(at.part(x, slice(None)), numpy.linspace(0.1, 0.9, 9)), rtol=1e-12)
