"""Jets on a shallow sea become unstable: one solver, run in four ways.

The nonlinear shallow-water equations on a doubly periodic C-grid in Sadourny's energy-conserving form, stepped by the
second Adams-Bashforth method. The right-hand side is one function for NumPy's arrays and Windrow's lazy ones:

    python examples/shallow_water.py                     # all ways, compared with NumPy
    python examples/shallow_water.py --how loop --size 1800 3600 --steps 100
    mpirun -n 4 python -m windrow examples/shallow_water.py --how program

"lazy" persists the state after each step; "loop" hands the step to `wr.fori_loop`, which stays with the ranks;
"program" is an MPI program by `wr.spmd`, whose members exchange rims of one row, as one with mpi4py or mpi4jax would.

R. Sadourny, "The Dynamics of Finite-Difference Models of the Shallow-Water Equations", J. Atmos. Sci. 32, 1975.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

G, DEPTH, CORIOLIS, SPACING, SPEED = 9.81, 100.0, 2e-4, 5e3, 15.0
STEP = 0.125 * SPACING / (G * DEPTH) ** 0.5
NEW, OLD = 1.6, -0.6  # 1.5 and -0.5, and a little damping
State = tuple[Any, ...]


def tendencies(fields: Sequence[Any], roll: Callable[..., Any]) -> State:
    """Return the rates of change of height and velocities; each needs its neighbours on the grid alone."""

    def right(a: Any) -> Any:
        return roll(a, -1, axis=1)

    def left(a: Any) -> Any:
        return roll(a, 1, axis=1)

    def up(a: Any) -> Any:
        return roll(a, -1, axis=0)

    def down(a: Any) -> Any:
        return roll(a, 1, axis=0)

    h, u, v = fields
    hu = u * (h + right(h)) * 0.5
    hv = v * (h + up(h)) * 0.5
    corners = (h + right(h) + up(h) + up(right(h))) * 0.25
    q = (CORIOLIS + ((right(v) - v) - (up(u) - u)) * (1 / SPACING)) / corners
    energy = G * h + 0.25 * (u * u + left(u) * left(u) + v * v + down(v) * down(v))
    dh = ((hu - left(hu)) + (hv - down(hv))) * (-1 / SPACING)
    du = 0.25 * (q * (hv + right(hv)) + down(q) * (down(hv) + down(right(hv)))) - (right(energy) - energy) * (
        1 / SPACING
    )
    dv = -0.25 * (q * (hu + up(hu)) + left(q) * (left(hu) + left(up(hu)))) - (up(energy) - energy) * (1 / SPACING)
    return dh, du, dv


def advance(state: State, roll: Callable[..., Any]) -> State:
    """Return height, velocities and their rates one step later."""
    fields, before = state[:3], state[3:]
    now = tendencies(fields, roll)
    moved = [field + STEP * (NEW * new + OLD * old) for field, new, old in zip(fields, now, before, strict=True)]
    return (*moved, *now)


def begin(rows: int, columns: int) -> tuple[np.ndarray, ...]:
    """Return four jets in balance, and a small disturbance."""
    y = (np.arange(rows) + 0.5) / rows
    x = (np.arange(columns) + 0.5) / columns
    length = rows * SPACING
    rise = CORIOLIS * SPEED * length / (4 * np.pi * G)
    bump = 0.5 * np.exp(-((x - 0.5) ** 2 + (y[:, None] - 0.25) ** 2) / 0.002)
    h = DEPTH + rise * np.cos(4 * np.pi * y)[:, None] + bump
    u = np.broadcast_to(SPEED * np.sin(4 * np.pi * y)[:, None], h.shape)
    return h.astype("f4"), u.astype("f4"), np.zeros_like(h, "f4")


def numpy_way(fields: tuple[np.ndarray, ...], steps: int) -> np.ndarray:
    """NumPy in one process."""
    state: State = (*fields, *tendencies(fields, np.roll))
    for _ in range(steps):
        state = advance(state, np.roll)
    return np.asarray(state[0])


def spread(fields: tuple[np.ndarray, ...]) -> list[Any]:
    """Return the fields in chunks of rows."""
    rows = len(fields[0])
    return [wr.asarray(field).rechunk((-(-rows // 4), -1)) for field in fields]


def lazy_way(fields: tuple[np.ndarray, ...], steps: int) -> np.ndarray:
    """Lazy arrays, persisted after each step."""
    lazy = spread(fields)
    state = wr.persist(*lazy, *tendencies(lazy, wr.roll))
    for _ in range(steps):
        state = wr.persist(*advance(state, wr.roll))
    return state[0].compute()


def loop_way(fields: tuple[np.ndarray, ...], steps: int) -> np.ndarray:
    """The same step, as the body of a loop that stays with the ranks."""
    lazy = spread(fields)
    state = (*lazy, *tendencies(lazy, wr.roll))
    return wr.fori_loop(0, steps, lambda i, state: advance(state, wr.roll), state)[0].compute()


def program(comm: Any, given: Sequence[Any], out: Any, steps: int) -> None:
    """A member's part: its rows, and a rim of one row on each side, exchanged before each step."""
    above, below = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size

    def exchange(field: np.ndarray) -> None:
        comm.Sendrecv(field[1], above, recvbuf=field[-1], source=below)
        comm.Sendrecv(field[-2], below, recvbuf=field[0], source=above)

    def wide(field: np.ndarray) -> np.ndarray:
        return np.concatenate([field[:1], field, field[:1]])

    fields = [wide(local.joined()) for local in given]
    for field in fields:
        exchange(field)
    before = tendencies(fields, np.roll)
    for _ in range(steps):
        now = tendencies(fields, np.roll)
        for field, new, old in zip(fields, now, before, strict=True):
            field[...] = field + STEP * (NEW * new + OLD * old)
            exchange(field)
        before = now
    first = out.slices[0][0].start
    for chunk, (rows, _) in zip(out, out.slices, strict=True):
        chunk[...] = fields[0][1 + rows.start - first : 1 + rows.stop - first]


def program_way(fields: tuple[np.ndarray, ...], steps: int) -> np.ndarray:
    """A rank program."""
    lazy = spread(fields)
    return wr.spmd(lambda comm, *given: program(comm, given[:-1], given[-1], steps), *lazy, out=lazy[0]).compute()


WAYS = {"numpy": numpy_way, "lazy": lazy_way, "loop": loop_way, "program": program_way}


def draw(h: np.ndarray, path: str) -> None:
    """Save a picture of the height."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    shown = axes.imshow(h, origin="lower", cmap="RdBu_r", aspect="auto")
    figure.colorbar(shown, label="height (m)")
    axes.set(xlabel="column", ylabel="row", title="Height of a shallow sea with jets")
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run the ways, and compare them with NumPy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--how", choices=[*WAYS, "all"], default="all")
    parser.add_argument("--size", type=int, nargs=2, default=(180, 360), metavar=("ROWS", "COLUMNS"))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--picture", metavar="FILE")
    options = parser.parse_args()
    fields = begin(*options.size)
    ways = list(WAYS) if options.how == "all" else [options.how]
    found = {}
    for name in ways:
        start = time.perf_counter()
        found[name] = WAYS[name](fields, options.steps)
        seconds = (time.perf_counter() - start) / max(options.steps, 1)
        same = f", the same bits as NumPy: {np.array_equal(found[name], found['numpy'])}" if "numpy" in found else ""
        print(f"{name:<8} {1e3 * seconds:8.2f} ms a step, mean height {found[name].mean(dtype='f8'):.6f} m{same}")
    if options.picture:
        draw(found[ways[-1]], options.picture)


if __name__ == "__main__":
    main()
