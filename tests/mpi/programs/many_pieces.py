"""Moves made of very many small pieces: what they give, and for how many blocks a piece was told by an object."""

import hashlib
import json

import numpy as np

import windrow as wr
from windrow.graph.kinds.move import Move
from windrow.graph.kinds.reshape import Reshape


def count_calls():
    """Count on this process, from now on, the blocks whose many pieces are told one by one."""
    for kind in (Move, Reshape):
        if not hasattr(kind, "told"):
            kind.told, kind.plain = 0, kind.pieces

            def counted(self, domain, sources, block, kind=kind):
                found = kind.plain(self, domain, sources, block)
                kind.told += len(found) > 64
                return found

            kind.pieces = counted


def fill(block):
    count_calls()
    return block * 2


def told(block):
    return np.full(block.shape, getattr(Move, "told", 0) + getattr(Reshape, "told", 0))


def main():
    values = np.random.default_rng(0).random((64, 40, 30)).astype("f4")
    x = wr.asarray(values).rechunk((1, 40, 30)).map_blocks(fill, dtype="f4").persist()
    wr.wait(x)
    found = [
        x.rechunk((64, 5, 6)).persist(),
        x.rechunk((64, 5, 6)).sum(axis=0),
        x.transpose(1, 2, 0).rechunk((5, 6, 64)).persist(),
        x.reshape(64 * 40, 30).rechunk((640, 30)).persist(),
        wr.concatenate([x, x], axis=1).rechunk((64, 16, 10)).persist(),
        x.rechunk((64, 5, 6)).persist().rechunk((1, 40, 30)).persist(),
    ]
    wanted = values * 2
    right = np.array_equal(found[0].compute(), wanted) and np.array_equal(found[2].compute(), wanted.transpose(1, 2, 0))
    right = right and np.array_equal(found[4].compute(), np.concatenate([wanted, wanted], 1))
    bits = hashlib.blake2b(b"".join(each.compute().tobytes() for each in found)).hexdigest()
    counts = wr.zeros(64, chunks=1).map_blocks(told, dtype="i8").compute()
    print(json.dumps([right, bits, int(counts.max())]))


if __name__ == "__main__":
    main()
