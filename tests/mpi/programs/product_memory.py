"""Prints how many times the array the arenas hold at most for products that sum over rows, and digests of these."""

import json

import numpy as np

import windrow as wr
from windrow.scheduler.ledger.arena import ArenaAllocator

N = 800
CALLS = {
    "matmul": lambda x: x.T @ x,
    "tensordot": lambda x: wr.tensordot(x, x, ((0,), (0,))),
    "einsum": lambda x: wr.einsum("ki,kj->ij", x, x),
    "cov": lambda x: wr.cov(x, rowvar=False),
    "corrcoef": lambda x: wr.corrcoef(x, rowvar=False),
}
used, most = 0, 0
take, give = ArenaAllocator._take, ArenaAllocator.give


def counted_take(arena, nbytes):
    global used, most
    offset = take(arena, nbytes)
    if offset is not None:
        used += nbytes
        most = max(most, used)
    return offset


def counted_give(arena, offset, nbytes):
    global used
    give(arena, offset, nbytes)
    used -= arena.pad_size(nbytes)


ArenaAllocator._take, ArenaAllocator.give = counted_take, counted_give
x = wr.random.default_rng(1).random((N, N), chunks=(40, N)).persist()
wr.wait(x)
own = x.compute()
expected = {"cov": np.cov(own, rowvar=False), "corrcoef": np.corrcoef(own, rowvar=False)}
times, digests = {}, {}
for name, call in CALLS.items():
    before = most = used
    found = call(x).compute()
    np.testing.assert_allclose(found, expected.get(name, own.T @ own), rtol=1e-9, atol=1e-12)
    times[name] = (most - before) / x.nbytes
    digests[name] = int(np.bitwise_xor.reduce(found.view("u8").ravel() * np.arange(1, 2 * N * N, 2, dtype="u8")))
print(json.dumps([times, digests]))
