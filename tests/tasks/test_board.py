"""The board of tasks by events and orders, without ranks."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.scheduler.tasks.board import Board
from windrow.scheduler.tasks.record import CallState, Demand, TaskRecord

_numbers = itertools.count(1)


def task(*needs, same="f", **demand):
    return TaskRecord(next(_numbers), "f", b"", None, needs, (), (), Demand(**demand), same)


def board(ranks=3, cores=2):
    made = Board([cores] * ranks, [1000] * ranks, {}.__getitem__)
    made.seconds["f"] = 1.0
    return made


def enter(made, *records):
    for record in records:
        made.add(record)
    return {r.number: rank for rank, r in made.assign()}


def test_tasks_go_to_other_ranks_first_then_to_the_driver_s():
    made = board()
    given = [task() for _ in range(7)]
    assert list(enter(made, *given).values()) == [1, 2, 1, 2, 0, 0]
    assert given[6].state is CallState.READY
    made.done(given[0], b"x", 1, 1.0)
    assert [(rank, r) for rank, r in made.assign()] == [(1, given[6])]


def test_a_task_goes_where_most_of_what_it_takes_lies():
    lies = {"near": (3, 100), "far": (2, 10), "files": (-1, 0)}
    made = Board([2] * 4, [1000] * 4, lies.__getitem__)
    takes = task(), task(), task()
    for record, names in zip(takes, [["near", "far"], ["far"], ["files"]], strict=True):
        record.arrays = tuple(enumerate(names))
    assert list(enter(made, *takes).values()) == [3, 2, 1]


def test_rank_0_takes_no_function_that_never_ended_well():
    made = board()
    assert list(enter(made, *[task(same="g") for _ in range(7)]).values()) == [1, 2, 1, 2, 1, 2], "one ahead each"


def test_what_cannot_travel_runs_on_the_driver_s_rank_and_holds_up_no_other():
    made = board()
    stay = [task(here=True, same="new") for _ in range(3)]
    given = enter(made, *stay, task(), task())
    assert list(given.values()) == [0, 0, 1, 2]
    assert stay[2].state is CallState.READY
    made.done(stay[0], None, 1, 1.0)
    assert [(rank, r) for rank, r in made.assign()] == [(0, stay[2])]


def test_what_failed_is_forgotten_but_by_its_futures():
    made = board()
    first = task()
    enter(made, first, task(first))
    made.fail(first, ValueError())
    assert not made.records


def test_short_tasks_go_ahead():
    made = board(2, 1)
    made.seconds["f"] = 1e-4
    assert list(enter(made, *[task() for _ in range(100)]).values()) == [1] * 41


def test_urgent_ones_go_first():
    made = board(2, 1)
    first, second, third = task(), task(), task(priority=1)
    made.seconds["f"] = 1e-3
    for record in (first, second, third):
        made.add(record)
    assert next(r for _, r in made.assign()) is third


def test_many_cores_wait_for_room_but_not_for_ever():
    made = board(2, 4)
    enter(made, *[task() for _ in range(3)])
    large = task(cores=4, same="g")
    enter(made, large, *[task() for _ in range(200)])
    rounds = 0
    while large.state is CallState.READY and rounds < 300:
        made.done(next(iter(made.sites[1].at.values())), b"", 0, 1.0)
        list(made.assign())
        rounds += 1
    assert 10 < rounds < 100, "smaller ones go before it, some"
    assert large.rank == 1


def test_a_result_goes_when_nobody_wants_it():
    made = board()
    first = task()
    second = task(first)
    enter(made, first, second)
    made.done(first, None, 10, 1.0)
    made.release(first)
    assert first.state is CallState.DONE, "the second one takes it"
    assert list(made.assign()) == [(first.rank, second)], "where it is"
    made.done(second, b"", 0, 1.0)
    assert first.state is CallState.DROPPED
    assert made.freed == [first]
    made.release(second)
    assert not made.records


def test_a_lost_result_is_made_again_with_all_that_it_takes():
    made = board()
    (first,) = given = [task()]
    second = task(first)
    enter(made, first, second)
    made.done(first, None, 1, 1.0)
    list(made.assign())
    made.done(second, None, 1, 1.0)
    made.release(first)
    assert first.state is CallState.DROPPED
    rank = second.rank
    made.lose(rank)
    assert second.state is CallState.WAITING
    assert first in given
    assert first.state is CallState.READY
    assert [r for _, r in made.assign()] == [first]
    made.done(first, None, 1, 1.0)
    assert [r for _, r in made.assign()] == [second]
    assert second.rank != rank


def test_what_kills_ranks_is_given_up():
    made = board(5, 1)
    bad = task(same="g")
    enter(made, bad)
    for died in range(3):
        found = made.lose(bad.rank)
        assert found == ([bad] if died == 2 else [])
        if not found:
            assert [r for _, r in made.assign()] == [bad]


def test_the_driver_alone_takes_what_killed_nobody():
    made = board(2, 1)
    killer, innocent = task(same="g"), task(same="h")
    enter(made, killer, innocent)
    assert made.lose(1) == [killer]
    made.fail(killer, RuntimeError())
    assert list(made.assign()) == [(0, innocent)]


def test_what_takes_a_failed_result_fails():
    made = board()
    first = task()
    second, third = task(first), task()
    fourth = task(second, third)
    enter(made, first, second, third, fourth)
    assert made.fail(first, ValueError()) == [first, second, fourth]
    assert third.state is CallState.SENT


def test_long_chains_are_made_again_without_recursion():
    made = board(2, 1)
    chain = [task()]
    for _ in range(5000):
        chain.append(task(chain[-1]))
    enter(made, *chain)
    for record in chain:
        made.done(record, None, 1, 1.0)
        list(made.assign())
        if record is not chain[-1]:
            made.release(record)
    made.lose(1)
    ran = 0
    for record in chain:
        assert [r for _, r in made.assign()] == [record]
        made.done(record, None, 1, 1.0)
        ran += 1
    assert ran == 5001


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_happens_all_end_right(data):
    """Random graphs, ends, losses and retries: each task ends, with all that it takes at hand when it began."""
    made = board(4, 2)
    tasks = []
    for _ in range(data.draw(st.integers(1, 12))):
        needs = data.draw(st.lists(st.sampled_from(tasks), max_size=3, unique=True)) if tasks else []
        tasks.append(task(*needs))
    for each in tasks:
        made.add(each)
    losses = data.draw(st.integers(0, 2))
    for _ in range(2000):
        for _, record in made.assign():
            assert all(n.there and (n.value is not None or n.holders) for n in record.needs)
            assert made.sites[record.rank].alive
        running = [r for site in made.sites for r in site.at.values()]
        if not running:
            break
        record = data.draw(st.sampled_from(running))
        what = data.draw(st.sampled_from(["kept", "small", "again"] + ["lose"] * (losses > 0)))
        if what == "lose" and record.rank:
            losses -= 1
            assert not made.lose(record.rank)
        elif what == "again":
            made.again(record)
        else:
            made.done(record, b"x" if what == "small" else None, 1, 1.0)
    for record in tasks:
        while record.state is not CallState.DONE:
            for _ in made.assign():
                pass
            made.done(next(r for site in made.sites for r in site.at.values()), b"x", 1, 1.0)
    assert all(r.value is not None or r.holders for r in tasks)
    assert all(site.used == 0 for site in made.sites)
    for record in tasks:
        made.release(record)
    assert not made.records


def test_what_was_at_a_dead_rank_waits_behind_nothing():
    made = board(3, 1)
    made.seconds["f"] = 1e-4
    records = [task() for _ in range(100)]
    enter(made, *records)
    assert made.lose(1) == []
    given = {}
    for rank, record in made.assign():
        given.setdefault(rank, []).append(record)
    suspects = [r for r in records if r.suspect]
    assert len(suspects) == 41
    assert not any(r in suspects for r in given.get(2, [])), "its core is not free"


def test_what_was_at_two_dead_ranks_does_not_run_in_the_script_s_process():
    made = board(3, 1)
    made.seconds["f"] = 1.0
    record = task()
    enter(made, record)
    first = record.rank
    made.lose(first)
    list(made.assign())
    assert made.lose(record.rank) == [record]


def test_what_no_rank_has_room_for_any_more_ends():
    made = Board([1, 1, 4], [10, 10, 1000], {}.__getitem__)
    wide, large = task(cores=4), task(memory=500)
    assert enter(made, wide, large) == {wide.number: 2}
    assert made.lose(2) == [wide]
    list(made.assign())
    assert made.hopeless == [large]


def nested(made, parent, *needs, **demand):
    record = task(*needs, **demand)
    made.add(record, parent)
    return record


def test_a_task_that_waits_leaves_its_cores_to_what_it_submits():
    made = board(1, 1)
    outer, later = task(cores=1, memory=800), task()
    enter(made, outer, later)
    inner = nested(made, outer, memory=800)
    assert not [r for _, r in made.assign() if r is inner], "no core is free"
    made.pause(outer)
    made.pause(outer)
    assert [r for _, r in made.assign() if r is not later] == [inner], "the deepest one goes first"
    made.done(inner, b"x", 1, 1.0)
    made.go_on(outer)
    made.go_on(outer)
    assert made.sites[0].used == 1 + (later.state is CallState.SENT)
    assert not outer.inner
    made.done(outer, b"x", 1, 1.0)
    list(made.assign())
    made.done(later, b"x", 1, 1.0)
    assert (made.sites[0].used, made.sites[0].bytes) == (0, 0)


def test_what_is_submitted_by_urgent_tasks_is_as_urgent():
    made = board(2, 1)
    outer = task(priority=2)
    enter(made, outer)
    inner, higher, plain = nested(made, outer), nested(made, outer, priority=5), task(priority=3)
    made.add(plain)
    made.pause(outer)
    made.seconds["f"] = 1e-3
    assert [r for _, r in made.assign()] == [higher, plain, inner]


def test_recursion_goes_down_first():
    """Ten tasks that each submit two, to a depth of six, on one core: few have begun at a time."""
    made = board(1, 1)
    made.seconds["f"] = 1.0
    for _ in range(10):
        made.add(task())
    awaited, begun, ended = {}, 0, 0
    while made.records:
        for _, record in made.assign():
            if record.depth < 6:
                awaited[record] = {nested(made, record) for _ in range(2)}
        running = next(r for r in made.sites[0].at.values() if not r.paused)
        if awaited.get(running):
            made.pause(running)
            begun = max(begun, sum(r.paused for r in made.sites[0].at.values()))
            continue
        above = running.parent
        made.done(running, b"x", 1, 1.0)
        ended += 1
        if above is not None:
            awaited[above].discard(running)
            if not awaited[above]:
                made.go_on(above)
        made.release(running)
    assert (ended, begun) == (10 * (2**7 - 1), 6)


def test_what_a_task_submitted_goes_with_it_unless_it_ended_well():
    for how in ("fail", "again", "lose", "done"):
        made = board(3, 2)
        outer = task()
        enter(made, outer)
        first, second = nested(made, outer), nested(made, outer)
        third, taken = nested(made, outer, second), nested(made, outer)
        other = task(taken)
        made.add(other)
        made.pause(outer)
        list(made.assign())
        if how == "done":
            made.done(outer, b"", 0, 1.0)
        elif how == "lose":
            assert made.lose(outer.rank) == []
        elif how == "again":
            made.again(outer)
        else:
            assert made.fail(outer, ValueError()) == [outer]
        assert made.orphans == ([] if how == "done" else [third, second, first]), "but what another one takes"
        assert all(each.parent is None for each in (first, second, third, taken))
        assert not outer.inner


def test_a_task_is_to_blame_for_what_it_submits():
    made = board(5, 1)
    outer = task()
    enter(made, outer)
    for died in range(3):
        inner = nested(made, outer)
        made.pause(outer)
        rank = outer.rank
        while inner.state is not CallState.SENT:
            list(made.assign())
        found = made.lose(rank)
        assert found == ([outer] if died == 2 else [])
        list(made.assign())
