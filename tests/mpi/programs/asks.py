"""Ranks ask each other in tasks and rank programs; one of them is killed while another waits for it."""

import json
import os
import signal
import threading

import numpy as np
from asked import Add, Silence

import windrow as wr
from windrow.workers.wire.rpc import own_calls


def offer(comm):
    calls = own_calls()
    calls.serve(Add, lambda question: question.reply((calls.rank, question.rank, question.message.what + 1)))
    calls.serve(Silence, lambda question: None)


def around(comm):
    calls = own_calls()
    big = np.arange(300_000)
    right = calls.ask((calls.rank + 1) % comm.size, Add(big))
    return right[0], right[1], bool((right[2] == big + 1).all())


def wait_for_last(block):
    calls = own_calls()
    if calls.rank == 2:
        return block
    try:
        calls.ask(2, Silence(), limit=30)
    except wr.ClusterError as error:
        return block + (2 if "rank 2 was lost" in str(error) else 100)
    return block


wr.spmd(offer)
found = {"around": wr.spmd(around)}
found["driver"] = own_calls().ask(1, Add(5))
pid = wr.cluster().info()[2]["pid"]
threading.Timer(0.7, os.kill, (pid, signal.SIGKILL)).start()
x = wr.map_blocks(wait_for_last, wr.zeros(30, chunks=1), dtype="f8").compute()
found["told"] = sorted(set(x.tolist()))
try:
    own_calls().ask(2, Add(1))
except wr.ClusterError as error:
    found["gone"] = str(error)
print(json.dumps(found))
