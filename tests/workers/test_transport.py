"""The transport of the embedded engine does what all do; tests/mpi/test_link.py asks the same of that between ranks."""

from __future__ import annotations

import numpy as np
import pytest

from support.transports import TransportTests
from windrow.workers.wire.embedded import EmbeddedTransport
from windrow.workers.wire.transport import Region


class TestEmbeddedTransport(TransportTests):
    @pytest.fixture
    def transport(self):
        transport = EmbeddedTransport(1 << 20)
        yield transport
        transport.close()

    def test_there_is_nobody_to_send_to(self, transport):
        with pytest.raises(ValueError, match="no rank 1"):
            transport.send(1, "hello")

    def test_what_is_in_place_is_not_fetched(self, transport):
        outcomes = []
        transport.fetch(0, Region(0, (8,), (1,), 1), np.zeros(8, np.uint8), outcomes.append)
        assert outcomes == [False]
