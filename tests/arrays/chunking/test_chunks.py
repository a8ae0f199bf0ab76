"""`chunks=` wherever it is taken: empty axes, None, what round-trips; `normalize_chunks` by itself."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from windrow.graph.errors import ChunksError


@pytest.mark.parametrize("shape", [(0,), (0, 5), (4, 0), (3, 7), ()])
def test_chunksize_round_trips(shape):
    x = wr.from_array(np.ones(shape), chunks=2 if 0 not in shape else shape)
    assert x.rechunk(x.chunksize).chunks == x.chunks
    assert wr.from_array(np.ones(shape), chunks=shape).chunks == tuple((n,) for n in shape)
    np.testing.assert_array_equal(x.rechunk(x.chunksize).compute(), np.ones(shape))


def test_no_elements_in_a_chunk_are_for_empty_axes_alone():
    assert wr.zeros((0, 0), chunks=0).chunks == ((0,), (0,))
    with pytest.raises(ChunksError, match="axis 1"):
        wr.zeros((0, 3), chunks=0)
    with pytest.raises(ChunksError, match="axis 0"):
        wr.ones(3).rechunk(0)


def test_none_leaves_an_axis_as_it_is():
    x = wr.ones((6, 6), chunks=(2, 3))
    assert x.rechunk((None, 4)).chunks == ((2, 2, 2), (4, 2))
    assert x.rechunk((-1, None)).chunks == ((6,), (3, 3))
    assert x.rechunk({1: None, 0: 3}).chunks == ((3, 3), (3, 3))
    assert x.rechunk(None).chunks == x.chunks
    assert x.reshape((6, 6, 1), chunks=(None, -1, None)).chunks == ((2, 2, 2), (6,), (1,))
    assert wr.ones((6, 6), chunks=(None, 3)).chunks == ((6,), (3, 3))  # there is nothing to be left


def test_functions_that_take_chunks():
    assert wr.eye(4, 6, 0, float, "C", 3).chunks == ((3, 1), (3, 3))
    assert wr.tri(4, 6, 0, int, (2, 6)).chunks == ((2, 2), (6,))
    for name in ("tril_indices", "triu_indices"):
        for got, expected in zip(getattr(wr, name)(5, 1, 4, chunks=2), getattr(np, name)(5, 1, 4), strict=True):
            np.testing.assert_array_equal(got.compute(), expected)
    x = wr.arange(4, chunks=2)
    assert wr.broadcast_to(x, (6, 4)).chunks == ((6,), (2, 2))
    wide = wr.broadcast_to(x, (6, 4), chunks=(4, None))
    assert wide.chunks == ((4, 2), (2, 2))
    np.testing.assert_array_equal(wide.compute(), np.broadcast_to(np.arange(4), (6, 4)))
    assert wr.broadcast_to(x, (6, 4), chunks=3).chunks == ((3, 3), (3, 1))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"chunks": 4, "shape": (10, 3)}, ((4, 4, 2), (3,))),
        ({"chunks": (4, -1), "shape": (10, 3)}, ((4, 4, 2), (3,))),
        ({"chunks": ((6, 4), None), "shape": (10, 3)}, ((6, 4), (3,))),
        ({"chunks": ((6, 4), (3,))}, ((6, 4), (3,))),
        ({"chunks": {1: 2}, "shape": (10, 3)}, ((10,), (2, 1))),
        ({"chunks": {1: 2}, "shape": (10, 3), "previous_chunks": ((5, 5), (3,))}, ((5, 5), (2, 1))),
        ({"chunks": (None, 3), "shape": (10, 3), "previous_chunks": (4, 1)}, ((4, 4, 2), (3,))),
        ({"chunks": "auto", "shape": (20,), "limit": 5, "dtype": "u1"}, ((5, 5, 5, 5),)),
        ({"chunks": "40 B", "shape": (20,), "dtype": "f4"}, ((10, 10),)),
        ({"chunks": (-1, "auto"), "shape": (10, 8), "limit": "320 B", "dtype": "f8"}, ((10,), (4, 4))),
        ({"chunks": (0, 2), "shape": (0, 3)}, ((0,), (2, 1))),
        ({"chunks": "auto", "shape": (0, 3), "dtype": "f8"}, ((0,), (3,))),
        ({"chunks": (5,), "shape": 10}, ((5, 5),)),
        ({"chunks": -1, "shape": ()}, ()),
    ],
)
def test_normalize_chunks(arguments, expected):
    assert wr.normalize_chunks(**arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"chunks": 4}, "'shape'"),
        ({"chunks": 0, "shape": (4,)}, "'chunks'"),
        ({"chunks": ((3, 3),), "shape": (4,)}, "'chunks'"),
        ({"chunks": "auto", "shape": (4,), "limit": "much"}, "'limit'"),
        ({"chunks": 2, "shape": (4,), "dtype": "nothing"}, "'dtype'"),
        ({"chunks": 2, "shape": (4,), "previous_chunks": (1, 2, 3)}, "normalize_chunks"),
    ],
)
def test_what_normalize_chunks_refuses(arguments, words):
    with pytest.raises((TypeError, ValueError), match=f"normalize_chunks.*{words}" if words[0] == "'" else words):
        wr.normalize_chunks(**arguments)
