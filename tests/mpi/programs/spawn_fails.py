"""Ranks that end before they join are an error, not a wait."""

import pytest

from windrow.workers.mpi.start.start import spawn

# The launcher loses what ranks wrote that end while it still starts others.
FAILS = """
import sys, time, traceback
try:
    import there_is_no_such_module
except ImportError:
    traceback.print_exc()
    sys.stderr.flush()
    time.sleep(0.5)
    sys.exit(1)
"""

with pytest.raises(RuntimeError, match="no ranks could be spawned"):
    spawn(3, 1 << 20, "auto", ["-c", FAILS])
print("refused")
