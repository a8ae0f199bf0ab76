"""Documents of estimators: what their parameters are is told by scikit-learn's own, in one or two sentences each."""

from __future__ import annotations

import inspect
import re
import textwrap

__all__ = ["describe"]

WIDTH, ENOUGH = 116, 160
OTHER_PAGES = re.compile(r":ref:|:term:|\[\d+\]_|see:$")
"""In sentences that send readers to pages of scikit-learn's."""
RAISES = """\
Raises
------
TypeError
    There is no parameter of such a name. What they may be is looked at when rows come, in `fit`."""


def describe(cls: type) -> str:
    """Return a class's document with all its parameters: as it tells them itself, or else as scikit-learn does."""
    lead, sections = _cut(inspect.cleandoc(str(cls.__doc__)))
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
    """Return what stands before the first heading, and what stands below each."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.MULTILINE)
    return parts[0].strip(), {title: below.strip("\n") for title, below in zip(parts[1::2], parts[2::2], strict=True)}


def _entries(text: str) -> dict[str, tuple[str, str]]:
    """Return kind and text, its first paragraph, of each parameter of a section."""
    entries = {}
    for entry in re.split(r"\n(?=\w)", text.strip("\n")):
        head, _, body = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        paragraph = re.split(r"\n\s*\n|\n\s*\.\. ", textwrap.dedent(body).strip())[0]
        entries[name.strip()] = " ".join(kind.split()), " ".join(paragraph.split())
    return entries


def _shortened(text: str) -> str:
    """Return the first sentences, as many as make about two lines, without roles of Sphinx."""
    sentences = [s for s in re.split(r"(?<=[^.]\.) (?=[A-Z`])", text) if not OTHER_PAGES.search(s)] or [text]
    kept = sentences[:1]
    for sentence in sentences[1:]:
        if len(" ".join(kept)) + len(sentence) > ENOUGH:
            break
        kept.append(sentence)
    plain = re.sub(r":[\w:]+:`~?(?:[^`<]*<)?([^`>]*)>?`", r"`\1`", " ".join(kept))
    return re.sub(r"[,:]+$", ".", plain)
