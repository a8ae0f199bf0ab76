"""After a death the communicator of those left fails on one rank alone: the gang runs all the same. It prints it."""

import windrow as wr
from support.ranks import kill_a_rank


def spoil(comm):
    """Have this rank's next `Shrink` fail, though it came about for the others."""
    from mpi4py import MPI

    from windrow.workers.rank.own_arena import own_transport

    class Once:
        def __init__(self, comm):
            self.comm = comm

        def Shrink(self):
            made = self.comm.Shrink()
            if not hasattr(self, "failed"):
                self.failed = made
                raise MPI.Exception(MPI.ERR_INTERN)
            return made

    if comm.rank == 1:
        meeting = own_transport().meeting
        meeting._first = Once(meeting._first)


wr.spmd(spoil)
kill_a_rank(lambda rows: rows[1])
while not wr.cluster().losses:
    wr.ones(10, chunks=1).sum().compute()
print(wr.spmd(lambda comm: comm.allreduce(comm.rank + 1)))
