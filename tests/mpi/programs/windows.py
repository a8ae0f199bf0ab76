"""The window is there from the start: each rank's MPI describes it as its arena; nothing is said of it."""

import sys

from rank import ARENA, read, start, stop

from windrow.workers.mpi.start import leave
from windrow.workers.transport import Region

how, transport = sys.argv[1:]
link = start(how, 3, transport)
from mpi4py import MPI  # noqa: E402 - not before Windrow has set it up

windows = [peer.window for peer in link.peers]
assert all((x.size, x.unit, x.model, x.flavor) == (ARENA, 1, "unified", "create") for x in windows), windows
assert windows[0].base == link.arena(0).ctypes.data == link.window.Get_attr(MPI.WIN_BASE)
assert len({x.alone for x in windows}) == 1
assert windows[0].alone is (False if transport == "get" else None), windows
assert all(read(link, rank, Region(0, (600,), (64,), 8))[0] for rank in (1, 2))
assert all(read(link, rank, Region(0, (4096,), (1,), 1))[0] for rank in (1, 2))
# what lies in many pieces is asked for; so are all mapped ranks' bytes
assert link._fetcher.counts == ({"get": 2, "service": 2} if transport == "get" else {"service": 4})
print("exposed")
stop(link)
leave(link)
