"""Functions of a communicator, for mpi4py's and for that of threads: test_thread_comm.py compares what they return.

Run as a script it makes them run: over the ranks of a job; with `threads` over threads beside mpi4py's module; with
`uninitialized` beside one that has not initialised MPI.
"""

from __future__ import annotations

import pickle
import sys
import threading
import time

import numpy as np

SIZES = (1, 2, 3, 5)
PROGRAMS = {}
DERIVED = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def derived(function):
    """For what needs mpi4py: operations of a program, counts."""
    DERIVED[function.__name__] = function
    return function


def fingerprint(x):
    """What compares by ==, with the bits of floats."""
    if isinstance(x, np.ndarray):
        return (x.dtype.str, x.shape, x.tobytes())
    if isinstance(x, list | tuple):
        return [fingerprint(y) for y in x]
    if isinstance(x, dict):
        return {k: fingerprint(v) for k, v in x.items()}
    return x


def floats(comm, n=7):
    return np.random.default_rng(comm.rank).standard_normal(n)


@program
def identity(comm, MPI):
    return comm.rank, comm.size, comm.Get_rank(), comm.Get_size()


@program
def objects(comm, MPI):
    mine = {"rank": comm.rank, "rows": [comm.rank] * 2, "array": floats(comm)}
    found = [comm.bcast(mine, root=comm.size - 1), comm.gather(mine, root=0), comm.allgather(mine)]
    found.append(comm.scatter([(i, "part") for i in range(comm.size)] if comm.rank == 0 else None))
    found.append(comm.alltoall([[comm.rank, i] for i in range(comm.size)]))
    found[0]["rows"].append(comm.rank)  # nobody else's
    found.append(mine["rows"])
    comm.barrier()
    return fingerprint(found)


@program
def reductions_of_objects(comm, MPI):
    x = float(floats(comm)[0])
    found = [comm.allreduce(x), comm.allreduce(x, op=MPI.PROD), comm.reduce(x, op=MPI.MAX, root=comm.size - 1)]
    found += [comm.allreduce([comm.rank], op=MPI.SUM), comm.allreduce((x, comm.rank), op=MPI.MINLOC)]
    found += [comm.allreduce((x, comm.rank), op=MPI.MAXLOC), comm.allreduce(comm.rank % 2, op=MPI.LOR)]
    found += [comm.allreduce(comm.rank, op=MPI.BXOR), comm.allreduce(7, op=MPI.BAND), comm.allreduce(x, op=MPI.MIN)]
    found += [comm.allreduce(True, op=MPI.LAND), comm.allreduce(True, op=MPI.LXOR), comm.allreduce(1, op=MPI.BOR)]
    found += [comm.scan(x), comm.exscan(x), comm.scan([comm.rank]), comm.exscan([comm.rank], op=MPI.SUM)]
    found += [comm.allreduce(floats(comm)), comm.allreduce(str(comm.rank), op=lambda a, b: f"({a}{b})")]
    return fingerprint(found)


@program
def reductions_of_buffers(comm, MPI):
    n, size, rank = 2 * comm.size, comm.size, comm.rank
    mine = np.arange(n) * (rank + 1) % 7 + 1
    found = []
    for op in (MPI.SUM, MPI.PROD, MPI.MIN, MPI.MAX, MPI.LAND, MPI.LOR, MPI.LXOR, MPI.BAND, MPI.BOR, MPI.BXOR):
        got = np.full(n, -1)
        comm.Allreduce(mine, got, op=op)
        found.append(got)
    for kind in ("f4", "f8", "c16", "i4", "u1"):
        got = np.zeros(n, kind)
        comm.Reduce(mine.astype(kind), got if rank == 0 else None, op=MPI.SUM, root=0)
        found.append(got)
    got = mine.copy()
    comm.Allreduce(MPI.IN_PLACE, got)
    found.append(got)
    got = mine.copy()
    comm.Reduce(MPI.IN_PLACE if rank == size - 1 else got, got if rank == size - 1 else None, root=size - 1)
    found.append(got)
    got = np.zeros(3)
    comm.Allreduce([np.arange(9.0), (3, 2), MPI.DOUBLE], [got, MPI.DOUBLE])
    found.append(got)
    return fingerprint(found)


@program
def large_reductions(comm, MPI):
    mine = (np.arange(300_000) % 1000 + comm.rank).astype("f4")
    total = np.empty_like(mine)
    comm.Allreduce(mine, total, op=MPI.MAX)
    comm.Allreduce(MPI.IN_PLACE, mine)
    return fingerprint([total, mine])


@program
def moves_of_buffers(comm, MPI):
    size, rank = comm.size, comm.rank
    mine = np.arange(4.0) + 10 * rank
    found = []
    got = mine.copy()
    comm.Bcast(got, root=size - 1)
    found.append(got)
    raw = bytearray([rank] * 3)
    comm.Bcast([raw, MPI.BYTE], root=0)
    found.append(bytes(raw))
    got = np.zeros((size, 4))
    comm.Gather(mine, got if rank == 0 else None, root=0)
    found.append(got.copy())
    comm.Allgather([mine, MPI.DOUBLE], [got, MPI.DOUBLE])
    found.append(got.copy())
    got[:] = -1
    got[rank] = mine
    comm.Allgather(MPI.IN_PLACE, got)
    found.append(got.copy())
    part = np.zeros(4)
    comm.Scatter([got, 4, MPI.DOUBLE] if rank == 0 else None, [part, 4, MPI.DOUBLE], root=0)
    found.append(part)
    whole = np.arange(3 * size, dtype="i4").reshape(size, 3) + 100 * rank
    got = np.zeros_like(whole)
    comm.Alltoall(whole, got)
    found.append(got.copy())
    comm.Alltoall(MPI.IN_PLACE, got)
    found.append(got)
    got = np.arange(size) if rank == 0 else np.zeros(1, np.int64)
    comm.Scatter(got if rank == 0 else None, MPI.IN_PLACE if rank == 0 else got, root=0)
    comm.Gather(MPI.IN_PLACE if rank == 0 else got, got if rank == 0 else None, root=0)
    found.append(got)
    return fingerprint(found)


@program
def messages(comm, MPI):
    size, rank = comm.size, comm.rank
    right, left = (rank + 1) % size, (rank - 1) % size
    status = MPI.Status()
    found = [comm.sendrecv({"from": rank}, right, source=left)]
    if rank == 0:
        for i in range(1, size):
            comm.send(("to", i), dest=i, tag=i)
        got = [comm.recv(source=MPI.ANY_SOURCE, tag=5, status=status) for _ in range(1, size)]
        found += [sorted(got), status.Get_tag()]
    else:
        found.append(comm.recv(source=0, tag=rank, status=status))
        found += [status.Get_source(), status.Get_tag()]
        comm.send(rank * 2, dest=0, tag=5)
    requests = [comm.isend([rank, i], right, tag=i) for i in range(4)]
    requests += [comm.irecv(source=left, tag=i) for i in (3, 1, 2, 0)]
    found.append(requests[0].waitall(requests)[4:])
    comm.send("nowhere", MPI.PROC_NULL)
    found.append(comm.recv(source=MPI.PROC_NULL, status=status))
    found += [status.Get_source() == MPI.PROC_NULL, status.Get_tag() == MPI.ANY_TAG]
    return found


@program
def messages_of_buffers(comm, MPI):
    size, rank = comm.size, comm.rank
    right, left = (rank + 1) % size, (rank - 1) % size
    status = MPI.Status()
    found = []
    for n in (0, 3, 10_000, 300_000):
        mine, got = np.arange(n, dtype=float) + rank, np.zeros(n + 2)
        comm.Sendrecv(mine, right, 3, got, left, 3, status)
        found += [got, status.Get_source(), status.Get_tag()]
        requests = [comm.Irecv([got, n, MPI.DOUBLE], left, n), comm.Isend([mine, MPI.DOUBLE], right, n)]
        requests[0].Waitall(requests)
        found.append(got.copy())
    mine, got = np.arange(6, dtype="i4"), np.zeros(6, "i4")
    request = comm.Isend([mine, (2, 3), MPI.INT], right, 9)
    comm.Recv([got, (2, 1), MPI.INT], left, 9, status)
    request.Wait()
    found += [got, status.Get_tag()]
    request = comm.Isend(mine, right)
    comm.Recv(got, left)
    while not request.Test():
        pass
    comm.Recv(got, MPI.PROC_NULL, status=status)
    return fingerprint([*found, got, status.Get_source() == MPI.PROC_NULL])


@program
def parts(comm, MPI):
    half = comm.Split(comm.rank % 2, -comm.rank)
    found = [half.rank, half.size, half.allgather(comm.rank)]
    none = comm.Split(MPI.UNDEFINED if comm.rank else 0)
    found += [none == MPI.COMM_NULL, bool(none)]
    again = comm.Split(0, comm.rank)
    again.send("kept apart", again.rank)
    comm.send("first", comm.rank)
    found += [comm.recv(source=comm.rank), again.recv(source=again.rank), again.allreduce(1)]
    half.Free()
    again.Free()
    return found


@program
def grids(comm, MPI):
    n = {1: (1, 1), 2: (2, 1), 3: (1, 3), 5: (2, 2)}[comm.size]
    cart = comm.Create_cart(n, periods=[True, False], reorder=False)
    if cart == MPI.COMM_NULL:
        return "outside"
    found = [cart.dims, cart.periods, cart.coords]
    found += [cart.Shift(0, 1), cart.Shift(1, 1), cart.Shift(0, -1), cart.Shift(1, 0), cart.Get_coords(cart.size - 1)]
    found += [cart.Get_cart_rank([5, 0]), cart.Get_cart_rank(cart.coords)]
    return fingerprint(found)


@program
def ring(comm, MPI):
    """The mpi4py tutorial's token, once around."""
    token = np.zeros(1, "i4")
    if comm.rank == 0:
        token[0] = 42
        comm.Send([token, MPI.INT], dest=1 % comm.size, tag=77)
    comm.Recv([token, MPI.INT], source=(comm.rank - 1) % comm.size, tag=77)
    if comm.rank:
        comm.Send([token, MPI.INT], dest=(comm.rank + 1) % comm.size, tag=77)
    return int(token[0])


@program
def matrix_vector(comm, MPI):
    """The tutorial's parallel product of a matrix and a vector, ten times."""
    m = 4
    rows = np.random.default_rng(comm.rank).integers(0, 3, (m, m * comm.size)).astype(float)
    x, whole, y = np.ones(m), np.zeros(m * comm.size), np.zeros(m)
    for _ in range(10):
        comm.Allgather([x, MPI.DOUBLE], [whole, MPI.DOUBLE])
        y = rows @ whole
        x = y / comm.allreduce(y.max(), op=MPI.MAX)
    return fingerprint(x)


@program
def pi(comm, MPI):
    """The tutorial's pi by the midpoint rule."""
    n = np.array(1000 if comm.rank == 0 else 0, "i")
    comm.Bcast([n, MPI.INT], root=0)
    h = 1.0 / int(n)
    part = sum(4.0 / (1.0 + (h * (i + 0.5)) ** 2) for i in range(comm.rank, int(n), comm.size))
    mine, total = np.array(part * h, "d"), np.zeros((), "d")
    comm.Reduce([mine, MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM, root=0)
    return round(float(total), 12)


@program
def halo(comm, MPI):
    """A Cartesian halo exchange: 20 steps of diffusion."""
    cart = comm.Create_cart([comm.size], periods=[True])
    up, down = cart.Shift(0, 1)
    u = np.zeros((6, 8))
    u[1:-1] = np.arange(32.0).reshape(4, 8) + cart.rank
    for _ in range(20):
        cart.Sendrecv(u[-2], down, 1, u[0], up, 1)
        cart.Sendrecv(u[1], up, 2, u[-1], down, 2)
        u[1:-1] += 0.1 * (u[:-2] + u[2:] - 2 * u[1:-1])
    return fingerprint(u)


@derived
def operations(comm, MPI):
    """An association of its own is each MPI's affair where a function isn't associative."""
    objects = comm.allreduce(comm.rank + 1, op=MPI.Op.Create(lambda x, y, _: 10 * x + y))
    return objects if comm.size < 3 else None


@derived
def counts(comm, MPI):
    status = MPI.Status()
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    got = np.zeros(10)
    comm.Sendrecv(np.arange(4.0), right, 0, got, left, 0, status)
    return status.Get_count(MPI.DOUBLE), status.Get_count(), status.Get_elements(MPI.INT), status.count


def over_threads(n, function, make=None):
    """What the members returned, or the error of the first that raised one."""
    comms = (make or communicators())(n)
    found, errors = [None] * n, []

    def member(comm):
        try:
            found[comm.rank] = function(comm)
        except BaseException as error:
            errors.append(error)
            comm.gang.revoke(error)
        comm.finish()

    threads = [threading.Thread(target=member, args=(comm,), daemon=True) for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if errors:
        raise errors[0]
    return found


def communicators():
    from windrow.workers.gangs.threads.thread_comm import make_comms

    return make_comms


def errors(n, function, *, seconds=1.0):
    """What each member's function raised, which must be soon; nobody revokes."""
    comms = communicators()(n)
    found = [None] * n

    def member(comm):
        try:
            function(comm)
        except Exception as error:
            found[comm.rank] = error
        comm.finish()

    threads = [threading.Thread(target=member, args=(comm,), daemon=True) for comm in comms]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not any(x.is_alive() for x in threads)
    assert time.monotonic() - begin < seconds
    return found


def run_job(path, MPI):
    world = MPI.COMM_WORLD
    found = {}
    for n in SIZES:
        comm = world.Split(0 if world.rank < n else MPI.UNDEFINED)
        if comm == MPI.COMM_NULL:
            continue
        for name, function in (PROGRAMS | DERIVED).items():
            found[name, n] = comm.gather(function(comm, MPI))
    if world.rank == 0:
        with open(path, "wb") as file:
            pickle.dump(found, file)


def run_threads(path, MPI):
    found = {}
    for n in SIZES:
        for name, function in (PROGRAMS | (DERIVED if MPI.Is_initialized() else {})).items():
            found[name, n] = over_threads(n, lambda comm, f=function: f(comm, MPI))
    with open(path, "wb") as file:
        pickle.dump(found, file)


if __name__ == "__main__":
    import mpi4py

    mpi4py.rc.initialize = sys.argv[1] != "uninitialized"
    from mpi4py import MPI

    (run_job if sys.argv[1] == "job" else run_threads)(sys.argv[2], MPI)
