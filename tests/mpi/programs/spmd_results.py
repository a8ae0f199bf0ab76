"""A script that all ranks run: results, persisted arrays, local chunks, rank programs, files, errors."""

import json
import os
import sys

import numpy as np

import windrow as wr


def check_own(kept, *results):
    """What is handed out is written to, which changes nothing that is kept."""
    for values in map(np.asarray, (kept, kept[:7], *results)):
        values *= 0
    assert (np.asarray(kept) == 3).all()
    assert (kept.compute() == 3).all()


out: dict[str, object] = {"rank": wr.rank(), "size": wr.size(), "arena": wr.arena().rank}
x = wr.random.default_rng().random((400, 30), chunks=(20, 30))  # no seed is given
data = np.arange(600.0).reshape(20, 30)
total = float((x[:20] + wr.from_array(data, chunks=(5, 30))).sum())
out["mean"] = float(x.mean())
out["total"] = total - float(x[:20].sum())

kept = (wr.ones(400_000, chunks=10_000) * 3).persist()
wr.wait(kept, timeout=30)
out["small"] = len((wr.arange(31, chunks=1) * 2).persist().local)
whole = kept.compute()  # larger than what comes with an answer
assert whole.flags.writeable
check_own(kept, kept + 1)
assert float(wr.sum(kept[:2] + 10**30)) == 2e30
out["whole"] = [whole.shape[0], float(whole.sum())]
local = kept.local
mine = [b[0] for b in local.blocks]
assert [kept.owner(k) for k in mine] == [wr.rank()] * len(mine)
assert all(not c.flags.writeable and (c == 3).all() for c in local)
assert all(wr.arena().locate(c)[0] == wr.rank() for c in local)
out["mine"] = mine
out["slices"] = [[s.start, s.stop] for (s,) in kept.local_slices]
sums = wr.comm().allreduce(sum(float(c.sum()) for c in local))
out["sums"] = sums


class Scale:
    words = frozenset({"one", "two", "three"})

    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, block: np.ndarray) -> np.ndarray:
        return block * self.by


out["mapped"] = float(wr.map_blocks(Scale(2), kept).sum())
masked = kept[wr.arange(400_000, chunks=10_000) % 1000 == 0]
out["masked"] = len(masked)
out["unique"] = np.unique(np.asarray(wr.unique(x.round(1)))).shape[0]
returned = wr.spmd(lambda comm, part: (comm.rank, Scale(len(part))), kept)
out["gang"] = [rank for rank, _ in returned]
out["same class"] = all(isinstance(scale, Scale) for _, scale in returned)

for _ in range(5):
    kept = (kept + 1).persist()
out["loop"] = float(kept.sum())


class OwnError(Exception):
    pass


def wrong(block: np.ndarray) -> np.ndarray:
    raise OwnError("of the function")


try:
    wr.map_blocks(wrong, x, dtype=float).sum().compute()
except OwnError as error:
    out["error"] = str(error)
bad = wr.map_blocks(wrong, x, dtype=float).persist()
try:
    wr.wait(bad)
except OwnError as error:
    out["waited"] = str(error)
out["after"] = float(x.max() <= 1)

folder = sys.argv[1]
wr.save(os.path.join(folder, "saved"), kept)
out["loaded"] = float(wr.load(os.path.join(folder, "saved")).sum())
kept.to_npy(os.path.join(folder, "one.npy"))
out["npy"] = float(np.load(os.path.join(folder, "one.npy")).sum())
out["file"] = float(wr.from_npy(os.path.join(folder, "one.npy")).compute().sum())

table = wr.shared.object({"rank": wr.rank(), "squares": np.arange(10) ** 2})
out["table"] = [table["rank"], int(table["squares"][3])]
out["looked up"] = wr.map_blocks(lambda b: table["squares"][b], wr.arange(10, chunks=5)).compute().tolist()

with open(os.path.join(folder, f"{wr.rank()}.json"), "w") as file:
    json.dump(out, file)
if wr.rank() == 0:
    print("all is well")
