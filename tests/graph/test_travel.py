"""What is pickled while other threads look at it."""

import pickle

import pytest

from windrow.graph.expr.serialize import dump


class Noted:
    """Notes something with what holds it, as a cached property does, when it is pickled for the first few times."""

    def __init__(self, times):
        self.left, self.holder = times, None

    def __reduce__(self):
        if self.left:
            self.left -= 1
            setattr(self.holder, f"noted{self.left}", 1)
        return Noted, (0,)


class Holder:
    """Holds what notes something with it."""

    def __init__(self, noted):
        self.noted, self.last = noted, "last"
        noted.holder = self


def test_it_is_begun_anew_where_an_object_gains_an_attribute():
    with pytest.raises(RuntimeError, match="changed size"):
        pickle.dumps(Holder(Noted(1)), 5)
    assert pickle.loads(dump(Holder(Noted(3)))).last == "last"


def test_other_errors_are_told():
    class Refusing:
        def __reduce__(self):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        dump(Refusing())


def test_buffers_are_handed_out_once():
    class Buffer(Noted):
        def __reduce__(self):
            super().__reduce__()
            return bytes, (pickle.PickleBuffer(b"abc"),)

    handed = []
    dump(Holder(Buffer(1)), handed.append)
    assert [bytes(each.raw()) for each in handed] == [b"abc"]
