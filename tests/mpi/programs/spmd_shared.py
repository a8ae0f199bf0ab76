"""What all ranks share, loops and training, in a script that every rank runs."""

import json
import sys

import numpy as np
from sklearn.linear_model import SGDClassifier

import windrow as wr
from windrow.ml import cluster, linear_model
from windrow.ml.search import GridSearch

rank, size, comm = wr.rank(), wr.size(), wr.comm()
out: dict[str, object] = {}

counts = wr.shared.symmetric(10, "i8")
counts.add(np.arange(10), rank + 1)
comm.Barrier()
out["counts"] = [int(counts.get(k)) for k in range(10)]

space = wr.shared.space()
space.put("part", rank)
comm.Barrier()
out["part"] = sorted(comm.allgather(space.get("part", timeout=10)))

points = np.random.default_rng(0).random((100, 2))
found = wr.shared.KDTree(points).query(wr.from_array(points[:5] + 1e-4, chunks=(3, 2)))
out["nearest"] = np.asarray(found[1]).tolist()

x = wr.zeros((40, 40), chunks=(10, 40))
x[20, 20] = 1.0
stepped = wr.fori_loop(0, 20, lambda i, u: u + 0.1 * (wr.roll(u, 1, 0) - 2 * u + wr.roll(u, -1, 0)), x)
out["loop"] = float(stepped.max())
out["while"] = float(wr.while_loop(lambda u: u.max() < 100, lambda u: u * 2 + 1, wr.ones(10, chunks=3)).sum())

rows = wr.random.default_rng(0).normal(size=(1000, 4), chunks=(250, 4))
labels = (rows @ np.array([1.0, -2.0, 0.5, 0.0]) > 0).astype(int)
out["logistic"] = float(linear_model.LogisticRegression().fit(rows, labels).score(rows, labels))
out["sgd"] = float(linear_model.SGDClassifier(max_iter=2).fit(rows, labels).score(rows, labels))
search = GridSearch(SGDClassifier(), {"alpha": [1e-4, 1e-2]}, epochs=2).fit(rows, labels)
out["search"] = search.best_score_, search.best_estimator_.coef_.tolist()
out["centres"] = cluster.KMeans(2, n_init=1).fit(rows).cluster_centers_.tolist()

v = wr.shared.array(np.zeros(50_000), page="4 KiB")
v.update(slice(0, 5), np.arange(5.0))
before = wr.map_blocks(lambda block: v[block], wr.arange(5, chunks=2), dtype=float)
v.update([0, 4], [10, 20])
v.add([1, 1], 0.5)
out["picked"] = v[wr.arange(5, chunks=2)[::-1]].compute().tolist()
out["each its own"] = comm.allgather(float(v[rank]))
out["before and after"] = before.compute().tolist(), v[:5].tolist()


def count(block):
    v.add_at(block % 3, 1)
    return block


added = wr.map_blocks(count, wr.arange(10, chunks=4))
out["ten"] = int(added.max())
out["added"] = v[:3].tolist()
kept = wr.map_blocks(lambda block: count(block) + 1, wr.arange(10, chunks=4)).persist()
wr.wait(kept)
large = wr.map_blocks(lambda block: count(block) + 2, wr.arange(90_000, chunks=40_000)).compute()
out["large"] = int(large.sum()), v[:3].tolist()
out["copied"] = v.info()["copied"] <= v.info()["pages"]
out["of lazy"] = wr.shared.array(wr.arange(10, chunks=3))[2:4].tolist()
try:
    v.update(0, rank)
except wr.ClusterError as error:
    out["other values"] = str(error)
try:
    v.update(50_000, 1)
except wr.IndexingError:
    out["beyond"] = v[:1].tolist()

table = wr.shared.Table(np.arange(5000), np.arange(5000.0))
names = wr.from_array(np.array([7, 3, 6000]), chunks=2)
look = table.get(names, default=-1.0)
table.put(np.arange(6000, 12000), 1.0)
table.add([7, 6000], 0.5)
out["table"] = look.compute().tolist(), table.get(names).compute().tolist(), table.get([7, rank]).tolist()[:1]
out["keys"] = len(table)


def streamed(block):
    table.add(block, 1.0)
    return block


wr.map_blocks(streamed, wr.arange(6, chunks=2)).compute()
out["streamed"] = table.get([0, 5]).tolist()

copies = wr.shared.replicated(2, "i8")
copies.local[:] = rank + 1
copies.reduce_sum()
copies.reduce_max(comm)
out["summed"] = copies.local.tolist()
copies.local[:] = rank
comm.Barrier()
copies.bcast(size - 1)
out["of the last"] = copies.local.tolist()
counts.sync()
try:
    wr.shared.symmetric(3 + rank)
except wr.ClusterError as error:
    out["shapes"] = str(error)
del copies, counts, space
wr.ones(3).sum().compute()
with open(f"{sys.argv[1]}/{rank}.json", "w") as file:
    json.dump(out, file)
