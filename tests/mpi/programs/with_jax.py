"""JAX on members' chunks: without a copy, jit, grad and vmap; mpi4jax inside where it is installed."""

import importlib.util
import json
import os
import warnings

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

import windrow as wr


def in_place(comm, x):
    """Whether each chunk becomes a JAX array over the same memory."""
    found = []
    for chunk in x:
        array = jax.device_put(chunk, may_alias=True)
        found.append(array.unsafe_buffer_pointer() == chunk.ctypes.data)
    return found


def gradient(comm, x, y):
    """The gradient of a loss over all members: each its part, summed."""

    @jax.jit
    def loss(w, x, y):
        return ((jax.vmap(lambda row: row @ w)(x) - y) ** 2).sum()

    w = jnp.ones(x.shape[1], "f4")
    parts = [
        jax.grad(loss)(w, jax.device_put(a, may_alias=True), jax.device_put(b, may_alias=True))
        for a, b in zip(x, y, strict=True)
    ]
    mine, total = np.asarray(sum(parts)).copy(), np.empty(x.shape[1], "f4")
    comm.Allreduce(mine, total)
    return total.tolist()


def by_mpi4jax(comm):
    """A sum and a ring, inside of jitted functions."""
    import mpi4jax

    @jax.jit
    def talk(a):
        total = mpi4jax.allreduce(a, op=find_sum(), comm=comm)
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        return total, mpi4jax.sendrecv(a, a, source=left, dest=right, comm=comm)

    total, before = talk(jnp.full(1000, comm.rank, "f4"))
    return float(total[0]), float(before[-1])


def find_sum():
    from mpi4py import MPI

    return MPI.SUM


warnings.simplefilter("ignore")
rng = wr.random.default_rng(0)
x = rng.random((1024, 16), dtype="f4", chunks=(128, -1)).persist()
y = rng.random(1024, dtype="f4", chunks=128).persist()
a, b = wr.compute(x, y)
members = 2
found = {"in place": [each for member in wr.spmd(in_place, x, members=members) for each in member]}
expected = 2 * a.T @ (a @ np.ones(16, "f4") - b)
found["gradient"] = all(np.allclose(g, expected, rtol=1e-4) for g in wr.spmd(gradient, x, y, members=members))
if importlib.util.find_spec("mpi4jax") and len(wr.cluster().info()) > 1:
    found["mpi4jax"] = wr.spmd(by_mpi4jax, members=members)
print(json.dumps(found))
