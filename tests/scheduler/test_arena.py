"""The allocator: ranges never overlap, what is used is known exactly, all merges back."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from windrow.scheduler.ledger.arena import ArenaAllocator

SIZE = 1 << 20


class Ranges(RuleBasedStateMachine):
    """Takes and gives ranges; keeps a list of what is out."""

    def __init__(self):
        super().__init__()
        self.arena = ArenaAllocator(SIZE)
        self.out: list[tuple[int, int]] = []

    @rule(nbytes=st.one_of(st.integers(0, 5000), st.sampled_from([1 << 16, 1 << 18, SIZE // 2, 2 * SIZE])))
    def take(self, nbytes):
        offset = self.arena.take(nbytes)
        if offset is None:
            assert nbytes > 64 or not self.arena.free
            assert self.out or ArenaAllocator.pad_size(nbytes) > SIZE
            return
        assert offset % 64 == 0
        assert 0 <= offset <= offset + nbytes <= SIZE
        assert all(offset + nbytes <= o or o + n <= offset for o, n in self.out)
        self.out.append((offset, nbytes))

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def give(self, data):
        number = data.draw(st.integers(0, len(self.out) - 1))
        self.arena.give(*self.out.pop(number))

    @invariant()
    def used_is_exact(self):
        assert self.arena.used == sum(ArenaAllocator.pad_size(n) for _, n in self.out)
        assert self.arena.free == SIZE - self.arena.used

    def teardown(self):
        for offset, nbytes in self.out:
            self.arena.give(offset, nbytes)
        assert self.arena.take_run(64, SIZE // 64) == 0


Ranges.TestCase.settings = settings(stateful_step_count=40)
TestRanges = Ranges.TestCase


def test_ranges_of_nearly_one_size_serve_for_each_other():
    arena = ArenaAllocator(1 << 26)
    offset = arena.take(1 << 23)
    arena.take(1 << 23)
    arena.give(offset, 1 << 23)
    assert arena.take((1 << 23) + 2048) == offset
