"""What all ensembles of PRanks share: masks, and how members are combined."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from peckorder._core.row_transform import map_blocks
from peckorder._core.typing import Array, Floats, Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import ensemble
from peckorder.ordinal.learners.base import Tally, nearest_level
from peckorder.similarity.kernel_function import slice_rows

# Votes in memory at a time.
_CELLS = 1 << 20


class Ballots(NamedTuple):
    """Votes (n, k) of the members on rows: one each, and one for each right placement.

    A member that never was right has no vote of the second kind.
    """

    one_each: Ints
    by_right: Ints

    @classmethod
    def none(cls, n_rows: int, n_levels: int) -> Self:
        """Return zero votes."""
        shape = (n_rows, n_levels)
        return cls(np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64))


NO_BALLOTS = Ballots.none(0, 0)


@dataclass(kw_only=True)
class AggregateLearner(ABC):
    """N copies of PRank, each offered a row if its mask of that round is one.

    The mask of a member depends on its key and the round, `clock`, alone. thresholds
    (N, k-1); right (N,) counts the offered rows that a member placed rightly.
    """

    aggregate: str
    mask_threshold: np.uint64
    n_threads: int
    key: Ints
    thresholds: Floats
    right: Ints
    clock: int = 0
    tally: Tally = field(default_factory=Tally)

    @abstractmethod
    def total_scores(self, rows: Rows) -> Floats:
        """Return the sum of the members' scores of every row."""

    @abstractmethod
    def ballots(self, rows: Rows) -> Ballots:
        """Let the members vote on every row."""

    def __len__(self) -> int:
        return len(self.key)

    def copy(self) -> Self:
        """Return an independent copy."""
        return replace(
            self,
            thresholds=self.thresholds.copy(),
            right=self.right.copy(),
            tally=replace(self.tally),
        )

    @property
    def members(self) -> Self:
        """The learner that holds the members."""
        return self

    def with_threads(self, n_threads: int) -> Self:
        """Return the same ensemble with another number of threads."""
        return replace(self, n_threads=n_threads)

    @property
    def n_levels(self) -> int:
        """The number of levels."""
        return 1 + int(self.thresholds.shape[1])

    def masks(self, members: slice, first: int, n_rounds: int) -> Ints:
        """Draw the masks of a range of members, from `first` rounds after now."""
        masks = np.empty((n_rounds, members.stop - members.start), dtype=np.uint8)
        first_round = np.uint64(self.clock + first)
        ensemble.draw_masks(self.key[members], first_round, self.mask_threshold, masks)
        return masks

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        if self.aggregate == "bayes_point" and not self.are_alike:
            score = self.total_scores(rows)
            return np.searchsorted(self.thresholds.sum(axis=0), score, side="right")
        return self._from_votes(rows, self.decide)

    @property
    def are_alike(self) -> bool:
        """Whether all members are one and the same, having been offered all rows.

        Then each is the mean, to the bit, which the sum of all may not be.
        """
        if self.mask_threshold < 2**32:
            return False
        return bool((self.thresholds == self.thresholds[0]).all()) and self._alike()

    @abstractmethod
    def _alike(self) -> bool:
        """Whether all members give the same scores."""

    def mean_scores(self, rows: Rows) -> Floats:
        """Return the mean of the members' scores of every row."""
        return self.total_scores(rows) / len(self)

    def mean_thresholds(self) -> Floats:
        """Return the mean of the members' thresholds."""
        return np.asarray(self.thresholds.mean(axis=0))

    def mean_ranks(self, rows: Rows) -> Floats:
        """Return the mean rank, 1..k, of every row over all votes."""
        return self._from_votes(rows, self.mean_by_votes)

    def mean_by_votes(self, ballots: Ballots) -> Floats:
        """Return the mean rank over the votes on each row that count."""
        votes = self._counted(ballots)
        ranks = np.arange(1, votes.shape[1] + 1)
        return np.asarray(votes @ ranks / votes.sum(axis=1))

    def shares(self, rows: Rows) -> Floats:
        """Return the share of the votes, for every row, that each level has."""
        return self._from_votes(rows, lambda v: _shares(self._counted(v)))

    def _from_votes(self, rows: Rows, answer: Callable[[Ballots], Array]) -> Array:
        """Compute a result from votes, block by block, for a bounded memory."""
        size = max(1, _CELLS // self.n_levels)

        def compute(block: slice) -> Array:
            return answer(self.ballots(slice_rows(rows, block)))

        return np.concatenate(map_blocks(count_rows(rows), size, compute))

    def decide(self, ballots: Ballots) -> Ints:
        """Turn votes into levels."""
        if self.aggregate == "median":
            return nearest_level(_median_rank(self._counted(ballots)), self.n_levels)
        return nearest_level(self.mean_by_votes(ballots), self.n_levels)

    def _counted(self, ballots: Ballots) -> Ints:
        """Choose which votes count; where no member was ever right, all count alike."""
        if self.aggregate != "voted":
            return ballots.one_each
        is_empty = ballots.by_right.sum(axis=1, keepdims=True) == 0
        return np.where(is_empty, ballots.one_each, ballots.by_right)

    def merged(self, other: Self, **joined: Any) -> Self:
        """Return a learner with the members of both, going on from the later clock."""
        return replace(
            self,
            key=np.concatenate([self.key, _other_keys(self.key, other.key)]),
            thresholds=np.concatenate([self.thresholds, other.thresholds]),
            right=np.concatenate([self.right, other.right]),
            clock=max(self.clock, other.clock),
            tally=self.tally + other.tally,
            **joined,
        )


def member_keys(seed: int, n_members: int) -> Ints:
    """Return a key for each member; the first ones don't depend on how many follow."""
    keys: Ints = np.random.SeedSequence(seed).generate_state(n_members, np.uint64)
    return keys


def mask_threshold(tau: float) -> np.uint64:
    """Return how many of 2**32 masks are ones."""
    return np.uint64(max(1, round(tau * 2**32)))


def _other_keys(taken: Ints, keys: Ints) -> Ints:
    """Return keys for members that join others: their own, unless some are taken.

    Two members with one key would be offered the same rows for ever.
    """
    while np.isin(keys, taken).any():
        entropy = [int(key) for key in (*taken, *keys)]
        keys = np.random.SeedSequence(entropy).generate_state(len(keys), np.uint64)
    return keys


def _shares(votes: Ints) -> Floats:
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def _median_rank(votes: Ints) -> Floats:
    """Return the middle rank, or the mean of the two middle ones."""
    below = np.cumsum(votes, axis=1)
    n_votes = below[:, -1:]
    lower = 1 + (below < (n_votes + 1) // 2).sum(axis=1)
    upper = 1 + (below < n_votes // 2 + 1).sum(axis=1)
    return np.asarray((lower + upper) / 2)
