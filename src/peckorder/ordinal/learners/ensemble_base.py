"""What all ensembles of PRanks share: masks, and how members are combined."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import exp, factorial
from typing import Any, Final, NamedTuple, Self

import numpy as np

from peckorder._core.row_transform import UnusableRow, map_blocks
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Stop, share
from peckorder._core.typing import Array, Floats, Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import ensemble
from peckorder.ordinal.compiled.ensemble import Outcome
from peckorder.ordinal.compiled.linear import RowBlock
from peckorder.ordinal.learners.base import MOST_ROUNDS, TALLY, Learner, Tally, learn, nearest_level
from peckorder.similarity.kernel_function import slice_rows
from peckorder.storage.fields import Field, array, floats, ints, whole
from peckorder.storage.format import Node

# Votes in memory at a time.
_CELLS = 1 << 20
# How often a member can be offered a row in a round.
MOST_OFFERS: Final = 255


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


class BlockResult(NamedTuple):
    """What a range of members did with a block.

    Of members with a kernel, `state` has their coefficients, and their scores before
    each row.
    """

    unusable: int
    tally: Ints
    outcome: Outcome
    state: tuple[Floats, ...] = ()


MEMBERS: Final = (
    *TALLY,
    Field("key", array("u8", "rules")),
    Field("thresholds", floats("rules", "thresholds", ascending=True)),
    Field("right", ints("rules")),
    Field("clock", whole(0, MOST_ROUNDS)),
)


def check_members(node: Node) -> None:
    """Refuse so many rounds that votes could not be counted."""
    if node.sizes["rules"] * node.values["rounds"] > MOST_ROUNDS:
        raise node.refuse("rounds", "few enough for votes to be counted")
    if (node.values["right"] > MOST_OFFERS * node.values["rounds"]).any():
        raise node.refuse("right", "of rounds that have been")


@dataclass(kw_only=True)
class AggregateLearner(Learner):
    """N copies of PRank, each offered a row as often as its mask of that round says.

    The mask of a member depends on its key and the round, `clock`, alone, or is one of
    those `given` (n, N) for the next n rounds. thresholds (N, k-1); right (N,) counts the
    offers that a member placed rightly.
    """

    aggregate: str
    mask_thresholds: Ints
    n_threads: int
    key: Ints
    thresholds: Floats
    right: Ints
    clock: int = 0
    tally: Tally = field(default_factory=Tally)
    given: Ints = field(default_factory=lambda: np.empty((0, 0), np.uint8))

    @abstractmethod
    def total_scores(self, rows: Rows) -> Floats:
        """Return the sum of the members' scores of every row."""

    def total_thresholds(self) -> Floats:
        """Return the thresholds that `total_scores` are compared with."""
        return np.asarray(self.thresholds.sum(axis=0))

    @abstractmethod
    def ballots(self, rows: Rows) -> Ballots:
        """Let the members vote on every row."""

    def __len__(self) -> int:
        return len(self.key)

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

    def predicts_by_total(self, block: RowBlock) -> bool:
        """Whether rows are predicted, and by the sum of the members."""
        is_mean = self.aggregate == "bayes_point" and not self.are_alike
        return block.predicted.size > 0 and is_mean

    def learn_by_members(
        self, block: RowBlock, n_products: int, work: Callable[[slice, Stop], BlockResult]
    ) -> BlockResult:
        """Let ranges of members learn a block; return what they did together.

        Predicts the rows if the members have voted. Sums of integers are exact.
        """
        results = share(len(self), self.n_threads_for(n_products), work)
        outcomes = zip(*(result.outcome for result in results), strict=True)
        outcome = Outcome(*(np.sum(arrays, axis=0) for arrays in outcomes))
        tally = np.sum([result.tally for result in results], axis=0)
        unusable = min((r.unusable for r in results if r.unusable >= 0), default=-1)
        self.tally.add(block.n_rows, tally)
        self.clock += block.n_rows
        self.given = self.given[block.n_rows :]
        if unusable < 0 and outcome.votes.size:
            block.predicted[:] = self.decide(Ballots(outcome.votes, outcome.right_votes))
        states = zip(*(result.state for result in results), strict=True)
        return BlockResult(unusable, tally, outcome, tuple(map(np.hstack, states)))

    def n_threads_for(self, n_products: int) -> int:
        """Return how many threads repay so many products."""
        return min(self.n_threads, 1 + n_products // MIN_ITEMS_PER_THREAD["products"])

    @property
    def most_offers(self) -> int:
        """How often a member is offered a row at most."""
        return MOST_OFFERS if len(self.given) else len(self.mask_thresholds)

    def masks(self, members: slice, first: int, n_rounds: int) -> Ints:
        """Return the masks of a range of members, from `first` rounds after now."""
        if len(self.given):
            return np.ascontiguousarray(self.given[first : first + n_rounds, members])
        masks = np.empty((n_rounds, members.stop - members.start), dtype=np.uint8)
        first_round = np.uint64(self.clock + first)
        ensemble.draw_masks(self.key[members], first_round, self.mask_thresholds, masks)
        return masks

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        if self.aggregate == "bayes_point" and not self.are_alike:
            return np.searchsorted(self.total_thresholds(), self.total_scores(rows), side="right")
        return self._from_votes(rows, self.decide)

    @property
    def are_alike(self) -> bool:
        """Whether all members are one and the same, and will be offered all rows.

        Then each is the mean, to the bit, which the sum of all may not be.
        """
        if len(self.given) or not offers_all(self.mask_thresholds):
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

    @abstractmethod
    def alone(self, j: int) -> Self:
        """Return a learner of member j, which has learnt nothing yet."""

    @abstractmethod
    def joined(self, parts: Sequence[Self]) -> Self:
        """Return a learner of members that have learnt the same rows alone."""

    def _alone(self, j: int, **state: Any) -> Self:
        """Return member j, given what it scores rows by."""
        member = slice(j, j + 1)
        own = {name: getattr(self, name)[member].copy() for name in ("key", "thresholds", "right")}
        return replace(self, n_threads=1, tally=Tally(), **own, **state)

    def _joined(self, parts: Sequence[Self], **state: Any) -> Self:
        """Return the members of all parts, given what they score rows by."""
        tallies = [part.tally for part in parts]
        return replace(
            self,
            thresholds=np.concatenate([part.thresholds for part in parts]),
            right=np.concatenate([part.right for part in parts]),
            clock=parts[0].clock,
            tally=Tally(
                tallies[0].rounds,
                sum(tally.mistakes for tally in tallies),
                sum(tally.loss for tally in tallies),
            ),
            **state,
        )

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


def learn_permuted(
    ensemble: Any, rows: Rows, levels: Callable[[slice | Ints], Ints], n_passes: int
) -> Any:
    """Return a new ensemble, each of whose members has learnt all rows in its own orders.

    Orders depend on the key of the member and the number of the pass alone. Members
    learn alone, so that threads may share them. Raises the UnusableRow of the first
    member that has one.
    """
    n_rows, keys = count_rows(rows), ensemble.members.key

    def learn_alone(j: int) -> Any:
        part = ensemble.alone(j)
        for number in range(n_passes):
            seed = [int(keys[j]) >> 32, int(keys[j]) & 0xFFFFFFFF, number]
            order = np.random.RandomState(seed).permutation(n_rows)
            try:
                learn(part, rows, levels, order=order)
            except UnusableRow as unusable:
                return unusable
        return part

    def learn_some(members: slice, give_up: Stop) -> list[Any]:
        return [learn_alone(j) for j in range(members.start, members.stop) if not give_up()]

    shares = share(len(keys), ensemble.members.n_threads, learn_some)
    parts = [part for some in shares for part in some]
    for part in parts:
        if isinstance(part, UnusableRow):
            raise part
    return ensemble.joined(parts)


def member_keys(seed: int, n_members: int) -> Ints:
    """Return a key for each member; the first ones don't depend on how many follow."""
    keys: Ints = np.random.SeedSequence(seed).generate_state(n_members, np.uint64)
    return keys


def bernoulli(tau: float) -> Ints:
    """Return how many of 2**32 masks are ones, the others being zeros."""
    return np.array([max(1, round(tau * 2**32))], dtype=np.uint64)


def poisson() -> Ints:
    """Return how many of 2**32 masks are above 0, 1, ...: of a Poisson number of mean one."""
    shares = np.array([exp(-1.0) / factorial(q) for q in range(30)])
    above = np.cumsum(shares[:0:-1])[::-1]
    thresholds = np.round(above * 2**32).astype(np.uint64)
    return thresholds[thresholds > 0]


def offers_all(mask_thresholds: Ints) -> bool:
    """Whether masks are ones only."""
    return len(mask_thresholds) == 1 and int(mask_thresholds[0]) == 2**32


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
