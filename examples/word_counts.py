"""Counting words of a text that never ends: a table from words to counts, updated batch by batch.

Each batch of lines is a lazy array. Functions of blocks cut lines into words, and count them; the driver adds the
counts to the table, into which new words come. Each batch also asks the table which of its words were rare until then:
the functions of a batch see the table as it was when the batch began.

    python examples/word_counts.py
    mpirun -n 2 python -m windrow examples/word_counts.py --batches 20
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

import numpy as np

import windrow as wr

SYLLABLES = np.array([consonant + vowel for consonant in "bdklmn" for vowel in "aeiou"])
WORDS = 8
RARE = 3


def draw_lines(batch: int, lines: int) -> np.ndarray:
    """Return lines of words, few of which are frequent; later batches have words that earlier ones haven't."""
    rng = np.random.default_rng(batch)
    ranks = np.minimum(rng.zipf(1.4, (lines, WORDS)), 30**4 - 1) * (1 + batch % 3)
    digits = np.stack([ranks // 30**k % 30 for k in range(3)])
    words = np.strings.add(np.strings.add(SYLLABLES[digits[0]], SYLLABLES[digits[1]]), SYLLABLES[digits[2]])
    return np.array([" ".join(line) for line in words.tolist()])


def count(lines: np.ndarray, width: int) -> np.ndarray:
    """Return the words of a block of lines and their numbers, as records; empty words fill up."""
    words, numbers = np.unique(np.array(" ".join(lines.tolist()).split()), return_counts=True)
    found = np.zeros((1, width), [("word", "U6"), ("number", np.int64)])
    found["word"][0, : len(words)], found["number"][0, : len(words)] = words, numbers
    return found


def count_rare(table: Any, lines: np.ndarray) -> np.ndarray:
    """Return how many words of each line were rare in the table when the batch began."""
    words = np.array([line.split() for line in lines.tolist()])
    return (table.get(words, 0) < RARE).sum(axis=1)


def main() -> None:
    """Count, and compare with a count of all lines at once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--lines", type=int, default=4000)
    options = parser.parse_args()
    table = wr.shared.Table(np.array([], "U6"), np.array([], np.int64))
    known: Counter[str] = Counter()
    seconds = 0.0
    for batch in range(options.batches):
        lines = draw_lines(batch, options.lines)
        begin = time.perf_counter()
        lazy = wr.from_array(lines, chunks=1000)
        blocks = lazy.chunks[0]
        rare = wr.map_blocks(lambda block: count_rare(table, block), lazy, dtype=int)
        width = max(blocks) * WORDS
        counts = wr.map_blocks(
            count,
            lazy,
            width,
            dtype=[("word", "U6"), ("number", np.int64)],
            new_axis=1,
            chunks=((1,) * len(blocks), (width,)),
        )
        rare_words, counted = wr.compute(rare.sum(), counts)
        counted = counted[counted["word"] != ""]
        table.add(counted["word"], counted["number"])
        seconds += time.perf_counter() - begin
        known.update(" ".join(lines.tolist()).split())
        print(f"batch {batch}: {len(table):,} words, {rare_words:,} of {options.lines * WORDS:,} were rare before")
    words = np.array(list(known))
    assert (table.get(words) == list(known.values())).all()
    most = known.most_common(3)
    print("most frequent:", ", ".join(f"{word} {number:,}" for word, number in most))
    print(f"{options.batches * options.lines * WORDS / seconds:,.0f} words a second")


if __name__ == "__main__":
    main()
