"""Calling functions of whole blocks: the user's own with what they ask for, and built-in ones."""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ShapeError
from ....graph.kinds.mapping import BlockFunction, MapBlocks
from ...rank.interrupts import interruptible
from ...rank.task_context import task_context
from ...shared.pages.additions import collecting
from ...shared.pickled_by_name import finding
from ...shared.shared_objects import keeps
from ..blocks import block_function, fills
from ..user_results import check_kept, plain, usual_warnings

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....graph.lowering.program import Call
    from ....graph.lowering.stage import Stage

    _Loaded = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

Array = np.ndarray[Any, Any]


_KEPT_BYTES = 1 << 25
_kept: OrderedDict[bytes, _Loaded] = OrderedDict()
_sharers: dict[bytes, set[bytes]] = {}  # the shared objects that kept functions use
_guard = threading.Lock()


def _unpickle(pickled: bytes) -> _Loaded:
    """Unpickle a function; those used last are kept, the last one and as many as fit some bytes.

    One that uses a shared object is kept no longer than that is.
    """
    with _guard:
        cached = _kept.get(pickled)
        if cached is not None:
            _kept.move_to_end(pickled)
            return cached
    with finding() as shared:
        loaded: _Loaded = pickle.loads(pickled)
    with _guard:
        _kept[pickled] = loaded
        if shared:
            _sharers[pickled] = shared
        while len(_kept) > 1 and (len(_kept) > 512 or sum(map(len, _kept)) > _KEPT_BYTES):
            _sharers.pop(_kept.popitem(last=False)[0], None)
    return loaded


def _drop(token: bytes) -> None:
    """Keep no function that uses a shared object."""
    with _guard:
        names = [name for name, shared in _sharers.items() if token in shared]
        gone = [(_sharers.pop(name), _kept.pop(name, None)) for name in names]
    del gone


keeps(_drop)


class BlockError(Exception):
    """Wraps an exception of a kernel with the block it came from; never leaves a rank."""

    def __init__(self, block: int, error: BaseException) -> None:
        super().__init__(f"block {block}")
        self.block, self.error = block, error


def read_only(block: Array) -> Array:
    """Return a view that can't be written: blocks are chunks that others read, or the user's own array.

    It is contiguous in C order, else sums' bits would tell where a block lies.
    """
    view = np.asarray(block, order="C").view()
    view.flags.writeable = False
    return view


def call_function(value: Call, args: list[Array | list[Array]], stage: Stage, block: int, out: Array) -> Array:
    """Call a function for one block; return what it returned, of the block's shape: `out` where it filled that."""
    op = value.op
    keywords: dict[str, Any]
    if isinstance(op, BlockFunction):
        keywords = {"where": stage.domain.block_slices(block)} if op.where else {}
        built_in = block_function(op.function)
        if fills(built_in):
            keywords["out"] = out
        values = np.asarray(built_in(*args, *op.params, **keywords))
    else:
        assert isinstance(op, MapBlocks)
        function, extra, user_keywords = _unpickle(op.payload.pickled)
        keywords = dict(user_keywords)
        if "block_id" in op.wants:
            keywords["block_id"] = stage.domain.index(block)
        if "out" in op.wants:
            keywords["out"] = out
        try:
            with usual_warnings(), collecting(op.adds, block):
                with interruptible(task_context().batch):
                    returned = function(*args, *extra, **keywords)
                values = out if returned is out else plain(op.label, returned)
        except Exception as error:
            if isinstance(error, ValueError) and "read-only" in str(error):
                error.add_note(f"{op.label}: the blocks a function is given are read-only; write to a copy of them")
            raise BlockError(block, error) from error
    if values.shape != out.shape:
        raise ShapeError(
            f"{op.label}: the function returned shape {values.shape} for block {stage.domain.index(block)}; "
            f"expected {out.shape}, as the result's chunks have it"
        )
    if values.dtype != out.dtype and not isinstance(op, BlockFunction):
        check_kept(op.label, values, out.dtype, f" for block {stage.domain.index(block)}")
    return values
