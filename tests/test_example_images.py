"""The example of pictures finds the 24 coins, with the areas that SciPy measures."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import windrow as wr

pytest.importorskip("skimage")
ndimage = pytest.importorskip("scipy.ndimage")
SCRIPT = Path(__file__).parents[1] / "examples" / "images.py"


@pytest.fixture(scope="module")
def example():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("example_images", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_coins_are_found_and_measured(example, tmp_path, capsys):
    example.main()
    out = capsys.readouterr().out
    assert "12 pictures of 303 x 384, 12 chunks" in out
    assert re.search(r"coins in each picture:( 24){12}\n", out)
    assert "areas: 1096 to 2987 pixels, median 1476" in out
    coins = example.segment(wr.imread(example.expose(str(tmp_path)))[:2])
    areas, centres = example.measure(coins)
    for i, picture in enumerate(coins.compute()):
        labels, count = ndimage.label(picture, np.ones((3, 3)))
        expected = ndimage.sum_labels(picture, labels, np.arange(1, count + 1))
        where = np.array(ndimage.center_of_mass(picture, labels, np.arange(1, count + 1)))
        large = expected >= example.LEAST
        mine = centres[:, 0] == i
        np.testing.assert_array_equal(areas[mine], expected[large])
        np.testing.assert_allclose(centres[mine, 1:], where[large])


@pytest.mark.slow
@pytest.mark.ranks
def test_on_ranks(launch):
    alone, together = launch(0, str(SCRIPT)), launch(3, str(SCRIPT))
    assert together.status == 0, together.err[-3000:]
    assert together.out == alone.out
