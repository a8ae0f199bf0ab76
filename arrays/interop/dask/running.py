"""What ranks do with a node of a dask graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....workers.tasks.needs import fill_in_named
from .layout import GraphNode, TaskRef

if TYPE_CHECKING:
    from collections.abc import Callable


class NodeValues:
    """The values that a node takes: those at hand, and those of other tasks by number; a dict on the rank."""

    __slots__ = ("given", "names", "numbers")

    def __init__(self, given: dict[Any, Any], names: tuple[Any, ...], numbers: tuple[int, ...]) -> None:
        self.given, self.names, self.numbers = given, names, numbers

    def __reduce__(self) -> Any:
        return fill_in_named, (self.given, self.names, self.numbers)


def run_node(node: Any, values: dict[Any, Any]) -> Any:
    """Run a node with the values of what it takes, and maybe more."""
    return node(values)


def run_task(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], values: dict[Any, Any]
) -> Any:
    """Run a plain `Task`, of which only these parts were pickled."""
    filled = [_fill(each, values) for each in args]
    return function(*filled, **{name: _fill(each, values) for name, each in kwargs.items()})


class SharedFunction:
    """What many tasks have in common, sent to a rank once: a function, or what dask has fused."""

    def __init__(self, function: Callable[..., Any], first: tuple[Any, ...]) -> None:
        self.function, self.first = function, first

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], values: dict[Any, Any]) -> Any:
        return run_task(self.function, (*self.first, *args), kwargs, values)


def _fill(part: Any, values: dict[Any, Any]) -> Any:
    if isinstance(part, GraphNode):
        return part({key: values[key] for key in part.dependencies})
    return values[part.key] if isinstance(part, TaskRef) else part
