"""Ranks that end before they join are an error, not a wait."""

import pytest

from windrow.workers.mpi.start import spawn

with pytest.raises(RuntimeError, match="no ranks could be spawned"):
    spawn(3, 1 << 20, "auto", ["-c", "import there_is_no_such_module"])
print("refused")
