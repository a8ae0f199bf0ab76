"""What every transport must do, asked of the link between ranks; prints the name of each test that passed."""

import sys

from rank import start, stop

from support.transports import TransportTests
from windrow.workers.mpi.start.start import leave

how, route = sys.argv[1:]
link = start(how, 3, route)
for name in [name for name in vars(TransportTests) if name.startswith("test_")]:
    if name == "test_closing_twice_is_harmless":
        stop(link)
    getattr(TransportTests(), name)(link)
    print(name, flush=True)
leave(link)
