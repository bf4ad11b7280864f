"""Rounds without Python in between, where there is nothing special."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Team
from peckorder.boosting.compiled import barrier, search_by_r
from peckorder.boosting.compiled import rounds as kernels
from peckorder.boosting.pairs.distribution import UNIT, Distribution, GradedPart
from peckorder.boosting.solver.rounds import Boosted, Round, Steps, check_alpha
from peckorder.boosting.weak.thresholds import Thresholds, WeakLearner

# Entries looked at between two chances to be interrupted.
_AT_A_TIME = 1 << 26
# Numbers that keep what threads share out of each other's cache lines.
_APART = 16


@dataclass(frozen=True)
class Watch:
    """Who is told of the rounds so far, and after how many of them at the latest."""

    every: int
    tell: Callable[[Boosted], None]


def can_run(
    distribution: Distribution, learners: Sequence[WeakLearner], steps: Steps
) -> bool:
    """Tell whether the case is a plain one."""
    if len(learners) != 1 or steps.method != "approximate":
        return False
    is_plain = type(learners[0]) is Thresholds and len(distribution.parts) == 1
    return is_plain and isinstance(distribution.parts[0], GradedPart)


def run(
    boosted: Boosted,
    distribution: Distribution,
    learner: Thresholds,
    steps: Steps,
    n_rounds: int,
    watch: Watch | None = None,
) -> None:
    """Add rounds until there are `n_rounds`, or nothing is left."""
    part: Any = distribution.parts[0]
    binned, columns, account = learner.binned, learner.sorted, learner.account
    n_rows = len(distribution.potentials)
    column_of = np.full(account.n_features, -1)
    column_of[columns.features] = np.arange(len(columns.features))
    n_entries = len(binned.features) * n_rows + len(columns.rows) + n_rows
    n_entries += account.n_features
    chunk = max(1, _AT_A_TIME // n_entries)
    chunk = chunk if watch is None else min(chunk, watch.every)
    n_threads = learner.n_threads(n_rows, MIN_ITEMS_PER_THREAD["round_entries"])
    rooms = n_threads, 2 + search_by_r.TOGETHER, search_by_r.N_BINS
    while len(boosted.rounds) < n_rounds:
        size = min(chunk, n_rounds - len(boosted.rounds))
        record = np.empty((size, kernels.RECORD))
        account.reserve(size)
        shared = np.zeros((3, _APART), dtype=np.int64)
        arguments = (
            distribution.mass_unit,
            UNIT,
            part.levels,
            part.starts,
            part.moved_rows,
            part.log_weight,
            part.log_step,
            part.log_query,
            part.up,
            part.down,
            part.up_scale,
            part.down_scale,
            part.base,
            part.log_mass,
            distribution.scores,
            distribution.potentials,
            binned.features,
            binned.bins,
            binned.n_bins,
            binned.abstains,
            columns.features,
            columns.starts,
            columns.rows,
            columns.is_last,
            columns.groups,
            columns.group_ends,
            columns.zero,
            columns.abstains,
            column_of,
            learner.default_rule,
            account.cumulative,
            steps.rate,
            steps.smoothing,
            account.size,
            *account.arrays,
            learner.ceilings,
            distribution.travelled,
            np.empty(len(binned.features), dtype=np.int64),
            np.empty(len(columns.features), dtype=np.int64),
            np.empty(rooms, dtype=np.int64),
            np.empty((n_threads, learner.room + _APART), dtype=np.int64),
            np.empty(n_rows),
            *shared,
            np.empty((n_threads, _APART), dtype=np.int64),
            *np.empty((2, n_threads)),
            *np.empty((2, n_threads), dtype=np.int64),
            record,
        )
        done, account.size = _run(size, arguments, n_threads, shared[0], learner.team)
        for feature, cut, default, alpha, log_total in record[:done].tolist():
            check_alpha(alpha)
            threshold = learner.threshold(int(feature), int(cut))
            round_ = Round(int(feature), threshold, default, alpha)
            boosted.add(round_, log_total - distribution.log_total)
            distribution.log_total = log_total
        if watch is not None:
            watch.tell(boosted)
        if done < size:
            return


def _run(
    n_rounds: int, arguments: tuple[Any, ...], n_threads: int, places: Any, team: Team
) -> tuple[int, int]:
    """Do rounds in threads, which meet at places; return what the first one does."""
    execute: Any = kernels.run
    # Compiled here, if it must be: a thread that is late keeps the others spinning.
    execute(0, 1, 0, *arguments)

    @contextmanager
    def nobody_waits() -> Iterator[None]:
        try:
            yield
        except BaseException:
            # The other threads would wait for this one for ever.
            places[barrier.CANCELLED] = 1
            raise

    def work(thread: slice, give_up: Callable[[], bool]) -> tuple[int, int]:
        with nobody_waits():
            result: tuple[int, int] = execute(
                thread.start, n_threads, n_rounds, *arguments
            )
        return result

    # Ctrl-C may come before all threads are at work.
    with nobody_waits():
        return team.share(n_threads, work)[0]
