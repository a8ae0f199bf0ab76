"""How jobs end whose ranks have ended early: with the status of the script, when nothing was lost by it."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.ranks

EXITS = """
    import os, sys, time
    import windrow as wr

    def exit_once(block, driver=os.getpid(), flag=os.path.abspath("flag")):
        time.sleep(0.02)
        if os.getpid() != driver:
            child = os.fork()
            if not child:
                os._exit(5)  # a child's own status is what it says
            assert os.waitpid(child, 0)[1] >> 8 == 5
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return block
            os._exit(3)
        return block

    print(wr.map_blocks(exit_once, wr.ones(60, chunks=1), dtype=float).sum().compute(), len(wr.cluster().losses))
    sys.exit({status})
"""


@pytest.mark.parametrize("how", ["spawn", "mpirun"])
@pytest.mark.parametrize("status", [0, 7])
def test_an_exit_that_was_recovered_from_is_no_failure(jobs, mpi, how, status):
    done = jobs.script(how, EXITS.format(status=status))
    assert (done.returncode, done.stdout) == (status, "60.0 1\n"), done.stderr
