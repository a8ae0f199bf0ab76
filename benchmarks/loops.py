"""Workloads that go on for some steps or iterations: W8, W9 and W14; and arrays handed in from the user's memory.

W8: 50 Jacobi steps, zero beyond the edges. W9: 10 steps of the shallow-water equations of `examples/shallow_water.py`.
W14: 10 iterations of Lloyd's k-means, k = 10, from the first rows.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numerics import scattered_chunk, whole
from seeds.shallow_water import example
from workloads import Case, Sizes, System, block, close

if TYPE_CHECKING:
    from collections.abc import Callable

CLUSTERS = 10
REACH = 2
"""Cells along each axis on which a cell's next state depends."""


def jacobi(system: System, sizes: Sizes, how: str) -> Case:
    """W8: in one graph of `pad` and slices, in one of `map_overlap`, or persisted at each step."""
    n, k, steps = sizes.plate, sizes.plate_chunk, sizes.plate_steps
    u = system.data(7, (n, n), (k, k))
    places = ((0, 0), (n // 2, n // 2), (1, n - 1), (k - 1, k))

    def told(made: Any) -> Any:
        return [float(system.value(made.sum())), *(float(system.value(made[place])) for place in places)]

    @cache
    def expected() -> tuple[Any, Any]:
        """Return what becomes of the data, and of ones: the steps are linear."""
        plain = System()
        both = []
        for begin in (block(((0, n), (0, n)), n, 7), np.ones((n, n))):
            made = plain.jacobi(begin, steps, how)
            both.append(np.array([made.sum(), *(made[place] for place in places)]))
        return both[0], both[1]

    def right(found: Any, c: float) -> bool:
        data, ones = expected()
        return close(found, data + c * ones)

    return Case(lambda given, c: system.jacobi(given, steps, how), right, told, lambda c: system.keep(u + c))


def shallow_water(system: System, sizes: Sizes) -> Case:
    """W9: lazily, persisted at each step."""
    size, steps = sizes.sea, sizes.sea_steps
    begin = example().begin(*size)
    fields = [system.keep(system.handed(field, (-(-size[0] // 4), size[1]))) for field in begin]
    corners = ((0, 0), (size[0] // 2, size[1] // 2), (size[0] // 4 - 1, size[1] - 1))

    def fresh(c: float) -> Any:
        state = (fields[0] + (c - 1), *fields[1:])
        return system.keep_all(*state, *example().tendencies(state, system.xp.roll))

    def told(state: Any) -> Any:
        height = system.value(state[0])
        return [float(height.mean(dtype="f8")), *(float(height[corner]) for corner in corners)]

    def right(found: Any, c: float) -> bool:
        mean = float(begin[0].mean(dtype="f8")) + c - 1
        return close(found, [mean, *(near(corner, c) for corner in corners)], 1e-5)

    def near(corner: tuple[int, int], c: float) -> float:
        """Find a cell's height by NumPy, from the cells around that it depends on."""
        reach = REACH * (steps + 2)
        rows, columns = (np.arange(at - reach, at + reach + 1) for at in corner)
        around = [f.take(rows, 0, mode="wrap").take(columns, 1, mode="wrap") for f in begin]
        around[0] = around[0] + np.float32(c - 1)
        return float(example().numpy_way(around, steps)[reach, reach])

    return Case(lambda given, c: system.shallow_water(given, steps), right, told, fresh)


def kmeans(system: System, sizes: Sizes, estimator: bool) -> Case:
    """W14: by arrays, or by an estimator."""
    n, k = sizes.points
    x = system.data(14, (n, k), (sizes.points_rows, k), scattered_chunk)
    turns = 10

    @cache
    def expected() -> Any:
        points = whole((n, k), 14)
        return System().clustered(points, points[:CLUSTERS].copy(), turns)

    def run(given: Any, c: float) -> Any:
        points, centres = given
        return (system.fitted if estimator else system.clustered)(points, centres, turns)

    def fresh(c: float) -> Any:
        return system.keep(x + c), whole((CLUSTERS, k), 14) + c

    return Case(run, lambda told, c: close(told, expected() + c, 1e-6), fresh=fresh)


def handed(system: System, sizes: Sizes, back: bool) -> Case:
    """W2's formula of arrays in the user's memory: its sum, or all of it handed back."""
    n, step = sizes.vector, sizes.vector_chunk
    x, y = (block(((0, n),), n, seed) for seed in (1, 2))

    def run(given: Any, c: float) -> Any:
        lazy = [system.handed(each, (step,)) for each in given]
        return (system.returned if back else system.summed)(*lazy, c)

    def told(made: Any) -> Any:
        return [float(made.sum()), float(made[n // 2])] if back else float(made)

    @cache
    def expected() -> tuple[float, float]:
        made = np.sqrt(x * x + y * y) * 2
        return float(made.sum()), float(made[n // 2])

    def right(found: Any, c: float) -> bool:
        total, middle = expected()
        return close(found, [total - c * n, middle - c] if back else total - c * n)

    return Case(run, right, told, lambda c: (x.copy(), y.copy()))


def cases(sizes: Sizes) -> dict[str, Callable[[System], Case]]:
    """Return what makes each workload's case, by name."""
    return {
        "W8 pad": partial(jacobi, sizes=sizes, how="pad"),
        "W8 map_overlap": partial(jacobi, sizes=sizes, how="overlap"),
        "W8 persisted": partial(jacobi, sizes=sizes, how="persisted"),
        "W9": partial(shallow_water, sizes=sizes),
        "W14 arrays": partial(kmeans, sizes=sizes, estimator=False),
        "W14 estimator": partial(kmeans, sizes=sizes, estimator=True),
        "host sum": partial(handed, sizes=sizes, back=False),
        "host to host": partial(handed, sizes=sizes, back=True),
    }
