"""Exceptions that come back from ranks, of tasks and of functions of blocks."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr


class Coded(OSError):
    """Its `args` are none of what it is made with."""

    def __init__(self, code, *, where):
        super().__init__(code, f"code {code} of {where}")
        self.where, self.inner = where, Stated(code)


class Stated(Exception):
    """Made with its `args` it would say something else."""

    def __init__(self, code):
        super().__init__(f"status {code}")
        self.code = code


@pytest.mark.parametrize("run", ["task", "block"])
def test_exceptions_whose_class_takes_other_arguments_than_args_stay_as_they_are(run):
    def fail(kind, *args, **keywords):
        raise kind(*args, **keywords)

    def outcome(*args, **keywords):
        if run == "task":
            return wr.submit(fail, *args, **keywords).exception()
        with pytest.raises(args[0]) as raised:
            wr.map_blocks(lambda block: fail(*args, **keywords), wr.ones(2), dtype=float).compute()
        return raised.value

    error = outcome(Coded, 5, where="here")
    assert (type(error), error.args, error.errno, str(error)) == (
        Coded,
        (5, "code 5 of here"),
        5,
        "[Errno 5] code 5 of here",
    )
    assert (error.where, type(error.inner), error.inner.args, error.inner.code) == ("here", Stated, ("status 5",), 5)
    error = outcome(Stated, 404)
    assert (type(error), str(error), error.code) == (Stated, "status 404", 404)
    error = outcome(np.exceptions.AxisError, 3, 2)
    assert (type(error), error.axis, error.ndim) == (np.exceptions.AxisError, 3, 2)
