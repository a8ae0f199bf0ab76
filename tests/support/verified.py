"""Each plan that a test makes is checked: after each pass, when its stages are written, and as it is handed out."""

from __future__ import annotations

import functools
from contextlib import contextmanager

import pytest

from windrow.graph.lowering import lower
from windrow.graph.lowering.plan_cache import PlanCache

from .plan_checks import verify, verify_pass

PASSES = ("simplify", "reduce_together", "hold_sources", "make_again")
"""What `lower` calls one after the other; each takes the roots first, and what is stored last."""


def checked_pass(function):
    @functools.wraps(function)
    def run(roots, *more):
        result = function(roots, *more)
        verify_pass(roots, result, more[-1])
        return result

    return run


def checked_writing(roots, stored, function=lower.write_stages, **write):
    stages, homes = function(roots, stored, **write)
    verify(stages, stored, roots)
    return stages, homes


def checked_plan(self, roots, stored, *more, function=PlanCache.lower):
    stages = function(self, roots, stored, *more)
    verify(stages, stored, roots)
    return stages


@contextmanager
def verifying():
    """Check all plans of this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name in PASSES:
            patch.setattr(lower, name, checked_pass(getattr(lower, name)))
        patch.setattr(lower, "write_stages", checked_writing)
        patch.setattr(PlanCache, "lower", checked_plan)
        yield
