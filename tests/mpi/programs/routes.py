"""Strided regions have the same bytes by every route, while their owner computes, and from spill files."""

import sys
import tempfile

import numpy as np
from rank import collect, pattern, read, start, stop

from windrow.workers.mpi.start.start import leave
from windrow.workers.wire.transport import Region

REGIONS = [
    Region(0, (1 << 20,), (1,), 1),
    Region(64, (100, 50), (4096, 8), 8),
    Region(128, (50, 100), (8, 4096), 8),
    Region(8 * 1000, (10, 11, 12), (8000, -64, 16), 8),
    Region(999_000, (500,), (-16,), 4),
    Region(40, (5, 7), (0, 24), 8),
    Region(3, (3, 4, 2), (80, 20, 5), 5),
    Region(64, (), (), 16),
]


def expected(rank, region):
    data = pattern(rank)[region.offset :]
    shape, strides = (*region.shape, region.itemsize), (*region.strides, 1)
    return np.lib.stride_tricks.as_strided(data, shape, strides).reshape(-1)


how, transport, route = sys.argv[1:]
link = start(how, 3, transport)
assert [p.route for p in link.peers] == ["own", route, route], link.peers
for busy in (False, True):
    for region in REGIONS:
        for owner in (1, 2):
            ok, data = read(link, owner, region)
            assert ok, (owner, region)
            assert np.array_equal(data, expected(owner, region)), (owner, region)
        for reader, owner in ((1, 2), (2, 1), (1, 0)):
            link.send(reader, ("read", owner, region))
            ((_, ok, data),) = collect(link, 1)
            assert ok, (reader, owner, region)
            assert np.array_equal(data, expected(owner, region)), (reader, owner, region)
    if not busy:
        link.send(1, ("compute", 10.0))
print("equal")

for owner in (1, 2):
    link.send(owner, ("spill", tempfile.gettempdir()))
    ((_, fd),) = collect(link, 1)
    ok, data = read(link, owner, Region(10, (100, 3), (1000, 2), 2, fd))
    whole = pattern(owner + 100)
    assert ok
    part = np.lib.stride_tricks.as_strided(whole[10:], (100, 3, 2), (1000, 2, 1))
    assert np.array_equal(data, part.reshape(-1))
    view = link.map_spill_file(owner, fd)
    assert (view is None) == (route != "map")
    assert view is None or np.array_equal(view, whole)
    if route == "map":
        assert np.array_equal(link.arena(owner)[: 1 << 20], pattern(owner))
        assert not link.arena(owner).flags.writeable
    else:
        assert link.arena(owner) is None
    ok, _ = read(link, owner, Region(0, (8,), (1,), 1, 9999))
    assert ok is False, "a file that is not there"
print("spilled")
stop(link)
leave(link)
