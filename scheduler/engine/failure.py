"""From a block's failure on some rank to the exception that the user sees."""

from __future__ import annotations

import contextlib
import pickle
import re
from typing import TYPE_CHECKING

from numpy.linalg import LinAlgError

from ...graph.errors import ClusterError, OutOfMemory, WindrowError
from ...graph.expr.origin import name_prompt
from ..session.html import size_text

if TYPE_CHECKING:
    from ...graph.lowering.stage import Stage
    from ...workers.wire.protocol import Failed
    from ...workers.wire.transport import Peer
    from ..admission.poison_detector import Deadly


_LINE = re.compile(r'File "([^"\n]+)", line (\d+)')


def _where(line: re.Match[str]) -> str:
    """Name a line of a traceback by the notebook's cell it is of."""
    typed = name_prompt(line[1])
    return f"{typed[0].upper()}{typed[1:]}, line {line[2]}" if typed.startswith("cell") else line[0]


def exception_of(event: Failed, stage: Stage, peer: Peer) -> BaseException:
    """Return the original exception with notes: operation, block, rank, the user's line, the remote traceback."""
    error: BaseException = WindrowError(event.name)
    if event.error:
        with contextlib.suppress(Exception):  # a class that only the rank could import
            error = pickle.loads(event.error)
    if isinstance(error, LinAlgError) and not isinstance(error, WindrowError) and not stage.foreign:
        error.args = (f"{stage.name}: {error}",)  # NumPy names no function
    block = ""
    if event.block >= 0:
        block = f" block {stage.grid.index(event.block)}" if stage.gang is None else f" member {event.block}"
    error.add_note(f"in operation {stage.name},{block} on rank {event.rank} (host {peer.host}, pid {peer.pid})")
    if stage.origin:
        error.add_note(f"the operation was created at {stage.origin}")
    if event.text:
        error.add_note("remote traceback:\n" + _LINE.sub(_where, event.text.rstrip()))
    return error


def deadly_function(stage: Stage, deadly: Deadly) -> ClusterError:
    """Return the exception for a stage whose function ends the processes that call it."""
    blocks = ", ".join(str(stage.grid.index(stage.blocks(task)[0])) for task in deadly.at[:3])
    more = ", …" if len(deadly.at) > 3 else ""
    where = f"at block{'s' * (len(deadly.at) > 1)} {blocks}{more}" if blocks else "in the same function elsewhere"
    then = "rank 0, the only one left, does not try it" if deadly.alone else "it is not tried again"
    ranks = f"{deadly.ranks} rank{'s' * (deadly.ranks != 1)}"
    error = ClusterError(f"{stage.name}: {ranks} died {where}; {then}")
    if stage.origin:
        error.add_note(f"the operation was created at {stage.origin}")
    return error


def out_of_memory(stage: Stage, needed: int, free: int, size: int, why: str) -> OutOfMemory:
    """Return the exception for a slab that no arena can take."""
    return OutOfMemory(
        f"{stage.name}: a block needs {size_text(needed)}; the arena of {size_text(size)} has {size_text(free)} free "
        f"and {why}. Use smaller chunks, release() persisted arrays, or give the cluster more memory "
        f"(Cluster(memory=), --memory, WINDROW_MEMORY){created(stage)}"
    )


def created(stage: Stage) -> str:
    """Return the end of a message that tells where the user made an operation; "" where nobody knows."""
    return f"; the operation was created at {stage.origin}" if stage.origin else ""


def whole_needed(reader: Stage, read: Stage, needed: int, size: int) -> OutOfMemory:
    """Return the exception for an operation that reads an array in one block, which no arena can take."""
    return OutOfMemory(
        f"{reader.name}: it reads {read.name} in one block, which needs {size_text(needed)}; the arena has "
        f"{size_text(size)}. Give the cluster more memory (Cluster(memory=), --memory, WINDROW_MEMORY){created(reader)}"
    )
