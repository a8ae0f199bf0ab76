"""SPMD mode: every rank runs the script, and one engine computes.

    python -m windrow --spmd      scheduler/cli/spmd.py: the script on the main thread, a rank's I/O loop beside it
    MemberSession                 what `compute`, `persist` and rank programs ask, on every rank, rank 0's among them
    Report, Roll                  what each rank asks for in its n-th call; rank 0 names who differs, or is late
    Leader                        rank 0: when all have come its own call runs on the one engine, and all are answered
    Columns, read                 where chunks lie; each rank reads them itself, in place where it can

A collective call is one question to rank 0 (`workers/wire/rpc.py`), whose answer comes when all living ranks have asked
the same: the number of the call, its kind, and the tokens of the expressions. Nothing but names travels to rank 0,
since its own script has made the same expressions. Seeds, handed-in arrays and functions have names that all ranks
agree on (`graph/expr/names.py`). Small values come with the answer; of large ones the places do, and rank 0 holds the
chunks until all have read. What operations decide by asking whether something is stored must come out equal on all
ranks: so what is persisted goes when all ranks have let go of it and have told so with a later call, after which it is
gone for all of them at once (`Leader.settle`).

A rank whose script has ended, and one that is lost, take part in nothing any more: the former is an error for whoever
waits for it, the latter is left out. A script that fails revokes the ranks' communicator, so that nobody waits in a
call of MPI's; ranks that don't end then are ended.
"""
