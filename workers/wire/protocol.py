"""The whole wire: commands to a rank, events from a rank, messages between any two. Frozen values.

Commands and events are listed here; arrays carry many tasks at once. Messages ask another rank something, or tell it:

    task_messages              `wr.submit`: rank 0 orders tasks, ranks tell how they end, results go from rank to rank
    page_messages              shared arrays: what blocks add, and pages for other hosts
    one_sided_messages         arrays that all ranks read and write: operations on parts, making and keeping them
    shared_messages            spaces, shared objects, and files that were added to
    scheduler/tasks/messages       tasks on other ranks submit tasks
    scheduler/spmd_mode/messages   scripts that all ranks run

Each is a class below `RankMessage`. `Calls` in `rpc.py` sends it; the other rank's gives it to what serves its class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from ...graph.chunks.grid import Index
    from ...graph.lowering.stage import Stage
    from ..memory.pressure import Shortage

Array = np.ndarray[Any, Any]
Reply = TypeVar("Reply")


@dataclass(frozen=True, slots=True)
class Setup:
    """Command, the first one: how to run.

    `path`, `argv` and `folder` are the driver's sys.path, sys.argv and working directory. `heartbeat` is the number of
    seconds after which who is silent counts as hung.
    """

    threads: int
    spill_folder: str | None
    path: tuple[str, ...]
    argv: tuple[str, ...]
    folder: str
    heartbeat: float


@dataclass(frozen=True, slots=True)
class Define:
    """Command: know these stages from now on."""

    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Forget:
    """Command: these stages will not be spoken of again."""

    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """Where the tasks of one input lie: parallel columns."""

    tasks: Index
    owners: Array
    offsets: Index
    sources: Array


@dataclass(frozen=True, slots=True)
class GangOrder:
    """Who takes part in a gang, in order, and the state of the communicator that theirs is made from, its `base`.

    `number` is that of its first batch. `epoch` counts deaths, and what else has arrays go back that all ranks write.
    `members` is the number of its parts: where one rank alone takes part, each has a thread there. `alone` says that no
    other rank lives.
    """

    number: int
    base: int
    epoch: int
    ranks: tuple[int, ...]
    members: int
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """Command: run these tasks; slab i goes to `offsets[i]` of the rank's arena.

    `sink` is the user's own result, written in place of the arena (only where memory is shared with the driver).
    `fed` are the blocks' contents for stages whose data lie in the driver's memory. `gang` is set for rank programs.
    """

    batch: int
    token: str
    tasks: Index
    offsets: Index
    inputs: tuple[Places, ...]
    sink: Array | None = None
    fed: tuple[Array, ...] = ()
    gang: GangOrder | None = None


@dataclass(frozen=True, slots=True)
class Meet:
    """Command: help to make a gang's communicator, without a part in it."""

    gang: GangOrder


@dataclass(frozen=True, slots=True)
class Recall:
    """Command: give these batches back; those that haven't begun are refused at once.

    Where nobody wants them any more, those that have begun are interrupted, and end what they wait for from others, and
    gangs do.
    """

    batches: tuple[int, ...]
    unwanted: bool = True


@dataclass(frozen=True, slots=True)
class Spill:
    """Command: write these slabs to one new spill file."""

    number: int
    token: str
    tasks: Index
    offsets: Index
    sizes: Index


@dataclass(frozen=True, slots=True)
class Drop:
    """Command: a rank's spill file is not needed any more; the owner closes it, the others forget it."""

    rank: int
    source: int


@dataclass(frozen=True, slots=True)
class Trim:
    """Command: give the system back these ranges of the arena, which nothing lies in, and what else is free."""

    offsets: Index
    sizes: Index


@dataclass(frozen=True, slots=True)
class Unshare:
    """Command: the driver has let go of a shared object."""

    token: bytes


@dataclass(frozen=True, slots=True)
class Ping:
    """Command: say that you are there; the answer has the same number."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Stop:
    """Command: leave."""


@dataclass(frozen=True, slots=True)
class Done:
    """Event: a batch is stored; `seconds` is what its kernels took, `returned` what a gang's members returned."""

    rank: int
    batch: int
    seconds: float
    returned: bytes = b""


@dataclass(frozen=True, slots=True)
class Failed:
    """Event: a block raised. `error` is the pickled exception (empty when it can't be), `text` its traceback.

    Of a rank program `block` is the member's number.
    """

    rank: int
    batch: int
    block: int
    error: bytes
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Event: a batch came to nothing: its inputs could not be read (their owner is gone), or it was recalled."""

    rank: int
    batch: int


@dataclass(frozen=True, slots=True)
class NoComm:
    """Event: this rank has found no communicator for a gang."""

    rank: int
    gang: int


@dataclass(frozen=True, slots=True)
class MemberFailed:
    """Event: a member of a gang has failed, and others of the same batch compute on until they are recalled."""

    rank: int
    failure: Failed


@dataclass(frozen=True, slots=True)
class Left:
    """Event: a batch that nobody wants runs on, since its call can't be interrupted; how it ends is told, too."""

    rank: int
    batch: int


@dataclass(frozen=True, slots=True)
class Spilled:
    """Event: slabs are in file `source` (-1: the disk refused, `why`), at these offsets."""

    rank: int
    number: int
    source: int
    offsets: Index
    why: str = ""


@dataclass(frozen=True, slots=True)
class Pressed:
    """Event: memory is about to run out, or (None) no longer."""

    rank: int
    shortage: Shortage | None


@dataclass(frozen=True, slots=True)
class Exceeded:
    """Event: a user's function takes far more at work than was declared; bytes of one task, and those declared."""

    rank: int
    batch: int
    taken: int
    declared: int


@dataclass(frozen=True, slots=True)
class Output:
    """Event: what a user's function printed or warned on a rank."""

    rank: int
    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class Pong:
    """Event: a rank is there."""

    rank: int
    number: int = 0


@dataclass(frozen=True, slots=True)
class RpcRequest:
    """Between any two ranks: a `RankMessage`, by its class and its pickled fields; number 0 wants no answer."""

    rank: int
    number: int
    kind: type[RankMessage[Any]]
    packed: Any


@dataclass(frozen=True, slots=True)
class Answered:
    """Between any two ranks: the answer to a message."""

    rank: int
    number: int
    packed: Any


class RankMessage(Generic[Reply]):
    """What a rank asks or tells another; `Reply` is the type of the answer, None where there is nothing to say."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    """The names of the fields; dataclasses set it."""


Command = (
    Setup | Define | Forget | Run | Meet | Recall | Spill | Drop | Trim | Unshare | Ping | Stop | RpcRequest | Answered
)
Event = Done | Failed | MemberFailed | Refused | NoComm | Left | Spilled | Pressed | Exceeded | Output | Pong
