"""All workloads in the table's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import loops
import numerics
import workloads

if TYPE_CHECKING:
    from collections.abc import Callable

    from workloads import Case, Sizes, System


def cases(sizes: Sizes) -> dict[str, Callable[[System], Case]]:
    """Return what makes each workload's case, by name."""
    return workloads.cases(sizes) | numerics.cases(sizes) | loops.cases(sizes)
