"""The arithmetic of compiled kernels as LLVM instructions: what gives NumPy's bits, element by element.

No instruction bears a fast-math flag, so nothing is reassociated or contracted. A boolean is an `i1`
between its load and its store. Left out is what NumPy does faster itself (exp and such).
"""

from __future__ import annotations

from collections.abc import Callable

from .text import Text

Write = Callable[[Text, str, list[str]], str]
"""`write(text, type, values)` for values of the loop's type."""


def _plain(instruction: str) -> Write:
    return lambda text, t, v: text.set(f"{instruction} {t} {', '.join(v)}")


def _call(intrinsic: str) -> Write:
    return lambda text, t, v: text.set(f"call {t} @llvm.{intrinsic}.f{32 if t == 'float' else 64}({t} {v[0]})")


def _with(instruction: str, constant: str, first: bool = False) -> Write:
    return lambda text, t, v: text.set(
        f"{instruction} {t} " + (f"{constant}, {v[0]}" if first else f"{v[0]}, {constant}")
    )


def _same(text: Text, t: str, v: list[str]) -> str:
    return v[0]


def _twice(instruction: str) -> Write:
    return lambda text, t, v: text.set(f"{instruction} {t} {v[0]}, {v[0]}")


def _absolute(text: Text, t: str, v: list[str]) -> str:
    less = text.set(f"icmp slt {t} {v[0]}, 0")
    return text.set(f"select i1 {less}, {t} {text.set(f'sub {t} 0, {v[0]}')}, {t} {v[0]}")


def _better(test: str) -> Write:
    def write(text: Text, t: str, v: list[str]) -> str:
        return text.set(f"select i1 {text.set(f'{test} {t} {v[0]}, {v[1]}')}, {t} {v[0]}, {t} {v[1]}")

    return write


def _better_float(test: str) -> Write:
    """The first operand if it is NaN; of two zeros the second: what NumPy's loops do on this type of CPU."""

    def write(text: Text, t: str, v: list[str]) -> str:
        better = _better(test)(text, t, v)
        return text.set(f"select i1 {text.set(f'fcmp uno {t} {v[0]}, {v[0]}')}, {t} {v[0]}, {t} {better}")

    return write


def _size(test: str) -> Write:
    def write(text: Text, t: str, v: list[str]) -> str:
        return text.set(f"fcmp {test} {t} {_call('fabs')(text, t, v)}, 0x7FF0000000000000")

    return write


def _compare(real: str, signed: str, unsigned: str) -> dict[str, Write]:
    return {
        "f": _plain(f"fcmp {real}"), "i": _plain(f"icmp {signed}"),
        "u": _plain(f"icmp {unsigned}"), "b": _plain(f"icmp {unsigned}"),
    }  # fmt: skip


def _bitwise(instruction: str, constant: str = "") -> dict[str, Write]:
    return dict.fromkeys("biu", _with(instruction, constant) if constant else _plain(instruction))


def _integers(write: Write) -> dict[str, Write]:
    return dict.fromkeys("iu", write)


UFUNCS: dict[str, dict[str, Write]] = {
    "add": {"f": _plain("fadd"), "b": _plain("or"), **_integers(_plain("add"))},
    "subtract": {"f": _plain("fsub"), **_integers(_plain("sub"))},
    "multiply": {"f": _plain("fmul"), "b": _plain("and"), **_integers(_plain("mul"))},
    "divide": {"f": _plain("fdiv")},
    "reciprocal": {"f": _with("fdiv", "1.0", first=True)},
    "negative": {"f": _plain("fneg"), **_integers(_with("sub", "0", first=True))},
    "positive": dict.fromkeys("fiu", _same),
    "absolute": {"f": _call("fabs"), "i": _absolute, "u": _same, "b": _same},
    "sqrt": {"f": _call("sqrt")},
    "square": {"f": _twice("fmul"), **_integers(_twice("mul"))},
    "equal": _compare("oeq", "eq", "eq"),
    "not_equal": _compare("une", "ne", "ne"),
    "less": _compare("olt", "slt", "ult"),
    "less_equal": _compare("ole", "sle", "ule"),
    "greater": _compare("ogt", "sgt", "ugt"),
    "greater_equal": _compare("oge", "sge", "uge"),
    "minimum": {
        "f": _better_float("fcmp olt"), "i": _better("icmp slt"),
        "u": _better("icmp ult"), "b": _plain("and"),
    },
    "maximum": {
        "f": _better_float("fcmp ogt"), "i": _better("icmp sgt"),
        "u": _better("icmp ugt"), "b": _plain("or"),
    },
    "bitwise_and": _bitwise("and"),
    "bitwise_or": _bitwise("or"),
    "bitwise_xor": _bitwise("xor"),
    "invert": _bitwise("xor", "-1"),
    "logical_and": dict.fromkeys("bfiu", _plain("and")),
    "logical_or": dict.fromkeys("bfiu", _plain("or")),
    "logical_xor": dict.fromkeys("bfiu", _plain("xor")),
    "logical_not": dict.fromkeys("bfiu", _with("xor", "-1")),
    "isnan": {"f": lambda text, t, v: text.set(f"fcmp uno {t} {v[0]}, {v[0]}")},
    "isinf": {"f": _size("oeq")},
    "isfinite": {"f": _size("olt")},
}  # fmt: skip
"""For each ufunc, by the kind of its loop's dtype, how it is written."""
