"""Coordination of functions on ranks by a space of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...scheduler.session.cluster import session
from ...scheduler.shared.handles import make_once
from ...scheduler.shared.spaces import make_space

if TYPE_CHECKING:
    from ...workers.shared.space import Space


def space() -> Space:
    """Make a space: objects under tags, which rank programs, functions of blocks and the driver put, get and read.

    Returns
    -------
    Space
        With `put(tag, object)`, `get(tag, timeout=)`, which takes the oldest out and waits for one, `read(tag,
        timeout=)`, which leaves it there, and `tags`. Functions that run on ranks use it as it is. It goes when nothing
        refers to it any more.

    Raises
    ------
    ClusterError
        The cluster is closed.

    See Also
    --------
    windrow.spmd : Rank programs, whose members may also send each other messages.

    Notes
    -----
    It is a tuple space, as Linda's [1]_ and openDIEL's, with tags in place of patterns; the driver keeps it.
    What a function puts and gets that comes to nothing, since a rank dies, is undone before it runs again. A chunk that
    is lost later is made again, too: then its function puts again what it has put.
    A function of blocks that waits keeps its thread from computing what would put what it waits for.

    References
    ----------
    .. [1] D. Gelernter, "Generative communication in Linda", ACM TOPLAS 7(1), 80-112, 1985.

    >>> space = wr.shared.space()
    >>> def work(comm):
    ...     if comm.rank == 0:
    ...         for job in range(6):
    ...             space.put("job", job)
    ...     comm.Barrier()
    ...     done = 0
    ...     while True:
    ...         try:
    ...             job = space.get("job", timeout=0)
    ...         except wr.WaitTimeout:
    ...             return done
    ...         done += job
    >>> sum(wr.spmd(work, members=2))
    15
    """
    return make_once("space", lambda: make_space(session()))
