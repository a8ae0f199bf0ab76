"""What is said where scikit-learn isn't installed."""

from __future__ import annotations

import re

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


@pytest.mark.parametrize(
    ("space", "name", "words"),
    [
        ("linear_model", "RidgeCV", "did you mean 'Ridge'?"),
        ("linear_model", "Lasso", "scikit-learn's is not here: fit it to computed rows, and windrow.ml.Fitted(model)"),
        ("preprocessing", "scale", "scikit-learn's is not here: compute() first, or map_blocks()"),
        ("search", "GridSearchCV", "did you mean 'GridSearch'?"),
        ("search", "FixedThresholdClassifier", "it runs on ranks within joblib.parallel_config('windrow')"),
        ("cluster", "nothing_of_the_kind", "module 'windrow.ml.cluster' has no attribute 'nothing_of_the_kind'"),
    ],
)
def test_names_that_its_modules_lack(space, name, words):
    module = getattr(wr.ml, space)
    assert dir(module) == sorted(module.__all__)
    with pytest.raises(AttributeError, match=re.escape(words)):
        getattr(module, name)
