"""The window is there from the start: each rank's MPI describes it as its arena; nothing is said of it."""

import sys
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
from rank import ARENA, read, start, stop

from windrow.workers.mpi.start.start import leave
from windrow.workers.wire.transport import Region

how, transport = sys.argv[1:]
link = start(how, 3, transport)
from mpi4py import MPI  # noqa: E402 - not before Windrow has set it up

from windrow.workers.mpi.rma import window  # noqa: E402
from windrow.workers.mpi.rma.gets import MOST_PIECES  # noqa: E402
from windrow.workers.mpi.rma.window import gets_are_safe  # noqa: E402
from windrow.workers.mpi.start import handshake  # noqa: E402

windows = [peer.window for peer in link.peers]
assert all((x.size, x.unit, x.model, x.flavor) == (ARENA, 1, "unified", "create") for x in windows), windows
assert windows[0].base == link.arena(0).ctypes.data == link.window.Get_attr(MPI.WIN_BASE)
assert len({x.alone for x in windows}) == 1
assert windows[0].alone is (False if transport == "get" else None), windows
assert all(read(link, rank, Region(0, (600,), (64,), 8))[0] for rank in (1, 2))
assert all(read(link, rank, Region(0, (4096,), (1,), 1))[0] for rank in (1, 2))
# what lies in many pieces is asked for; so are all mapped ranks' bytes
assert link._fetcher.counts == ({"get": 2, "service": 2} if transport == "get" else {"service": 4})

gets, ended = link._fetcher._gets, []
for number in range(24):  # 16 pieces each
    link.fetch(1 + number % 2, Region(8 * number, (16,), (512,), 8), np.zeros(128, np.uint8), ended.append)
most = 0
while len(ended) < 24:
    most = max(most, sum(each.pieces for each in gets._flying))
    link.poll(0.1)
assert all(ended)
assert (0 < most <= MOST_PIECES) if transport == "get" else most == 0, most

for survives, routed_by_ofi, safe in ((True, True, False), (True, False, True), (False, True, True)):
    with patch.multiple(window, ulfm_enabled=lambda: survives, allows_btl=lambda name: routed_by_ofi):  # noqa: B023
        assert gets_are_safe() is safe, "where a death would end whoever gets, nobody does by himself"

alike = [SimpleNamespace(rank=rank, allreduce=lambda value, *_: value) for rank in (0, 1)]
exposure = SimpleNamespace(window=None, unified=True)
found = {"gets_alone": lambda *_: True, "meet": lambda *_: True, "gets_are_safe": lambda: True}
for survives, of_driver in ((True, "service"), (False, "get")):
    with patch.multiple(handshake, ulfm_enabled=lambda: survives, **found):  # noqa: B023
        routes = [handshake._choose(comm, exposure, "auto", {2}, 1) for comm in alike]
        assert routes == [(of_driver, True), ("get", True)], routes
        assert handshake._choose(alike[0], exposure, "get", {2}, 1) == ("get", True)
print("exposed")
stop(link)
leave(link)
