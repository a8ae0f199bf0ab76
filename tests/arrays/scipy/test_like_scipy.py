"""Public functions are made by those of the installed SciPy, whichever version that is."""

from __future__ import annotations

import re

import pytest

import windrow as wr
from windrow.arrays.scipy.bridge import like_scipy
from windrow.arrays.scipy.documents import described

scipy = pytest.importorskip("scipy")


def test_what_scipy_lacks_raises_when_it_is_called():
    @like_scipy("ndimage", {"input": "array_like: The array."}, "Lazy.")
    def of_a_later_version(name, arguments):
        """Do nothing.

        >>> 1
        1
        """
        raise AssertionError

    text = f"of_a_later_version: the installed SciPy, {scipy.__version__}, has no scipy.ndimage.of_a_later_version;"
    with pytest.raises(ImportError, match=re.escape(text)):
        of_a_later_version(wr.ones(3), size=3)


def test_a_type_may_have_a_colon():
    @described({}, "Lazy.", module="stats")
    def gmean(a, axis):
        """Return geometric means.

        >>> 1
        1
        """

    assert "\naxis : int or None, default: 0\n    If an int" in gmean.__doc__
