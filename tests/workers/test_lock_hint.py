"""The hint that users' functions keep Python's lock from many threads."""

import threading

import pytest

import windrow as wr
from windrow.workers import lock_hint
from windrow.workers.lock_hint import LockHint


@pytest.fixture
def hints(monkeypatch, caplog):
    """What was logged; as in a process that gave no hint yet."""
    monkeypatch.setattr(lock_hint, "_given", threading.Event())
    return lambda: [record.message for record in caplog.records if "Python's lock" in record.message]


def note(hint: LockHint, threads: int, processors: float, seconds: float = 3.0) -> None:
    """Make up calls of .1 s each on so many threads, which use so many processors together."""
    for step in range(int(seconds * 10)):
        for _ in range(threads):
            hint.note(step / 10, (step + 1) / 10, processors / threads / 10)


def test_threads_that_pass_the_lock_on_get_a_hint_once(hints):
    note(LockHint(8), 8, 1.0)
    (told,) = hints()
    assert "8 threads used one processor" in told
    assert "-n auto" in told
    note(LockHint(8), 8, 1.0)
    assert len(hints()) == 1


@pytest.mark.parametrize(
    ("pool", "threads", "processors", "seconds"),
    [(8, 8, 0.1, 3.0), (8, 8, 6.0, 3.0), (8, 8, 1.0, 1.0), (8, 2, 1.0, 3.0), (4, 4, 1.0, 3.0)],
    ids=["they sleep", "they compute", "not for long", "few are at it", "few threads"],
)
def test_others_get_none(hints, pool, threads, processors, seconds):
    note(LockHint(pool), threads, processors, seconds)
    assert not hints()


def test_calls_of_a_users_function_are_noted(monkeypatch):
    noted = []
    monkeypatch.setattr(LockHint, "note", lambda self, begin, end, used: noted.append((begin, end, used)))
    with wr.Cluster(threads=2):
        float((wr.ones(100, chunks=10) + 1).sum())
        assert not noted
        float(wr.map_blocks(lambda x: x + 1, wr.ones(100, chunks=10)).sum())
    assert noted
    assert all(begin <= end for begin, end, _ in noted)


def test_explain_says_who_holds_the_lock_where_there_are_many_threads():
    mapped = wr.map_blocks(lambda x: x + 1, wr.ones(100, chunks=10))
    for threads, said in ((8, True), (4, False)):
        with wr.Cluster(threads=threads):
            assert ("Python's lock" in str(wr.explain(mapped))) == said
            assert "Python's lock" not in str(wr.explain(wr.exp(wr.ones(100, chunks=10))))
