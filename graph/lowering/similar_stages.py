"""Stages that are alike in a graph, as those of a loop's turns are, share programs and what follows from their grids.

What is found for one of them (which tasks read which, buffers, compiled kernels, where inputs lie) is known for all.
Programs are equal here if they have the same bits: numbers count by their bytes. Functions of whole blocks, products
and sources whose elements follow from more than a value or a box are left out, and so are large grids.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from ..arguments import is_numpy_scalar
from ..chunks.block_reads import ByBlock
from ..expr.expr import Op
from ..expr.token import token_of
from ..kinds.elementwise import Scalar
from ..kinds.source import Full, Inside
from .interned import BLOCKS
from .program import Apply, Generate, Load

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .program import Program, Value
    from .stage import Stage

MOST = 512
"""Stages that are remembered."""

_known: OrderedDict[Hashable, Stage] = OrderedDict()
_lock = Lock()


def share(stage: Stage) -> Stage:
    """Return the stage; where one like it was made before, over what is known of that one."""
    if stage.data is not None or max([stage.domain.nblocks, *(g.nblocks for g in stage.input_grids)]) > BLOCKS:
        return stage
    try:
        program = _describe(stage.program)
        if program is None:
            return stage
        key = (program, stage.domain, stage.grid, stage.dtype, stage.input_grids)
        with _lock:
            first = _known.get(key)
            if first is None:
                _known[key] = stage.remake()
                while len(_known) > MOST:
                    _known.popitem(last=False)
                return stage
            _known.move_to_end(key)
    except TypeError:  # positions to take have no hash
        return stage
    if "kin" not in first.__dict__:
        first.learn()
    return first.remake(token=stage.token, name=stage.name, origin=stage.origin, inputs=stage.inputs)


def _describe(program: Program) -> Hashable:
    """Return what tells a program from others; None where that isn't told."""
    descriptions: list[Hashable] = [None if program.level is None else token_of(program.level)]
    for value in program.values:
        description = _describe_value(value)
        if description is None:
            return None
        descriptions.append(description)
    return tuple(descriptions)


def _describe_value(value: Value) -> Hashable:
    if isinstance(value, Apply):
        args = tuple([_describe_scalar(a.value) if isinstance(a, Scalar) else a for a in value.args])
        return value.function, args, value.dtype, value.full
    if isinstance(value, Load):
        access: Hashable = value.access
        if isinstance(access, Op):
            if not access.recurring:
                return None
            access = id(access)  # held by the stage that is remembered
        elif not isinstance(access, ByBlock):
            return None
        return access, value.inputs, value.dtype, value.full, value.frame, value.axes
    if isinstance(value, Generate):
        source = value.source
        if isinstance(source, Full):
            description: Hashable = (type(source), _describe_scalar(source.value))
        elif isinstance(source, Inside):
            description = source
        else:
            return None
        return description, value.axes, value.shape, value.dtype, value.full
    return None


def _describe_scalar(value: object) -> Hashable:
    if is_numpy_scalar(value):
        return value.dtype, value.tobytes()
    if isinstance(value, complex):
        return "complex", struct.pack("dd", value.real, value.imag)
    if isinstance(value, float):
        return "float", struct.pack("d", value)
    return type(value), repr(value)
