"""A rank program comes to nothing after it has written, though no rank is lost, and runs again. JSON."""

import json
import os
import sys
import tempfile
from functools import partial

import numpy as np

import windrow as wr

counts = wr.shared.symmetric(300, "i8")
counts.add(np.arange(300), 1)


def work(comm, flag):
    counts.add(np.arange(300), 1)
    comm.Barrier()
    if comm.rank == 1 and not os.path.exists(flag):
        open(flag, "x").close()
        comm.Revoke()
    comm.Barrier()


with tempfile.TemporaryDirectory() as folder:
    counts.sync()
    wr.spmd(partial(work, flag=f"{folder}/1"))
    clean = np.unique(counts.to_numpy()).tolist(), os.path.exists(f"{folder}/1")
    try:
        wr.spmd(partial(work, flag=f"{folder}/2"))
        told = ""
    except wr.ClusterError as error:
        told = str(error)
    try:
        counts.sync()
        again = ""
    except wr.ClusterError as error:
        again = str(error)
    unclean = np.unique(counts.to_numpy()).tolist()
json.dump({"clean": clean, "unclean": unclean, "told": told, "again": again, "losses": wr.cluster().losses}, sys.stdout)
print()
