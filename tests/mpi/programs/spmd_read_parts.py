"""As MPI programs do: each rank reads its own part of a file, and rank 0 writes a report.

Statistics come by messages of the script's own, by a rank program that puts the parts together to one array, and from
the file as a whole; they agree.
"""

import sys

import numpy as np

import windrow as wr

path, report = sys.argv[1:]
comm, rank, size = wr.comm(), wr.rank(), wr.size()
columns = 8
rows = np.memmap(path, "f8", "r").size // columns
first, last = rank * rows // size, (rank + 1) * rows // size
part = np.fromfile(path, "f8", (last - first) * columns, offset=first * columns * 8).reshape(-1, columns)

total, squares = np.zeros(columns), np.zeros(columns)
comm.Allreduce(part.sum(axis=0), total)
comm.Allreduce((part**2).sum(axis=0), squares)
mean = total / rows
spread = np.sqrt(squares / rows - mean**2)


def read(comm, out):
    for block, (where, _) in zip(out, out.slices, strict=True):
        block[...] = np.fromfile(path, "f8", block.size, offset=where.start * columns * 8).reshape(block.shape)


x = wr.spmd(read, out=wr.Spec((rows, columns), "f8", chunks=(rows // 10, columns))).persist()
np.testing.assert_allclose(x.mean(axis=0).compute(), mean)
np.testing.assert_allclose(x.std(axis=0).compute(), spread)
outliers = len(x[np.abs(x - mean).max(axis=1) > 2 * spread.max()])
mine = int((np.abs(part - mean).max(axis=1) > 2 * spread.max()).sum())
assert outliers == comm.allreduce(mine), (outliers, mine)
assert sum(comm.allgather(sum(len(block) for block in x.local))) == rows
if rank == 0:
    with open(report, "w") as file:
        print(rows, outliers, *mean.round(6), file=file)
