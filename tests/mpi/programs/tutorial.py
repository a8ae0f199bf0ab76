"""The programs of mpi4py's tutorial that concern arrays, inside of `wr.spmd`: each returns what plain mpi4py gives."""

import json

import numpy as np

import windrow as wr


def find_op(name):
    from mpi4py import MPI

    return getattr(MPI, name)


def ring(comm):
    """Pass an array around until it is back, and count on the way."""
    held = np.full(1000, comm.rank, "i8")
    taken = np.empty_like(held)
    seen = [int(held[0])]
    for _ in range(comm.size):
        request = comm.Isend(held, (comm.rank + 1) % comm.size, tag=11)
        comm.Recv(taken, source=(comm.rank - 1) % comm.size, tag=11)
        request.Wait()
        held[...] = taken
        seen.append(int(held[-1]))
    return seen


def multiply(comm, matrix, vector, product):
    """A row-wise matrix times a vector that is spread over members: Allgather, then the own rows."""
    mine = np.ascontiguousarray(vector.joined())
    whole = np.zeros(comm.size * len(mine), mine.dtype)
    comm.Allgather(mine, whole)
    rows = matrix.joined() @ whole
    begin = 0
    for chunk in product:
        chunk[...] = rows[begin : begin + len(chunk)]
        begin += len(chunk)


def pi(comm, n):
    """The midpoint rule over 1 / (1 + x^2), strided; the driver's number comes by broadcast."""
    steps = np.array(n if comm.rank == 0 else 0, "i8")
    comm.Bcast(steps, root=0)
    h = 1.0 / int(steps)
    x = h * (np.arange(comm.rank, int(steps), comm.size) + 0.5)
    mine, total = np.array(h * (4 / (1 + x**2)).sum()), np.array(0.0)
    comm.Reduce(mine, total, op=find_op("SUM"), root=0)
    return float(total) if comm.rank == 0 else None


def exchange(comm, size):
    """Rims of a periodic grid, by a Cartesian communicator, into a halo of one row; then a sum of neighbours."""
    cart = comm.Create_cart([comm.size], periods=[True])
    before, after = cart.Shift(0, 1)
    grid = np.zeros((size + 2, 5))
    grid[1:-1] = np.arange(size * 5).reshape(size, 5) + 100 * cart.rank
    cart.Sendrecv(grid[-2].copy(), dest=after, recvbuf=grid[0], source=before)
    cart.Sendrecv(grid[1].copy(), dest=before, recvbuf=grid[-1], source=after)
    return (grid[:-2] + grid[2:]).tolist()


n = 12
matrix = wr.arange(n * n, dtype="f8").reshape(n, n).rechunk((2, n))
vector = wr.arange(n, dtype="f8", chunks=4) + 1
expected = np.arange(n * n, dtype="f8").reshape(n, n) @ (np.arange(n) + 1.0)
y = wr.spmd(multiply, matrix, vector, out=wr.Spec((n,), "f8", 2), members=3)
blocks = np.concatenate([np.arange(20.0).reshape(4, 5) + 100 * k for k in range(3)])
halo = np.roll(blocks, 1, 0) + np.roll(blocks, -1, 0)
found = {
    "ring": wr.spmd(ring, members=3) == [[(k - i) % 3 for i in range(4)] for k in range(3)],
    "multiply": bool((y.compute() == expected).all()),
    "pi": abs(wr.spmd(lambda comm: pi(comm, 10_000), members=3)[0] - np.pi) < 1e-8,
    "exchange": bool((np.concatenate(wr.spmd(lambda comm: exchange(comm, 4), members=3)) == halo).all()),
}
try:
    wr.spmd(lambda comm: comm.recv(source=0) if comm.rank == 1 else comm.Barrier(), members=3, timeout=0.5)
except wr.WaitTimeout as error:
    found["late"] = str(error)
except Exception as error:  # threads tell a deadlock at once
    found["late"] = f"{type(error).__name__}: {error}"
found["after"] = wr.spmd(lambda comm: comm.allreduce(1), members=3)
print(json.dumps(found))
