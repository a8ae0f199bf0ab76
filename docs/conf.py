"""The site: `make site` builds it into build/site."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxRole

import windrow as wr

if TYPE_CHECKING:
    from types import FunctionType

    from docutils.nodes import Element, Node, TextElement, system_message
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "Windrow"
author = copyright = "The Windrow developers"
release = version = wr.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
]
templates_path = ["_templates"]
exclude_patterns = ["_*"]
nitpicky = True
default_role = "name"

autodoc_typehints = "none"
autodoc_docstring_signature = False  # numpydoc reads the signature that a ufunc's docstring begins with
numpydoc_show_class_members = False
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = "Windrow"
html_static_path = ["_static"]
html_show_sourcelink = False
html_sidebars = {"api/generated/*": [], "index": []}  # the whole list of functions on each page takes minutes to write
html_theme_options = {"navigation_with_keys": False, "secondary_sidebar_items": ["page-toc"], "show_prev_next": False}

NUMPY = "https://numpy.org/doc/stable/reference/generated/{}.html"
PARAMETERS = {"copy", "indices", "max", "min", "ndim", "random", "repeat", "shape", "size", "sort", "where"}
"""Public names that docstrings mostly mean as names of parameters."""


class Name(SphinxRole):
    """Text in single backticks: a link where it names something public, else code."""

    def run(self) -> tuple[list[Node], list[system_message]]:
        """Return the nodes that stand for the text."""
        code = nodes.literal(self.text, self.text)
        path = self.text.removesuffix("()").removeprefix("windrow.").removeprefix("wr.").split(".")
        space = wr if len(path) == 1 else getattr(wr, path[0], None) if len(path) == 2 else None
        meant = self.text not in PARAMETERS and path[-1] in getattr(space, "__all__", dir(space))
        if not meant or not is_own(getattr(space, path[-1], None)):
            return [code], []
        return [
            addnodes.pending_xref("", code, refdomain="py", reftype="obj", reftarget=".".join(["windrow", *path]))
        ], []


def is_own(value: Any) -> bool:
    """Tell whether a value is documented here, and not by NumPy."""
    return callable(value) and str(getattr(value, "__module__", "")).startswith("windrow")


def stand_in(value: Any) -> FunctionType:
    """Return a function with a ufunc's name, signature and text, since autodoc takes other objects for data."""

    def function() -> None: ...

    function.__doc__, function.__name__, function.__module__ = value.__doc__, value.__name__, value.__module__
    function.__signature__ = inspect.signature(value)  # type: ignore[attr-defined]
    return function


def link_numpy(app: Sphinx, env: BuildEnvironment, node: Element, content: TextElement) -> Element | None:
    """Lead references to NumPy to its own pages, without a look at the network."""
    target = node["reftarget"]
    if not target.startswith("numpy."):
        return None
    return nodes.reference("", "", content, internal=False, refuri=NUMPY.format(target))


def skip_inherited(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class has from another library: its own documents say more."""
    value = value.fget if isinstance(value, property) else value
    owner = getattr(inspect.unwrap(value) if callable(value) else value, "__module__", None)
    return True if isinstance(owner, str) and not owner.startswith("windrow") else None


def setup(app: Sphinx) -> None:
    """Connect the above."""
    ufunc = type(wr.add)
    for name in dir(wr):
        if isinstance(value := getattr(wr, name), ufunc):
            setattr(wr, name, stand_in(value))
    app.add_role("name", Name())
    app.connect("missing-reference", link_numpy)
    app.connect("autodoc-skip-member", skip_inherited)
