"""Functions of whole blocks: the user's own (map_blocks), and built-in ones that need a block as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..expr.expr import Op


class Payload:
    """A user's function with its arguments, pickled when the operation was made, so that it fails there.

    `name` is empty for a function of Windrow's own. `used` is kept as long as the function is: shared objects that are
    pickled by name, versions of shared arrays. It doesn't travel, nor does `memory`: how many times the bytes of its
    arguments and its result a call takes, where the user has said so.
    """

    memory: float | None = None

    def __init__(self, name: str, pickled: bytes, digest: str, used: tuple[object, ...] = ()) -> None:
        self.name, self.pickled, self.digest, self.used = name, pickled, digest, used

    def __reduce__(self) -> tuple[object, ...]:
        return Payload, (self.name, self.pickled, self.digest)

    def token_key(self) -> tuple[object, ...]:
        return (self.name, self.digest)


@dataclass(frozen=True)
class MapBlocks(Op):
    """`function(*blocks)` for each block index.

    `axes` gives, for each operand, the result's axis that each of its axes runs along (None: one block serves all).
    `wants` are the keywords block_id and block_info that the function takes, and out, which has Windrow's own fill the
    block and keep nothing of its arguments. `adds` names what the blocks add to shared
    arrays; empty where it uses none.
    """

    payload: Payload
    axes: tuple[tuple[int | None, ...], ...]
    wants: tuple[str, ...] = ()
    adds: str = ""

    @property
    def label(self) -> str:
        return self.payload.name or "function"

    @property
    def taken(self) -> str:
        return self.payload.name

    @property
    def foreign(self) -> bool:
        return True


@dataclass(frozen=True)
class BlockFunction(Op):
    """A built-in function of blocks: `folder.module:name` in `workers.kernels.blocks`, called with blocks and `params`.

    `axes` is as in `MapBlocks`; None: each operand's axes are the result's, in order. With `where` the function gets
    the keyword `where`: the block's slices in the result. The function returns a block of the result's grid.
    """

    function: str
    params: tuple[Any, ...] = field(default=())
    axes: tuple[tuple[int | None, ...], ...] | None = None
    where: bool = False

    @property
    def label(self) -> str:
        return self.function.partition(":")[2]

    def operand_axes(self, number: int, ndim: int) -> tuple[int | None, ...]:
        """Return the result's axes that an operand's axes run along."""
        return tuple(range(ndim)) if self.axes is None else self.axes[number]
