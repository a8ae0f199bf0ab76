"""Docstrings of estimators: parameters are described by the first sentences of scikit-learn's own docstrings."""

from __future__ import annotations

import inspect
import re
import textwrap

from ...workers.docstrings import head_examples

__all__ = ["describe"]

WIDTH, ENOUGH = 116, 160
OTHER_PAGES = re.compile(r":ref:|:term:|\[\d+\]_|see:$")
"""Matches sentences that refer to other pages of scikit-learn's documentation."""
RAISES = """\
Raises
------
TypeError
    There is no parameter of such a name. Values of parameters are checked in `fit`."""


def describe(cls: type) -> str:
    """Return a class's docstring, with scikit-learn's descriptions of the parameters that it leaves out."""
    lead, sections = _cut(inspect.cleandoc(str(head_examples(cls.__doc__))))
    base = next(c for c in cls.__mro__ if c.__module__.startswith("sklearn."))
    theirs = _entries(_cut(inspect.cleandoc(str(base.__doc__)))[1].get("Parameters", ""))
    ours = _entries(sections.pop("Parameters", ""))
    lines = ["Parameters", "----------"]
    for name in inspect.signature(cls).parameters:
        kind, text = theirs.get(name, ("", ""))
        kind, text = ours.get(name, (kind, _shortened(text)))
        lines += [f"{name} : {kind}", *textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")]
    rest = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items()]
    return "\n\n".join([lead, "\n".join(lines), RAISES, *rest])


def _cut(text: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first heading, and the text of each section."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.MULTILINE)
    return parts[0].strip(), {title: below.strip("\n") for title, below in zip(parts[1::2], parts[2::2], strict=True)}


def _entries(text: str) -> dict[str, tuple[str, str]]:
    """Return the type and the first paragraph of each parameter in a section."""
    entries = {}
    for entry in re.split(r"\n(?=\w)", text.strip("\n")):
        head, _, body = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        paragraph = re.split(r"\n\s*\n|\n\s*\.\. ", textwrap.dedent(body).strip())[0]
        entries[name.strip()] = " ".join(kind.split()), " ".join(paragraph.split())
    return entries


def _shortened(text: str) -> str:
    """Return the first sentences, about two lines of them, without Sphinx roles."""
    sentences = [s for s in re.split(r"(?<=[^.]\.) (?=[A-Z`])", text) if not OTHER_PAGES.search(s)] or [text]
    kept = sentences[:1]
    for sentence in sentences[1:]:
        if len(" ".join(kept)) + len(sentence) > ENOUGH:
            break
        kept.append(sentence)
    plain = re.sub(r":[\w:]+:`~?(?:[^`<]*<)?([^`>]*)>?`", r"`\1`", " ".join(kept))
    return re.sub(r"[,:]+$", ".", plain)
