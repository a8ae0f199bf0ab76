"""What docstrings say of arguments and errors that many functions have in common, written once.

In a docstring the line `{axis}` stands for the entry `axis`, and `{axis, out}` for two entries.
`{Returns, Raises of tril}` stands for these sections of the docstring of `tril`, a function above, and
`{sections of tril}` for all but its examples. In an entry the line `{entry axis, out}` stands for others. A module with
such lines ends with `GLOSSARY.fill(__name__)`, for the glossary that has them.

The first `>>>` of a public docstring begins its examples: `head_examples` writes their heading above it, and
`>>> import windrow as wr` where they don't import it themselves. Examples that begin with words have their own heading.
"""

from __future__ import annotations

import inspect
import re
import sys
from operator import attrgetter
from textwrap import indent
from types import FunctionType

_LINE = re.compile(r"\n( *)\{([a-zA-Z]\w*(?:, [a-zA-Z]\w*)*)(?: of ([\w.]+))?\}(?=\n)")
_NESTED = re.compile(r"^\{entry (.*)\}$", re.MULTILINE)


class Glossary:
    """Entries by name. In the text each begins with its name in braces, on a line of its own; `base` has others."""

    def __init__(self, text: str, base: Glossary | None = None) -> None:
        _, *parts = re.split(r"^\{(\w+)\}\n", text, flags=re.MULTILINE)
        entries = zip(parts[::2], map(str.rstrip, parts[1::2]), strict=True)
        self.entries: dict[str, str] = {**(base.entries if base else {}), **dict(entries)}

    def entry(self, name: str) -> str:
        """Return an entry, with the others that it names in their places."""
        return _NESTED.sub(lambda line: "\n".join(map(self.entry, line[1].split(", "))), self.entries[name])

    def fill(self, module: str) -> None:
        """Put entries into the docstrings of a module's functions and methods; an unknown name is a KeyError."""
        space = sys.modules[module]

        def find(line: re.Match[str]) -> str:
            margin, names, function = line.groups()
            if function:
                return "\n" + indent(_sections(attrgetter(function)(space), names), margin)
            return "".join(f"\n{indent(self.entry(name), margin)}" for name in names.split(", "))

        for value in vars(space).values():
            if getattr(value, "__module__", None) == module:
                for each in vars(value).values() if isinstance(value, type) else [value]:
                    if isinstance(each, FunctionType) and each.__doc__:  # `python -OO` leaves none
                        each.__doc__ = _LINE.sub(find, each.__doc__)


def head_examples(text: str | None) -> str | None:
    """Return a docstring with the heading of its examples, and the import of Windrow where they have none."""
    if not text or ">>> " not in text or "Examples\n" in text:
        return text
    before, _, examples = text.partition(">>> ")
    margin = before.rpartition("\n")[2]
    own = "" if "import windrow" in examples else f">>> import windrow as wr\n{margin}"
    return f"{before}Examples\n{margin}--------\n{margin}{own}>>> {examples}"


def _sections(function: FunctionType, names: str) -> str:
    """Return sections of a docstring: of these titles, or all but the examples."""
    text = inspect.cleandoc(head_examples(function.__doc__) or "")
    sections = {each.partition("\n")[0]: each for each in re.split(r"\n\n(?=[A-Z][\w ]*\n---)", text)[1:]}
    titles = [title for title in sections if title != "Examples"] if names == "sections" else names.split(", ")
    return "\n\n".join(sections[title] for title in titles)
