"""Arrays that are dealt out over all ranks, and whose elements any of them changes atomically."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...rank.task_context import task_context
from ..docstrings import SHARED
from .batches import NONE
from .elements import Elements

if TYPE_CHECKING:
    from .local_parts import Generation

Array = np.ndarray[Any, Any]


class Symmetric(Elements):
    """An array that lies on all ranks, read and changed by any of them at any time.

    `windrow.shared.symmetric` makes it. Each operation takes one position or many. A position is an integer or, for
    several axes, a tuple of them; many are an array of integers, or a tuple of arrays that broadcast. Negative ones
    count from the end. With many positions values are one for all, or one for each.

    Attributes
    ----------
    shape : tuple of int
        Its shape.
    dtype : numpy.dtype
        Type of its elements.
    size, nbytes : int
        Number of elements, and their bytes.
    local : numpy.ndarray
        This rank's own part, writable, flat.
    local_slice : slice
        Which elements these are, counted flat in C order.

    Notes
    -----
    An operation is through when it returns: others see what it did. Each element is changed atomically, but a batch is
    no unit: others may see half of it. What several ranks add to a float depends on their order in the last bits.

    >>> counts = wr.shared.symmetric((2, 3), "i8")
    >>> counts.add(([0, 1], [2, 0]), 5)
    >>> counts.to_numpy().tolist(), counts.fetch_add((0, 2), 1)
    ([[0, 0, 5], [5, 0, 0]], np.int64(5))
    """

    def get(self, i: Any) -> Any:
        """Return elements.

        Parameters
        ----------
        i : int, tuple or array of int
            Which.

        Returns
        -------
        scalar or numpy.ndarray
            One element, or as many as there are positions.

        Raises
        ------
        IndexError
            A position is out of bounds, or none.

        >>> c = wr.shared.symmetric(4, "i8", fill=7)
        >>> c.get(-1), c.get([0, 1])
        (np.int64(7), array([7, 7]))
        """
        size = self._size
        place = (i if i >= 0 else i + size) if type(i) is int and -size <= i < size else self._find_one(i)
        address = self._find_address(place)
        if address:
            return self._scalar(self._one["get"](address))
        return self._many("get", i, NONE, False)

    def set(self, i: Any, v: Any) -> None:
        """Set elements.

        Parameters
        ----------
        i : int, tuple or array of int
            Which. Where one comes twice, the last value stays.
        v : scalar or array
            Their values.

        Raises
        ------
        IndexError
            A position is out of bounds, or none.

        >>> c = wr.shared.symmetric((2, 2), "f8")
        >>> c.set(([0, 1], [0, 1]), 1)
        >>> c.to_numpy()
        array([[1., 0.],
               [0., 1.]])
        """
        self._apply("set", i, v)

    def add(self, i: Any, v: Any) -> None:
        """Add to elements.

        Parameters
        ----------
        i : int, tuple or array of int
            Which. Where one comes twice, both values are added.
        v : scalar or array
            What. Integers wrap around.

        Raises
        ------
        IndexError
            A position is out of bounds, or none.
        DTypeError
            The elements are booleans.

        >>> c = wr.shared.symmetric(3, "i8")
        >>> c.add([0, 2, 2], 1)
        >>> c.to_numpy()
        array([1, 0, 2])
        """
        self._apply("add", i, v)

    def fetch_add(self, i: Any, v: Any) -> Any:
        """Add to elements, and return what they were before.

        Parameters
        ----------
        i : int, tuple or array of int
            Which.
        v : scalar or array
            What.

        Returns
        -------
        scalar or numpy.ndarray
            The elements, each as it was right before its addition.

        Raises
        ------
        IndexError
            A position is out of bounds, or none.
        DTypeError
            The elements are booleans.

        Examples
        --------
        Numbers that no two callers get:

        >>> import windrow as wr
        >>> counter = wr.shared.symmetric(1, "i8")
        >>> wr.spmd(lambda comm: sorted(int(counter.fetch_add(0, 1)) >= 0 for _ in range(2)), members=2)
        [[True, True], [True, True]]
        >>> counter.get(0)
        np.int64(4)
        """
        return self._apply("fetch_add", i, v)

    def bitwise_or(self, i: Any, v: Any) -> None:
        """Set bits of elements.

        {bits}

        >>> c = wr.shared.symmetric(2, "u1", fill=1)
        >>> c.bitwise_or([0, 1], [2, 4])
        >>> c.to_numpy()
        array([3, 5], dtype=uint8)
        """
        self._apply("or", i, v)

    def bitwise_and(self, i: Any, v: Any) -> None:
        """Keep bits of elements.

        {bits}

        >>> c = wr.shared.symmetric(2, "u1", fill=7)
        >>> c.bitwise_and(0, 5)
        >>> c.to_numpy()
        array([5, 7], dtype=uint8)
        """
        self._apply("and", i, v)

    def bitwise_xor(self, i: Any, v: Any) -> None:
        """Flip bits of elements.

        {bits}

        >>> c = wr.shared.symmetric(2, "u1", fill=7)
        >>> c.bitwise_xor([0, 0, 1], 2)
        >>> c.to_numpy()
        array([7, 5], dtype=uint8)
        """
        self._apply("xor", i, v)

    def fetch_or(self, i: Any, v: Any) -> Any:
        """Set bits of elements, and return what they were before.

        {bits_before}

        Examples
        --------
        Who comes first to a vertex:

        >>> import windrow as wr
        >>> visited = wr.shared.symmetric(4, bool)
        >>> visited.fetch_or([2, 2, 3], True)
        array([False,  True, False])
        """
        return self._apply("fetch_or", i, v)

    def fetch_and(self, i: Any, v: Any) -> Any:
        """Keep bits of elements, and return what they were before.

        {bits_before}

        >>> c = wr.shared.symmetric(2, "u1", fill=7)
        >>> c.fetch_and(0, 5), c.get(0)
        (np.uint8(7), np.uint8(5))
        """
        return self._apply("fetch_and", i, v)

    def fetch_xor(self, i: Any, v: Any) -> Any:
        """Flip bits of elements, and return what they were before.

        {bits_before}

        >>> c = wr.shared.symmetric(2, "u1", fill=7)
        >>> c.fetch_xor(0, 1), c.get(0)
        (np.uint8(7), np.uint8(6))
        """
        return self._apply("fetch_xor", i, v)

    def compare_and_swap(self, i: Any, expected: Any, v: Any) -> Any:
        """Set elements that are as expected, and return what they were before.

        Parameters
        ----------
        i : int, tuple or array of int
            Which.
        expected : scalar or array
            What an element must be to be set; floats are compared bit by bit.
        v : scalar or array
            What it becomes.

        Returns
        -------
        scalar or numpy.ndarray
            What the elements were: those equal to `expected` have been set.

        Raises
        ------
        IndexError
            A position is out of bounds, or none.

        >>> parent = wr.shared.symmetric(3, "i8", fill=-1)
        >>> parent.compare_and_swap([1, 1], -1, [5, 6])
        array([-1,  5])
        >>> parent.get(1)
        np.int64(5)
        """
        size = self._size
        place = (i if i >= 0 else i + size) if type(i) is int and -size <= i < size else self._find_one(i)
        new = v.item() if type(v) is self._scalar else v
        old = expected.item() if type(expected) is self._scalar else expected
        kinds = self._plain
        if type(new) in kinds and type(old) in kinds and self._least <= new <= self._most >= old >= self._least:
            address = self._find_address(place)
            if address:
                self._held.wrote = True
                return self._scalar(self._one["compare_and_swap"](address, old, new))
        return self._many("compare_and_swap", i, v, expected)

    # ---------------------------------------------------------------- the whole, and the own part

    @property
    def local_slice(self) -> slice:
        """Which elements the own part has, counted flat in C order."""
        held, generation = self._held, self._now()
        begin, end = generation.layout.bounds(held.spec, held.own_part(generation))
        many, mine = task_context().members, task_context().member
        each = -(-(end - begin) // many)
        return slice(min(begin + mine * each, end), min(begin + (mine + 1) * each, end))

    @property
    def local(self) -> Array:
        """The own part: a writable view, flat; to be taken anew after each `sync`.

        Members that are threads of one rank share its part in equal runs.
        """
        held, generation = self._held, self._now()
        held.wrote = True
        part = held.own_part(generation)
        first, _ = generation.layout.bounds(held.spec, part)
        mine = self.local_slice
        return generation.parts[part][mine.start - first : mine.stop - first]

    def to_numpy(self) -> Array:
        """Return all elements, copied now: those of other hosts are fetched.

        Returns
        -------
        numpy.ndarray
            With the array's shape.

        >>> wr.shared.symmetric((1, 2), "f4", fill=3).to_numpy()
        array([[3., 3.]], dtype=float32)
        """
        return self._whole()

    def _whole(self) -> Array:
        return self._read(self._gather)

    def _gather(self, generation: Generation) -> Array:
        held = self._held
        gathered = np.empty(self.size, self.dtype)
        for part in range(len(generation.layout.ranks)):
            begin, end = generation.layout.bounds(held.spec, part)
            gathered[begin:end] = held.read(generation, part, 0, end - begin)
        return gathered.reshape(self.shape)

    def __repr__(self) -> str:
        return f"<symmetric array: shape {self.shape}, {self.dtype}>"


SHARED.fill(__name__)
