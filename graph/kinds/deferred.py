"""Operations whose plan depends on values: sorting, and whatever must know numbers before it can say what it reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..expr.expr import Op

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Deferred(Op):
    """An operation that becomes others once some values are known.

    `recipe(*operands, *params)` is a generator on the driver: it yields the arrays whose values it must know, is sent
    these, and returns an array of the node's shape and dtype. `arrays.execution.deferred` runs recipes before anything
    is lowered; a stage never sees this kind. The recipe is named by `name` and `params` alone.
    """

    name: str
    recipe: Callable[..., Any] = field(metadata={"token": False})
    params: tuple[Any, ...] = ()

    @property
    def label(self) -> str:
        return self.name

    @property
    def deferred(self) -> bool:
        return True
