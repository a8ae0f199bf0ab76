"""Compiled loops for random numbers: Philox's blocks of four draws, and what Box and Muller's method makes of them.

They give the bits of `randoms.philox` and `randoms.normal`: integer arithmetic, and the same additions, products and
roots. The logarithm between is NumPy's own, so a piece of normal numbers is drawn, handed to `np.log`, and finished.
Products of 64 bits are written in halves of 32, which vector instructions multiply: two thirds as fast again.

Of short runs, as blocks that are thin along the last axis have them, the first blocks of all runs are drawn side by
side, then the second ones; another loop picks the draws that the runs have. So a run of one costs one block of four; of
that nothing else is stored.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...buffers import Buffers
from ..llvm.instructions import UFUNCS
from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import Body, DType, Text, cast, register

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]
Make: TypeAlias = "Callable[[Array, int, Array], None]"
"""`make(starts, width, out)` draws so many whole blocks for each run."""
Name = tuple[int, int, int, int, int]

LEAST = 1 << 10
"""Fewer draws are made by NumPy as quickly."""

PIECE = 1 << 17
"""So many draws are made at once: a tile's. In smaller pieces threads wait for each other between the loops."""

SHORT = 16
"""Runs of fewer draws are made by array arithmetic where there is no kernel, which takes much longer."""

NARROW = 64
"""Runs of fewer blocks are drawn side by side."""

WORK = 8
"""A draw's work, as NumPy's generator has it; what follows for a normal number is as much."""

SINGLE, BEGIN = 28, 736
"""By how many times a draw at a single position takes longer than one of many that follow each other, and by how many
such draws the generator takes longer for each run that it begins."""

WORTH = WORK * SINGLE << 16
"""The work of short runs, such as 65,536 single positions', after which their kernels are waited for."""

FACTORS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_LOW, _ALL = (1 << 32) - 1, (1 << 64) - 1
_DOUBLE = np.dtype(np.float64)
WIDE = '"prefer-vector-width"="512"'
"""LLVM itself takes half of the widest vectors, which has these loops take two thirds longer."""
_pieces = Buffers(1 << 20)


def draw_runs(name: Name, starts: Array, length: int, out: Array) -> bool:
    """Fill `out` with runs of a stream's draws, one after the other; tell whether there was a kernel.

    The name has two words of key, and words 1, 2 and 3 of the counter; `starts` are the numbers of the runs' first
    draws. `out` is contiguous along one axis: of unsigned integers of 64 bits, or of floats, which are in [0, 1) then.
    """
    if len(out) < LEAST:
        return False
    stream = np.array(name, np.uint64)
    width, work = _width(starts, length), _work(length, out)
    if length == 1:
        single = _ready(single_text(out.dtype), work, length)
        if single is not None:
            single(_address(starts), _address(stream), _address(out), len(starts), 1, 0, 0)
        return single is not None
    philox, pick = (
        _ready(philox_text(out.dtype, False, width < NARROW), work, length),
        _ready_pick(out.dtype, width, length, work),
    )
    if philox is None or pick is None:
        return False

    def make(first: Array, width: int, target: Array) -> None:
        philox(_address(first), _address(stream), _address(target), len(first), width, 0, 0)

    _fill(starts, length, width, out, make, pick)
    return True


def draw_normal_runs(name: Name, starts: Array, length: int, out: Array, series: tuple[float, ...]) -> bool:
    """Fill `out` with runs of normal numbers, as `draw_runs` does with those in [0, 1).

    `series` are the coefficients of `normal.polar`.
    """
    if len(out) < LEAST:
        return False
    width, work = _width(starts, length), 2 * _work(length, out)
    philox, polar = (
        _ready(philox_text(_DOUBLE, True, width < NARROW), work, length),
        _ready(polar_text(out.dtype, series), work, length),
    )
    pick = _ready_pick(out.dtype, width, length, work)
    if philox is None or polar is None or pick is None:
        return False
    stream = np.array(name, np.uint64)

    def make(first: Array, width: int, target: Array) -> None:
        count = len(first) * width
        parts = _pieces.lend("parts", (4 * count,), _DOUBLE)
        philox(_address(first), _address(stream), _address(parts), len(first), width, 0, 0)
        rest = parts[: 2 * count]
        np.log(rest, out=rest)
        polar(_address(parts), _address(parts), _address(target), count, 0, 0, 0)

    _fill(starts, length, width, out, make, pick)
    return True


def _width(starts: Array, length: int) -> int:
    """Return how many blocks each run is drawn from, at most."""
    return -(-(int((starts & np.uint64(3)).max()) + length) // 4)


def _work(length: int, out: Array) -> int:
    """Return what drawing runs would take without kernels: the more, the shorter they are."""
    return WORK * (len(out) + len(out) // length * (BEGIN if length >= SHORT else SINGLE * length))


def _fill(starts: Array, length: int, width: int, out: Array, make: Make, pick: Any) -> None:
    """Fill `out` with runs: of short ones several at once."""
    if 8 * length > PIECE:
        for number, start in enumerate(starts.tolist()):
            _fill_long(start, out[number * length : (number + 1) * length], make)
        return
    step = PIECE // (4 * width)
    for begin in range(0, len(starts), step):
        first = starts[begin : begin + step]
        whole = _pieces.lend("whole", (4 * width * len(first),), out.dtype)
        make(first, width, whole)
        rows = out[begin * length : (begin + len(first)) * length]
        pick(_address(first), _address(whole), _address(rows), len(first), length, width, 0)


def _fill_long(first: int, out: Array, make: Make) -> None:
    """Fill `out`, whose draws begin at `first`, piece by piece of whole blocks; those at its ends are cut."""
    size = len(out)
    stop = -(-(first + size) // 4)
    for block in range(first // 4, stop, PIECE // 4):
        count = min(PIECE // 4, stop - block)
        begin = 4 * block - first
        end = begin + 4 * count
        at = np.array([4 * block], np.uint64)
        if begin >= 0 and end <= size:
            make(at, count, out[begin:end])
        else:
            whole = _pieces.lend("whole", (4 * count,), out.dtype)
            make(at, count, whole)
            lo, hi = max(begin, 0), min(end, size)
            out[lo:hi] = whole[lo - begin : hi - begin]


def _ready_pick(dtype: DType, width: int, length: int, work: int) -> Any:
    """Return the loop that takes runs out of the blocks they were drawn from."""
    return _ready(pick_text(dtype, width, length), work, length)


def _ready(text: str, work: int, length: int) -> Any:
    """Return a kernel if it is there; of short runs it is waited for, as that takes no longer than a few tiles."""
    return ready(text, 1, work, waits=WORTH if length < BEGIN else None)


def pick_text(dtype: DType, width: int, length: int) -> str:
    """Return the loop that takes runs out of so many blocks that were drawn for each."""
    return _pick(np.dtype(f"u{dtype.itemsize}"), width < NARROW, length if length <= 4 else 0)


def _address(x: Array) -> int:
    address: int = x.__array_interface__["data"][0]
    return address


@lru_cache(maxsize=16)
def philox_text(dtype: DType, apart: bool, across: bool) -> str:
    """Write the loops over runs, for each of which `width` blocks are drawn, from the one that has its first draw on.

    They store draws as they follow each other, a run after the other, or with `across` the first blocks of all runs
    and then the second ones; or `apart`, each word of all blocks on its own: what is left to one of words 0 and 2, then
    words 1 and 3.
    """
    body = Body()
    entry, text = body.entry, body.text
    key_and_counter = [entry.load(np.dtype(np.uint64), "%name", str(i)) for i in range(5)]
    total = entry.set("mul i64 %runs, %width")
    rows = [entry.set(f"mul i64 {total}, {row}") for row in (0, 2, 1, 3)]

    def draw(counter: str, block: str) -> None:
        for number, word in enumerate(rounds(body, counter, key_and_counter)):
            value = word if dtype.kind == "u" else unit(text, word, dtype)
            if not apart:
                place = text.set(f"add i64 {text.set(f'shl i64 {block}, 2')}, {number}")
            else:
                value = text.set(f"fsub double 1.0, {value}") if number % 2 == 0 else value
                place = text.set(f"add i64 {block}, {rows[number]}")
            text.store(dtype, value, "%out", place)

    def first(run: str) -> str:
        start = text.load(np.dtype(np.uint64), "%starts", run)
        return text.set(f"add i64 {text.set(f'lshr i64 {start}, 2')}, 1")

    # One vector alone waits for its products.
    if across:
        with body.loop("0", "%width", "1") as i:
            base = text.set(f"mul i64 {i}, %runs")
            with body.loop("0", "%runs", "1", together=2) as run:
                draw(text.set(f"add i64 {first(run)}, {i}"), text.set(f"add nsw nuw i64 {base}, {run}"))
    else:
        with body.loop("0", "%runs", "1") as run:
            begin, base = first(run), text.set(f"mul i64 {run}, %width")
            with body.loop("0", "%width", "1", together=2) as i:
                draw(text.set(f"add i64 {begin}, {i}"), text.set(f"add nsw nuw i64 {base}, {i}"))
    return body.whole(
        f"define void @{ENTRY}(ptr noalias readonly %starts, ptr noalias readonly %name, ptr noalias %out, "
        f"i64 %runs, i64 %width, i64 %c, i64 %d) {WIDE} {{"
    )


@lru_cache(maxsize=4)
def single_text(dtype: DType) -> str:
    """Write the loop over runs of one draw: of each block the draw that is wanted is stored, and nothing else."""
    body, word = Body(), np.dtype(np.uint64)
    key_and_counter = [body.entry.load(word, "%name", str(i)) for i in range(5)]
    with body.loop("0", "%runs", "1", together=2) as run:
        text = body.text
        start = text.load(word, "%starts", run)
        counter = text.set(f"add i64 {text.set(f'lshr i64 {start}, 2')}, 1")
        words = rounds(body, counter, key_and_counter)
        odd, high = (text.set(f"icmp ne i64 {text.set(f'and i64 {start}, {bit}')}, 0") for bit in (1, 2))
        halves = [text.set(f"select i1 {odd}, i64 {words[i + 1]}, i64 {words[i]}") for i in (0, 2)]
        wanted = text.set(f"select i1 {high}, i64 {halves[1]}, i64 {halves[0]}")
        text.store(dtype, wanted if dtype.kind == "u" else unit(text, wanted, dtype), "%out", run)
    return body.whole(
        f"define void @{ENTRY}(ptr noalias readonly %starts, ptr noalias readonly %name, ptr noalias %out, "
        f"i64 %runs, i64 %width, i64 %c, i64 %d) {WIDE} {{"
    )


@lru_cache(maxsize=1)
def spread_text() -> str:
    """Write the loop that tells where runs begin which are equally far apart: from the first one, and how far."""
    body, word = Body(), np.dtype(np.uint64)
    first, apart = (body.entry.load(word, "%table", number) for number in "01")
    with body.loop("0", "%runs", "1") as run:
        text = body.text
        text.store(word, text.set(f"add i64 {first}, {text.set(f'mul i64 {run}, {apart}')}"), "%out", run)
    return body.whole(
        f"define void @{ENTRY}(ptr noalias readonly %table, ptr %scalars, ptr noalias %out, "
        "i64 %runs, i64 %b, i64 %c, i64 %d) {"
    )


@lru_cache(maxsize=16)
def _pick(dtype: DType, across: bool, length: int) -> str:
    """Write the loops that take runs out of blocks of draws, which lie as `philox_text` stores them.

    Those of a `length` that is known, not zero, are taken draw by draw of all runs.
    """
    body = Body()
    text = body.text

    def cut(run: str) -> str:
        return text.set(f"and i64 {text.load(np.dtype(np.uint64), '%starts', run)}, 3")

    def copy(run: str, base: str, draw: str, count: str) -> None:
        if across:
            block, word = text.set(f"lshr i64 {draw}, 2"), text.set(f"and i64 {draw}, 3")
            block = text.set(f"add i64 {text.set(f'mul i64 {block}, %runs')}, {run}")
            draw = text.set(f"add i64 {text.set(f'shl i64 {block}, 2')}, {word}")
        else:
            draw = text.set(f"add i64 {base}, {draw}")
        at = text.set(f"add nsw nuw i64 {text.set(f'mul i64 {run}, %length')}, {count}")
        text.store(dtype, text.load(dtype, "%whole", draw), "%out", at)

    if length:
        with body.loop("0", "%runs", "1") as run:
            base = text.set(f"mul i64 {run}, {text.set('shl i64 %width, 2')}")
            begin = cut(run)
            for count in range(length):
                copy(run, base, text.set(f"add i64 {begin}, {count}"), str(count))
    else:
        with body.loop("0", "%runs", "1") as run:
            base = text.set(f"mul i64 {run}, {text.set('shl i64 %width, 2')}")
            begin = cut(run)
            with body.loop("0", "%length", "1") as i:
                copy(run, base, text.set(f"add i64 {begin}, {i}"), i)
    return body.whole(
        f"define void @{ENTRY}(ptr noalias readonly %starts, ptr noalias readonly %whole, ptr noalias %out, "
        "i64 %runs, i64 %length, i64 %width, i64 %d) {"
    )


@lru_cache(maxsize=16)
def integers_text(dtype: DType, whole: bool) -> str:
    """Write the loop that makes integers from `low` on: of draws the high half of their product with a span, or all."""
    body, word = Body(), np.dtype(np.uint64)
    with body.loop("0", "%count", "1") as i:
        text = body.text
        value = text.load(word, "%raw", i)
        if not whole:
            wide, span = (text.set(f"zext i64 {each} to i128") for each in (value, "%span"))
            value = text.set(f"lshr i128 {text.set(f'mul i128 {wide}, {span}')}, 64")
            value = text.set(f"trunc i128 {value} to i64")
        text.store(dtype, cast(text, text.set(f"add i64 {value}, %low"), word, dtype), "%out", i)
    return body.whole(
        f"define void @{ENTRY}(ptr noalias readonly %raw, ptr %none, ptr noalias %out, "
        "i64 %rows, i64 %count, i64 %span, i64 %low) {"
    )


def rounds(body: Body, counter: str, key_and_counter: list[str]) -> list[str]:
    """Write Philox's ten rounds; return the registers of a block's four words."""
    text, entry = body.text, body.entry
    words = [counter, *key_and_counter[2:]]
    for turn in range(10):
        keys = [
            entry.set(f"add i64 {key_and_counter[j]}, {signed(step * turn & _ALL)}") for j, step in enumerate(STEPS)
        ]
        (high0, low0), (high1, low1) = (_product(text, words[2 * j], factor) for j, factor in enumerate(FACTORS))
        mixed = [
            text.set(f"xor i64 {text.set(f'xor i64 {high}, {word}')}, {key}")
            for high, word, key in ((high1, words[1], keys[0]), (high0, words[3], keys[1]))
        ]
        words = [mixed[0], low1, mixed[1], low0]
    return words


def _product(text: Text, a: str, factor: int) -> tuple[str, str]:
    """Write the high and the low half of a product, as `philox.product` finds them."""
    low, high = text.set(f"and i64 {a}, {_LOW}"), text.set(f"lshr i64 {a}, 32")
    ll, hl, lh, hh = (
        text.set(f"mul nuw i64 {half}, {part}") for part in (factor & _LOW, factor >> 32) for half in (low, high)
    )
    middle = text.set(f"add nuw i64 {hl}, {text.set(f'lshr i64 {ll}, 32')}")
    carry = text.set(f"add nuw i64 {lh}, {text.set(f'and i64 {middle}, {_LOW}')}")
    above = text.set(f"add nuw i64 {hh}, {text.set(f'lshr i64 {middle}, 32')}")
    above = text.set(f"add nuw i64 {above}, {text.set(f'lshr i64 {carry}, 32')}")
    below = text.set(f"or i64 {text.set(f'shl i64 {carry}, 32')}, {text.set(f'and i64 {ll}, {_LOW}')}")
    return above, below


def unit(text: Text, word: str, dtype: DType) -> str:
    """Write the number in [0, 1) of 64 random bits: of 53 of them, or of 24."""
    kept = 53 if dtype == _DOUBLE else 24
    whole = text.set(f"sitofp i64 {text.set(f'lshr i64 {word}, {64 - kept}')} to {register(dtype)}")
    return text.set(f"fmul {register(dtype)} {whole}, {exact(2.0**-kept)}")


@lru_cache(maxsize=8)
def polar_text(dtype: DType, series: tuple[float, ...]) -> str:
    """Write the loop that makes four normal numbers of each block: what `normal.polar` does after the logarithm."""
    body = Body()
    with body.loop("0", "%count", "1") as i:
        text, normals = body.text, list[str]()
        for row in range(2):
            logarithm, v = (
                text.load(_DOUBLE, "%parts", text.set(f"add i64 {i}, {text.set(f'mul i64 %count, {row + more}')}"))
                for more in (0, 2)
            )
            normals += _pair(text, logarithm, v, series)
        first = text.set(f"shl i64 {i}, 2")
        for number, value in enumerate(normals):
            place = text.set(f"add i64 {first}, {number}")
            text.store(dtype, cast(text, value, _DOUBLE, dtype), "%out", place)
    return body.whole(
        f"define void @{ENTRY}(ptr noalias readonly %parts, ptr %scalars, ptr noalias %out, "
        "i64 %count, i64 %b, i64 %c, i64 %d) {"
    )


def _pair(text: Text, logarithm: str, v: str, series: tuple[float, ...]) -> tuple[str, str]:
    def do(name: str, *values: str) -> str:
        return UFUNCS[name]["f"](text, "double", list(values))

    r = do("sqrt", do("multiply", logarithm, exact(-2.0)))
    a = do("subtract", v, exact(0.5))
    t = do("multiply", a, a)
    x = do("multiply", t, exact(series[-1]))
    for coefficient in series[-2:0:-1]:
        x = do("multiply", do("add", x, exact(coefficient)), t)
    x = do("multiply", do("add", x, exact(series[0])), a)
    y = do("multiply", x, x)
    k = do("subtract", exact(8.0**0.5), y)
    sine = do("multiply", do("multiply", x, do("sqrt", k)), do("subtract", exact(2.0**0.5), y))
    cosine = do("subtract", "1.0", do("multiply", k, y))
    return do("multiply", cosine, r), do("multiply", sine, r)


def exact(x: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def signed(x: int) -> int:
    """Return 64 bits as a signed integer."""
    return x - (1 << 64) if x >> 63 else x
