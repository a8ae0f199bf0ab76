"""Bodies of loops drawn by chance: Python's text that is right for NumPy's arrays and for Windrow's alike.

All values are whole numbers, and no operation rounds; so NumPy's loop gives the same numbers, whatever the order.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import windrow as wr

MOST = 600
"""Elements of an array that a body makes."""
KINDS = "arith arith arith where row take slice slice flip turn reduce new join pad pad roll roll set squeeze near"
ARITHMETIC = ("{} + {}", "{} - {}", "({} * {}) % 17", "m.minimum({}, {})", "m.maximum({}, {})")
DTYPES = ("f8", "f4", "i8", "i4")


@dataclass(frozen=True)
class Program:
    """A loop: what it carries, what it takes from outside, its body's text, its steps, and how arrays are cut."""

    seed: int
    carried: tuple[np.ndarray, ...]
    outside: tuple[np.ndarray, ...]
    text: str
    steps: int
    chunks: tuple[Any, ...]

    def body(self, module: Any, outside: Any) -> Any:
        """Return the body as a function of the step's number and a tuple."""
        space = {"m": module, **{f"c{k}": c for k, c in enumerate(outside)}}
        exec(self.text, space)
        return space["body"]

    def by_numpy(self) -> tuple[np.ndarray, ...]:
        """Return what NumPy's loop ends with."""
        body, x = self.body(np, self.outside), self.carried
        for i in range(self.steps):
            x = body(np.int64(i), x)
        return x

    def lazily(self) -> tuple[Any, tuple[wr.Array, ...]]:
        """Return the body over lazy arrays, and what its first step begins with."""
        lazy = [wr.from_array(a, chunks=c) for a, c in zip((*self.outside, *self.carried), self.chunks, strict=True)]
        return self.body(wr, lazy[: len(self.outside)]), tuple(lazy[len(self.outside) :])

    def run(self, how: str) -> list[np.ndarray]:
        """Return what a loop of Windrow's ends with: "fori", "while", "scan", or "python"."""
        body, x = self.lazily()
        if how == "fori":
            x = wr.fori_loop(0, self.steps, body, x)
        elif how == "while":
            last = self.steps
            x, _ = wr.while_loop(lambda s: s[1] < last, lambda s: (body(s[1], s[0]), s[1] + 1), (x, 0))
        elif how == "scan":
            x, _ = wr.scan(lambda s, i: (body(i, s), None), x, wr.arange(self.steps))
        else:
            for i in range(self.steps):
                x = tuple(a.persist() for a in body(np.int64(i), x))
        return list(wr.compute(list(x)))

    def wrong(self, how: str) -> str:
        """Return what a loop gets wrong; nothing where it is right."""
        wanted = self.by_numpy()
        try:
            results = self.run(how)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        for k, (a, b) in enumerate(zip(results, wanted, strict=True)):
            if a.dtype != b.dtype or a.shape != b.shape or not np.array_equal(a, b):
                return f"x[{k}] is\n{a}\nexpected\n{b}"
        return ""

    def report(self, how: str) -> str:
        """Return the program with what is wrong with it, for people."""
        arrays = [
            f"{a.dtype}{a.shape} in {c}" for a, c in zip((*self.outside, *self.carried), self.chunks, strict=True)
        ]
        return f"seed {self.seed}, {how}, {self.steps} steps, {'; '.join(arrays)}\n{self.text}\n{self.wrong(how)}"


class Draw:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.seed, self.rng = seed, np.random.default_rng(seed)

    def program(self) -> Program:
        """Return the program."""
        rng = self.rng
        ndim = int(rng.choice([1, 2, 2, 2, 3]))
        self.shape = tuple(int(n) for n in rng.integers(1, 8 - ndim, ndim) + rng.integers(0, 4, ndim))
        alike = rng.random() < 0.7
        more = [self.shape if alike else self._other_shape() for _ in range(rng.choice([0, 0, 1, 2]))]
        if rng.random() < 0.25:
            more.append(())
        carried = [self._array(shape) for shape in (self.shape, *more)]
        outside = [self._array(self._other_shape()) for _ in range(rng.choice([0, 1, 2]))]
        self.values: dict[str, Any] = {f"c{k}": c for k, c in enumerate(outside)} | {"i": np.int64(0)}
        self.values |= {f"x[{k}]": c for k, c in enumerate(carried)}
        self.lines: list[str] = []
        space = {"m": np, "x": tuple(carried), **self.values}
        for _ in range(rng.integers(1, 8)):
            self._add(space)
        results = [self._result(f"x[{k}]", x) for k, x in enumerate(carried)]
        text = "\n    ".join(["def body(i, x):", *self.lines, f"return ({', '.join(results)},)"])
        chunks = tuple(self._chunks(a.shape) for a in (*outside, *carried))
        return Program(self.seed, tuple(carried), tuple(outside), text, int(rng.integers(1, 8)), chunks)

    def _array(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.rng.integers(-9, 10, shape).astype(self.rng.choice(DTYPES))

    def _other_shape(self) -> tuple[int, ...]:
        """Return the shape of something that mostly fits: some axes of length one, or left out."""
        rng = self.rng
        shape = [n if rng.random() < 0.7 else 1 for n in self.shape][int(rng.random() < 0.3) :]
        if rng.random() < 0.15:
            shape = [int(n) for n in rng.integers(1, 6, rng.integers(0, 3))]
        return tuple(shape)

    def _chunks(self, shape: tuple[int, ...]) -> tuple[Any, ...]:
        """Return uneven chunks."""
        chunks = []
        for n in shape:
            cuts = np.unique(self.rng.integers(1, n + 1, self.rng.integers(0, 4)))
            chunks.append(tuple(int(k) for k in np.diff([0, *cuts[cuts < n], n])))
        return tuple(chunks)

    def _add(self, space: dict[str, Any]) -> None:
        """Add a line whose value NumPy can make."""
        for _ in range(40):
            name = f"v{len(self.lines)}"
            line = self._line(name)
            if line is None:
                continue
            local = dict(space)
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    exec(line.replace("; ", "\n"), local)
            except (ValueError, IndexError, TypeError):
                continue
            value = np.asarray(local[name])
            if not 0 < value.size <= MOST or value.ndim > 4 or value.dtype.kind not in "fib":
                continue
            space[name] = self.values[name] = local[name]
            self.lines += line.split("; ")
            return

    def _pick(self, least: int = 0) -> str:
        """Return the name of a value, rather of a late one."""
        names = [n for n, v in self.values.items() if np.ndim(v) >= least]
        weights = np.arange(1.0, len(names) + 1)
        return str(self.rng.choice(names, p=weights / weights.sum())) if names else "x[0]"

    def _line(self, name: str) -> str | None:
        rng = self.rng
        u = self._pick(1)
        value = self.values[u]
        if not np.ndim(value):
            return None
        axis = int(rng.integers(0, value.ndim))
        n, k = value.shape[axis], int(rng.integers(-3, 4))
        at = int(rng.integers(-n, n))
        w = self._pick()
        full = ", ".join([":"] * axis + ["{}"])
        match rng.choice(KINDS.split()):
            case "arith":
                other = w if rng.random() < 0.85 else str(k)
                return f"{name} = {rng.choice(ARITHMETIC).format(*rng.permutation([u, other]))}"
            case "where":
                return f"{name} = m.where({u} {rng.choice(['>', '<=', '=='])} {k}, {w}, {self._pick()})"
            case "row":
                index = [":"] * value.ndim
                index[axis] = str(at)
                if value.ndim > 1 and rng.random() < 0.3:
                    index[(axis + 1) % value.ndim] = self._slice(value.shape[(axis + 1) % value.ndim])
                return f"{name} = {u}[{', '.join(index)}]"
            case "take":
                if rng.random() < 0.5:
                    index: Any = at
                else:
                    index = [int(j) for j in rng.integers(-n, n, rng.integers(1, n + 2))]
                    if rng.random() < 0.5:
                        index = sorted(j % n for j in index)
                call = rng.choice(["m.take({}, {}, axis={})", "{}.take({}, axis={})"])
                return f"{name} = {call.format(u, index, axis)}"
            case "slice":
                return f"{name} = {u}[{full.format(self._slice(n))}]"
            case "flip":
                return f"{name} = " + rng.choice([f"m.flip({u}, {axis})", f"{u}[{full.format('::-1')}]"])
            case "turn":
                order = [int(a) for a in rng.permutation(value.ndim)]
                return f"{name} = " + rng.choice([f"{u}.T", f"m.transpose({u}, {order})"])
            case "reduce":
                keep = rng.choice([", keepdims=True", ""])
                over = rng.choice([str(axis), "None"])
                return f"{name} = m.{rng.choice(['sum', 'min', 'max'])}({u}, axis={over}{keep}) % 17"
            case "new":
                where = int(rng.integers(0, value.ndim + 1))
                parts = [":"] * where + ["None"]
                return f"{name} = " + rng.choice([f"{u}[{', '.join(parts)}]", f"m.expand_dims({u}, {where})"])
            case "join":
                return self._join(name, u, w, axis, n)
            case "pad":
                widths = [(0, 0)] * value.ndim
                widths[axis] = int(rng.integers(0, 3)), int(rng.integers(0, 3))
                if rng.random() < 0.3:
                    widths = [(int(a), int(b)) for a, b in rng.integers(0, 3, (value.ndim, 2))]
                mode = rng.choice(["constant", "edge", "wrap", "reflect", "symmetric"], p=[0.4, 0.2, 0.2, 0.1, 0.1])
                more = f", constant_values={k}" if mode == "constant" and rng.random() < 0.5 else ""
                inner = u if rng.random() < 0.6 else f"{u}[{full.format(self._slice(n))}]"
                return f'{name} = m.pad({inner}, {widths}, mode="{mode}"{more})'
            case "roll":
                inner = u if rng.random() < 0.7 else f"{u}[{full.format(self._slice(n))}]"
                return f"{name} = m.roll({inner}, {k}, {axis})"
            case "set":
                index = full.format(rng.choice([str(at), self._slice(n), "::2"]))
                source = rng.choice([str(k), w, f"{w}[{full.format(at)}]", f"{u}[{index}] + 1"])
                return f"{name} = {u} + 0; {name}[{index}] = {source}"
            case "squeeze":
                if rng.random() < 0.5:
                    return f"{name} = m.squeeze({u}, {axis})" if n == 1 else None
                return f"{name} = m.squeeze({u}[{full.format(f'{at % n}:{at % n + 1}')}], {axis})"
            case _:  # what has a value's neighbours, in its shape
                a, b = (int(c) for c in rng.integers(0, 3, 2))
                mode = rng.choice(["constant", "edge", "wrap"])
                widths = [(0, 0)] * value.ndim
                widths[axis] = a, b
                first = int(rng.integers(0, a + b + 1))
                cut = full.format(f"{first}:{first + n}")
                return f'{name} = {u} - m.pad({u}, {widths}, mode="{mode}")[{cut}]'

    def _slice(self, n: int) -> str:
        rng = self.rng
        lo, hi = sorted(int(k) for k in rng.integers(-1, n + 2, 2))
        kind = rng.random()
        if kind < 0.2:
            return f"{lo}:{hi}:{rng.choice([2, 3])}"
        if kind < 0.5:
            return f"{max(lo, 0)}:"
        return rng.choice([f"{max(lo, 0)}:{hi}", f":{-max(1, hi - lo) if hi - lo < n else hi}"])

    def _join(self, name: str, u: str, w: str, axis: int, n: int) -> str:
        rng = self.rng
        full = ", ".join([":"] * axis + ["{}"])
        own = [f"{u}[{full.format(self._slice(n))}]" for _ in range(rng.integers(1, 4))]
        if rng.random() < 0.3:  # an end to the beginning
            cut = int(rng.integers(0, n + 1))
            own = [f"{u}[{full.format(f'{cut}:')}]", f"{u}[{full.format(f':{cut}')}]"]
        if rng.random() < 0.3:
            own.insert(int(rng.integers(0, len(own) + 1)), w)
        if rng.random() < 0.1:
            return f"{name} = m.stack([{u}, {w}], axis={axis})"
        return f"{name} = m.concatenate([{', '.join(own)}], axis={axis})"

    def _result(self, own: str, like: np.ndarray) -> str:
        """Return the text of what a carried array becomes."""
        rng = self.rng
        names = [n for n in self.values if n.startswith("v")][::-1]
        same = [n for n in names if np.shape(self.values[n]) == like.shape]
        fits = [n for n in names if _fits(np.shape(self.values[n]), like.shape)]
        if same and rng.random() < 0.7:
            text = same[0]
        elif fits and rng.random() < 0.9:
            sums = [f"({own} + {fits[0]})", f"({own} - {fits[-1]})"]
            text = rng.choice([*sums, f"m.broadcast_to({fits[0]}, {like.shape})"])
        elif rng.random() < 0.2:
            return own
        else:
            text = f"({own} + i)"
        return f'({text} % 17).astype("{like.dtype.str[1:]}")'


def _fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


def draw(seed: int) -> Program:
    """Return the program of a seed."""
    return Draw(seed).program()
