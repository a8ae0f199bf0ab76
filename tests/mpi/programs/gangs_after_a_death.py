"""Rank programs that name, or count, a rank that was lost before. Prints what each gave, as JSON."""

import json

import windrow as wr
from support.ranks import await_losses, kill_a_rank

x = wr.arange(10, chunks=1)


def look(comm, x):
    return x.joined().tolist(), comm.size


def refused(members):
    try:
        wr.spmd(look, x, members=members)
    except wr.ClusterError as error:
        return str(error)


kill_a_rank(lambda rows: rows[0])
await_losses()
found = {"named": wr.spmd(look, x, members=[0, 1]), "counted": wr.spmd(look, x, members=3)}
found |= {"other": wr.spmd(look, x, members=[1]), "errors": [refused([0, 3]), refused(4)]}
print(json.dumps(found))
