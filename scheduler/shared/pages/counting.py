"""When a computation is through: what its functions have added to shared arrays is due."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from ....graph.expr.expr import walk
from ....graph.kinds.gang import Gang
from ....graph.kinds.mapping import MapBlocks
from ....workers.shared.pages.additions import Adder, any_adders
from ...session.pin import Pin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ....graph.expr.expr import Expr
    from .shared_array import SharedArray

arrays: WeakValueDictionary[str, SharedArray] = WeakValueDictionary()
"""Those of this process, by token."""


def count_additions(roots: Sequence[Expr]) -> None:
    """Have the additions made of all that these expressions have computed; what is persisted below is waited for."""
    if not any_adders():
        return
    pins: list[Pin] = []
    adders: list[Adder] = []
    for node in walk(list(roots), _is_counted):
        if isinstance(node.pin, Pin) and not node.pin.counted:
            pins.append(node.pin)
        adders += _adders(node)
    if not adders:
        return
    for pin in pins:
        if pin.held:
            pin.wait()
            pin.counted = True
    for each in adders:
        for noted in each.take():
            for token in noted:
                array = arrays.get(token)
                if array is not None:
                    array._put_due(noted[token])


def forget_additions(roots: Sequence[Expr]) -> None:
    """Drop what was added by a computation that came to nothing."""
    if any_adders():
        for node in walk(list(roots), lambda node: node.pin is not None):
            for each in _adders(node):
                each.drop()


def _adders(node: Expr) -> Iterator[Adder]:
    if isinstance(node.op, MapBlocks | Gang):
        yield from (each for each in node.op.payload.used if isinstance(each, Adder))


def _is_counted(node: Expr) -> bool:
    return isinstance(node.pin, Pin) and node.pin.counted
