"""Every reduction that is a function, over all axes and along one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import windrow as wr
from windrow.workers.kernels.reductions import REDUCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable


def cases(a: dict[str, wr.Array], keep: Callable[[wr.Array], wr.Array]) -> dict[str, wr.Array]:
    """Two expressions for each reduction."""
    y = a["y"]
    holes = keep(wr.where(y > 1, y, np.nan))
    reduced = {}
    for name in REDUCTIONS:
        function = getattr(wr, name, None)
        if function is not None and not isinstance(function, type(wr.add)):
            reduced[f"{name}-over-all"] = function(holes)
            reduced[f"{name}-over-0"] = function(holes + 1, axis=0)
    return reduced
