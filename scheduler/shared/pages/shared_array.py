"""Shared arrays as a script sees them: read at any time, updated between computations."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ....graph.arguments import is_array
from ....graph.errors import ClusterError
from ....workers.shared.docstrings import SHARED
from ....workers.shared.pages.additions import check_addition, check_numbers, check_values, note
from ....workers.shared.pages.positions import integers
from ....workers.shared.pages.snapshot import Paged, gather
from ....workers.shared.pickled_by_name import note_use
from ...session.cluster import engines, running
from .applying import apply_all
from .counting import arrays
from .versions import Pages

if TYPE_CHECKING:
    from ....workers.shared.pages.additions import Addition
    from ....workers.shared.pages.snapshot import PageLayout
    from .lease import Lease

Array = np.ndarray[Any, Any]


class SharedArray(Paged):
    """A large array that tasks read sparsely, updated between computations; `windrow.shared.array` returns it.

    A function that uses it sees the version that was there when its lazy array was made, whenever it runs.
    `v[index]` gathers what NumPy's indexing does: rows, elements, slices, as an array of its own. With lazy positions
    the result is lazy, too, and comes of the version that is there now. In functions `v.add_at(index, values)` adds to
    it when the computation is through.

    Parameters
    ----------
    layout : PageLayout
        Shape, dtype and pages.

    Attributes
    ----------
    shape : tuple of int
        Shape.
    dtype : numpy.dtype
        The elements' dtype.
    nbytes : int
        Bytes of the elements.

    Raises
    ------
    OSError
        There is no memory for it.

    >>> import numpy as np
    >>> import windrow as wr
    >>> v = wr.shared.array(np.zeros(4))
    >>> before = wr.map_blocks(lambda block: v[block], wr.arange(4, chunks=2), dtype=float)
    >>> v.update([0, 3], [1, 2])
    >>> v[:], before.compute()
    (array([1., 0., 0., 2.]), array([0., 0., 0., 0.]))
    """

    def __init__(self, layout: PageLayout) -> None:
        self._layout = layout
        self._pages = Pages(self._layout, _let_engine_forget)
        self._due: list[Addition] = []
        self._lock = threading.RLock()
        self._process = os.getpid()
        arrays[self._layout.token] = self

    def __getitem__(self, index: Any) -> Any:
        for part in cast("tuple[object, ...]", index) if isinstance(index, tuple) else (index,):
            pick_lazily = getattr(part, "_pick_from", None)  # a lazy array's
            if pick_lazily is not None:
                return pick_lazily(self, index)
        return self._gather(integers(index))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[...], dtype=dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        lease = self._lease()
        if not note_use(lease):  # who knows how long this pickle is kept
            weakref.finalize(self, _hold, lease)
        return lease.version.shared.__reduce__()

    def update(self, index: Any, values: Any) -> None:
        """Write values at positions, as `v[index] = values` does for NumPy's arrays.

        Lazy arrays made before go on with what was there.

        {index_values}

        >>> import numpy as np
        >>> import windrow as wr
        >>> v = wr.shared.array(np.zeros((3, 2)))
        >>> v.update(1, [5, 6])
        >>> v[1]
        array([5., 6.])
        """
        self._change("update", check_addition("update", self._layout, integers(index), values))

    def add(self, index: Any, values: Any) -> None:
        """Add values at positions; repeated positions count each, as in `numpy.add.at`.

        {index_values}

        >>> import numpy as np
        >>> import windrow as wr
        >>> v = wr.shared.array(np.zeros(3))
        >>> v.add([1, 1, 2], 1)
        >>> v[:]
        array([0., 2., 1.])
        """
        check_numbers("add", self._layout)
        self._change("add", check_addition("add", self._layout, integers(index), values))

    def add_at(self, index: Any, values: Any) -> None:
        """Add values at positions when the computation is through, in a function of `map_blocks` or `spmd`.

        Each block of a lazy array counts once, however often it is computed; equal lazy arrays are one. Additions are
        made in the order of blocks, and of calls within a block, whichever ranks computed them.

        Parameters
        ----------
        index : int, slice, array or tuple
            Rows or elements.
        values : array_like
            What broadcasts to what the index picks.

        Raises
        ------
        ArgumentError
            It is called elsewhere.
        IndexingError, DTypeError, BadValue
            As for `add`.

        >>> import numpy as np
        >>> import windrow as wr
        >>> v = wr.shared.array(np.zeros(3, int))
        >>> def count(block):
        ...     v.add_at(block % 3, 1)
        ...     return block
        >>> _ = wr.map_blocks(count, wr.arange(10, chunks=4)).compute()
        >>> v[:]
        array([4, 3, 3])
        """
        note(self._layout, index, values)

    def info(self) -> dict[str, int]:
        """Tell what the array takes, and what has gone over networks.

        Returns
        -------
        dict
            "pages", "page" (bytes of one), "used" (bytes of memory that all versions take together on this host),
            "copied" (pages that were copied, since an earlier version was needed), "sent" (bytes of pages that this
            process has sent to other hosts).

        >>> import numpy as np
        >>> import windrow as wr
        >>> wr.shared.array(np.zeros(100)).info()["pages"]
        1
        """
        return self._tell()

    # ---------------------------------------------------------------- what SPMD mode does otherwise

    def _gather(self, index: Any) -> Any:
        with self._lock:
            return gather(self._settled().array, index)

    def _change(self, operation: str, change: Addition) -> None:
        """Write or add what was checked."""
        self._check_process(operation)
        with self._lock:
            self._settled().prepare(change.pages)
            if operation == "add":
                apply_all(self._pages.array, [change])
            else:
                index = change.index  # of repeated positions the last one holds: in their order, not that of memory
                index = np.ascontiguousarray(index) if is_array(index) else index
                self._pages.array[index] = change.values

    def _tell(self) -> dict[str, int]:
        with self._lock:
            pages = self._settled()
            layout = self._layout
            sent = sum(engine.local.pages.sent.get(layout.token, 0) for engine in engines())
            return {
                "pages": layout.pages,
                "page": layout.page,
                "used": pages.used,
                "copied": pages.copied,
                "sent": sent,
            }

    def _fill(self, index: Any, values: Array) -> None:
        """Write what an array begins with, which fits; before `_begin`."""
        with self._lock:
            self._pages.array[index] = values

    def _begin(self) -> None:
        """Have the array be read from now on."""

    def _stand_in(self, other: SharedArray) -> None:
        """Take what functions add to another one from now on, which is as long at most."""
        arrays[other._layout.token] = self

    # ---------------------------------------------------------------- versions

    def _lease(self) -> Lease:
        """Return what keeps the present version, with all additions that are due."""
        with self._lock:
            return self._settled().lease()

    def _is_at(self, lease: Lease) -> bool:
        """Tell whether a lease is still that of the present version."""
        with self._lock:
            return not self._due and self._pages.is_at(lease)

    def _check_values(self, operation: str, shape: tuple[int, ...], values: Any, argument: str = "values") -> Array:
        """Return values that fit a shape and the dtype."""
        if operation == "add":
            check_numbers(operation, self._layout)
        return check_values(operation, self._layout, shape, values, argument)

    def _put_due(self, additions: list[Addition]) -> None:
        """Have additions made before the array is next used: later, fewer need what is there now."""
        with self._lock:
            self._due += additions

    def _check_process(self, operation: str) -> None:
        """Raise in a forked child, which has the parent's pages and not what the parent knows of their versions."""
        if os.getpid() != self._process:
            raise ClusterError(
                f"{operation}: the shared array is that of the process from which this one was forked, which "
                "updates it; make one here, or start processes by multiprocessing.get_context('spawn')"
            )

    def _settled(self) -> Pages:
        """Return the pages once all additions that are due are made."""
        if self._due:
            self._check_process("to make additions that are due")
            due, self._due = self._due, []
            self._pages.prepare(np.unique(np.concatenate([each.pages for each in due])))
            apply_all(self._pages.array, due)
        return self._pages


def _hold(lease: object) -> None:
    """Hold something as long as the finalizer that calls this."""


def _let_engine_forget() -> None:
    """Have the engine let go of the stages of what has ended."""
    session = running()
    if session is not None and not session.closed:
        session.engine.ask(lambda engine: None)


SHARED.fill(__name__)
