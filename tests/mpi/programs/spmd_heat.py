"""The heat equation as an MPI program writes it, beside the same by Windrow's arrays; rank 0 prints."""

import numpy as np
from mpi4py import MPI

import windrow as wr

comm, rank, size = wr.comm(), wr.rank(), wr.size()
n, steps, each = 240, 60, 20
alpha = 0.2

bounds = [k * n // size for k in range(size + 1)]
where = np.arange(bounds[rank], bounds[rank + 1])
start = np.exp(-(((np.arange(n) - n / 2) / 10) ** 2))
u = np.concatenate([[0.0], start[where], [0.0]])
before, after = (rank - 1) % size, (rank + 1) % size

field = wr.exp(-(((wr.arange(n, chunks=40) - n / 2) / 10) ** 2))
for step in range(1, steps + 1):
    comm.Sendrecv(u[1:2], before, recvbuf=u[-1:], source=after)
    comm.Sendrecv(u[-2:-1], after, recvbuf=u[:1], source=before)
    u[1:-1] += alpha * (u[:-2] - 2 * u[1:-1] + u[2:])
    field = field + alpha * (wr.roll(field, 1) - 2 * field + wr.roll(field, -1))
    if step % each == 0:
        field = field.persist()
        largest = comm.allreduce(u[1:-1].max(), op=MPI.MAX)
        assert np.isclose(largest, field.max().compute())
        if rank == 0:
            print(f"{step:3d} {largest:.4f}")

whole = np.concatenate(comm.allgather(u[1:-1]))
np.testing.assert_allclose(whole, field.compute(), atol=1e-12)
for block, (place,) in zip(field.local, field.local_slices, strict=True):
    np.testing.assert_allclose(block, whole[place], atol=1e-12)
