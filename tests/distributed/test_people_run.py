"""The order in which people are submitted, with workers that crash on purpose."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peckorder.distributed.people.tasks import Record
from peckorder.distributed.people.workers import _MAX_CRASHES, Completed, Run, WorkerCrashes


def record_of(row, seconds=0.01):
    return Record(row, row, 1, seconds, (), None, b"")


class FakeWorkers:
    """Workers one of which dies with all that is out, as a broken pool does.

    Rows of `crashes_of` end it so many times; `chance` draws who is next, and now and then
    lets one die for no reason.
    """

    def __init__(self, crashes_of, chance, max_batches, attempts, *, all_are_lost):
        self.crashes_of, self.chance = Counter(crashes_of), chance
        self.max_batches, self.attempts, self.all_are_lost = (max_batches, attempts, all_are_lost)
        self.out = []
        self.n_accidents = 3

    def submit(self, rows):
        assert rows
        self.out.append(rows)
        assert len(self.out) <= self.max_batches

    def wait(self):
        rows = self.out.pop(self.chance(len(self.out)))
        crashing = [row for row in rows if self.crashes_of[row] > 0]
        accident = self.n_accidents and self.chance(8) == 0
        if crashing or accident:
            self.n_accidents -= bool(accident)
            for row in crashing[:1]:
                self.crashes_of[row] -= 1
            lost = [rows, *self.out] if self.all_are_lost else [rows]
            self.out = self.out if not self.all_are_lost else []
            return Completed([], lost)
        return Completed([[record_of(row, 0.01 * (1 + self.chance(9))) for row in rows]], [])


@given(
    n=st.integers(1, 60),
    crashes_of=st.dictionaries(st.integers(0, 59), st.integers(1, 50), max_size=3),
    seed=st.randoms(use_true_random=False),
    max_batches=st.integers(1, 5),
    attempts=st.integers(1, 4),
    all_are_lost=st.booleans(),
)
def test_everybody_is_learnt_once_or_to_blame(
    n, crashes_of, seed, max_batches, attempts, all_are_lost
):
    crashes_of = {row: times for row, times in crashes_of.items() if row < n}
    workers = FakeWorkers(
        crashes_of, seed.randrange, max_batches, attempts, all_are_lost=all_are_lost
    )
    learnt, crashing, is_complete = [], [], True
    try:
        take = lambda records: learnt.extend(r.row for r in records)  # noqa: E731
        Run(workers, range(n), take).finish()
    except WorkerCrashes as crashes:
        crashing, is_complete = crashes.rows, crashes.is_complete
    assert len(set(learnt)) == len(learnt)
    assert not set(learnt) & set(crashing)
    if is_complete:
        assert set(learnt) | set(crashing) == set(range(n))
    # An accident may fall on whoever is alone; else only those who kill are to blame.
    if is_complete and workers.n_accidents == 3:
        assert set(crashing) <= set(crashes_of)
        assert all(crashes_of[row] >= attempts for row in crashing)


def test_people_who_crash_processes_are_found_in_their_batches():
    workers = FakeWorkers({4: 99}, lambda n: n - 1, 4, 3, all_are_lost=True)
    learnt = []
    run = Run(workers, range(9), lambda records: learnt.extend(r.row for r in records))
    with pytest.raises(WorkerCrashes) as caught:
        run.finish()
    assert (caught.value.rows, caught.value.is_complete) == ([4], True)
    assert sorted(learnt) == [0, 1, 2, 3, 5, 6, 7, 8]
    # Once with others, then three times alone.
    assert workers.crashes_of[4] == 99 - 4


@pytest.mark.parametrize("crashing", [range(4), range(5, 11), (0, 4, 5, 6, 11)])
@pytest.mark.parametrize("all_are_lost", [True, False])
def test_all_others_are_learnt_beside_several_who_crash_processes(crashing, all_are_lost):
    workers = FakeWorkers(
        dict.fromkeys(crashing, 99), lambda n: n - 1, 4, 3, all_are_lost=all_are_lost
    )
    learnt = []
    run = Run(workers, range(12), lambda records: learnt.extend(r.row for r in records))
    with pytest.raises(WorkerCrashes) as caught:
        run.finish()
    assert (sorted(caught.value.rows), caught.value.is_complete) == (list(crashing), True)
    assert sorted(learnt) == sorted(set(range(12)) - set(crashing))


def test_people_whose_process_crashed_by_chance_are_learnt():
    # Two crashes that are not due to them: with others, and alone.
    workers = FakeWorkers({0: 99, 1: 2, 2: 99}, lambda n: 0, 1, 3, all_are_lost=True)
    learnt = []
    run = Run(workers, range(4), lambda records: learnt.extend(r.row for r in records))
    with pytest.raises(WorkerCrashes) as caught:
        run.finish()
    assert (sorted(caught.value.rows), caught.value.is_complete) == ([0, 2], True)
    assert learnt == [3, 1]


def test_where_all_die_it_is_over_soon():
    crashes_of = dict.fromkeys(range(99), 99)
    workers = FakeWorkers(crashes_of, lambda n: n - 1, 2, 3, all_are_lost=True)
    with pytest.raises(WorkerCrashes) as caught:
        Run(workers, range(99), lambda records: None).finish()
    assert not caught.value.is_complete
    assert 99 * 99 - sum(workers.crashes_of.values()) == _MAX_CRASHES


def test_lots_grow_with_speed_and_are_small_at_the_end():
    sizes = []

    class Quick(FakeWorkers):
        def submit(self, rows):
            sizes.append(len(rows))
            super().submit(rows)

        def wait(self):
            return Completed([[record_of(row, 1e-5) for row in self.out.pop(0)]], [])

    Run(Quick({}, None, 2, 1, all_are_lost=True), range(5000), lambda records: None).finish()
    assert sizes[:2] == [1, 1]
    assert 100 < max(sizes) <= 256
    assert sizes[-1] == 1
    assert sum(sizes) == 5000
