"""What is said where scikit-learn isn't installed."""

from __future__ import annotations

import pytest

import windrow as wr

PROGRAM = """
import sys
sys.modules["sklearn"] = None  # as where it isn't installed
from windrow.ml import train
import windrow as wr
for use in (
    lambda: __import__("windrow.ml.cluster"),
    lambda: __import__("windrow.ml.search"),
    lambda: wr.ml.Averaged,
):
    try:
        use()
    except ImportError as error:
        print(error)
"""


def test_what_needs_scikit_learn_says_so(launch, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = launch(0, str(program))
    advice = "needs scikit-learn: pip install 'windrow[ml]'"
    assert done.out.splitlines() == [
        f"windrow.ml.{name} {advice}" for name in ("cluster", "search", "averaging.averaged")
    ]


def test_names_of_the_module():
    assert dir(wr.ml) == sorted(wr.ml.__all__)
    with pytest.raises(AttributeError, match="did you mean 'Averaged'"):
        wr.ml.Averged  # type: ignore[attr-defined]
