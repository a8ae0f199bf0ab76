"""What each kind of files that arrays are read from must do; a test of a kind inherits it."""

from __future__ import annotations

import os
import pickle
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import windrow as wr
from windrow.graph.expr.expr import walk
from windrow.graph.expr.serialize import dump
from windrow.graph.kinds.source import Host
from windrow.workers.sources import source_reader

ALONG = [slice(None), slice(2, 7), slice(1, None, 3), slice(None, None, -1), slice(9, 1, -2), slice(3, 3), 4, -1]
"""What is asked for along an axis; of several axes each asks for another."""
PICKS = [range(1, 6), range(8, 0, -3), np.array([7, 0, 3, 3]), range(0), np.array([2])]
"""Positions to read along an axis, crosswise."""
FAILURES = (wr.FileError, wr.FileFormatError, wr.SourceChanged)


def crosswise(choices, ndim):
    """Tuples of choices for the axes: each choice once along each axis, beside different ones."""
    return [tuple(choices[(k + 3 * axis) % len(choices)] for axis in range(ndim)) for k in range(len(choices))]


def distinct(picks, n):
    """Different positions of an axis, in the order of some."""
    return np.array(list(dict.fromkeys(int(at) % n for at in picks)), np.int64)


class SourceTests:
    """Inherited by a class for each kind of files, which says how some values are written, and opened again."""

    values = np.random.default_rng(0).integers(0, 200, (12, 10)).astype("f8")
    chunks = (5, 4)
    """Chunks that are asked for; None: the files' own alone."""

    def write(self, path):
        """Write the values to a path."""
        raise NotImplementedError

    def open(self, path, **chunks):
        """Return the array that is read from there."""
        raise NotImplementedError

    def part(self, path):
        """Return a file with elements of the array, without which it can't be read."""
        return path

    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "written"
        self.write(path)
        return path

    @pytest.fixture
    def x(self, path):
        return self.open(path)

    @pytest.fixture
    def source(self, x):
        """The source itself, as another rank has it: it was pickled; and its blocks, each of which is read alone."""
        host = next((node for node in walk([x.expr]) if isinstance(node.op, Host)), None)
        if host is None:
            pytest.skip("a function of blocks reads it")
        blocks = [host.grid.block_slices(block) for block in range(host.grid.nblocks)]
        return pickle.loads(dump(host.op.data)), blocks

    def test_shape_and_dtype_are_known_before_anything_is_read(self, x):
        assert (x.shape, x.dtype) == (self.values.shape, self.values.dtype)
        assert [sum(sizes) for sizes in x.chunks] == list(self.values.shape)

    def test_all_elements_come_back(self, x):
        computed = x.compute()
        assert computed.dtype == self.values.dtype
        np.testing.assert_array_equal(computed, self.values)

    def test_any_chunks_give_the_same(self, path):
        ndim = self.values.ndim
        for chunks in (-1, 1, self.chunks, 7) if self.chunks is not None else ():
            x = self.open(path, chunks=chunks)
            assert x.chunks == wr.zeros(self.values.shape, chunks=chunks).chunks
            np.testing.assert_array_equal(x.compute(), self.values)
        x = self.open(path).rechunk((3, 4, 2)[:ndim])
        np.testing.assert_array_equal(x.compute(), self.values)

    def test_slices_and_steps(self, x):
        for key in crosswise(ALONG, self.values.ndim):
            np.testing.assert_array_equal(x[key].compute(), self.values[key], err_msg=str(key))

    def test_positions_in_any_order(self, x):
        for axis in range(self.values.ndim):
            some = np.array([7, 0, 3, 3, 9]) % self.values.shape[axis]
            np.testing.assert_array_equal(wr.take(x, some, axis).compute(), np.take(self.values, some, axis))

    def test_nothing_is_an_array_too(self, x):
        computed = x[5:5].compute()
        assert (computed.shape, computed.dtype) == ((0, *self.values.shape[1:]), self.values.dtype)

    def test_a_source_that_travelled_reads_blocks(self, source):
        data, blocks = source
        for where in blocks:
            part = source_reader.read(data, where)
            assert part.dtype == self.values.dtype
            np.testing.assert_array_equal(part, self.values[where])

    def test_a_source_that_travelled_picks(self, source):
        """Positions are counted from a block's beginning."""
        data, blocks = source
        for where in (blocks[0], blocks[-1]):
            whole = self.values[where]
            for picks in crosswise(PICKS, self.values.ndim):
                inside = tuple(distinct(pick, n) for pick, n in zip(picks, whole.shape, strict=True))
                np.testing.assert_array_equal(source_reader.pick(data, where, inside), whole[np.ix_(*inside)])

    def test_what_was_read_is_the_readers_own(self, source):
        data, (where, *_) = source
        everything = tuple(range(s.stop - s.start) for s in where)
        part = source_reader.pick(data, where, everything)
        if part.flags.writeable:
            part[...] = 0
        np.testing.assert_array_equal(source_reader.pick(data, where, everything), self.values[where])

    def test_many_threads_read_at_once(self, source):
        data, blocks = source
        with ThreadPoolExecutor(4) as pool:
            parts = list(pool.map(lambda where: source_reader.read(data, where), blocks * 3))
        for where, part in zip(blocks * 3, parts, strict=True):
            np.testing.assert_array_equal(part, self.values[where])

    def test_a_file_that_is_cut_short_is_named(self, path, x):
        part = self.part(path)
        os.truncate(part, part.stat().st_size // 2)
        with pytest.raises(FAILURES, match=re.escape(str(path))):
            x.compute()

    def test_a_file_that_is_gone_is_named(self, path, x):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        with pytest.raises(FAILURES, match=re.escape(str(path))):
            x.compute()

    def test_nothing_at_the_path_is_said_at_once(self, tmp_path):
        with pytest.raises(wr.MissingFile, match=re.escape(str(tmp_path / "nowhere"))):
            self.open(tmp_path / "nowhere")
