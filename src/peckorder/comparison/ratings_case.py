"""Ratings as a case of a contest: half of the ratings of tested people are held out.

In each fold the candidates learn from all ratings of the other people, and from half of
the ratings of each person of the fold; they rank the other half. So every person is
tested once, by models that have learnt nothing from the held-out ratings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, Self

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

from peckorder._core.errors import refusal
from peckorder._core.typing import Floats, Ints
from peckorder.collaborative import (
    Correlation,
    NearestRanker,
    PersonalRanker,
    VectorSimilarity,
    damped_means,
)
from peckorder.comparison.candidates import Candidate, TaskInfo
from peckorder.comparison.contest import Case, Plan, Result, Trial
from peckorder.comparison.measures import Measure, of_lists, of_lists_by_name
from peckorder.comparison.tuning import Wrapper
from peckorder.exceptions import DataError
from peckorder.feedback import Ratings
from peckorder.tables.columns import Columns
from peckorder.tables.roles import ColumnRole
from peckorder.tables.task import Task, ratings_of

# Of whom something is known and something is held out.
FEWEST_RATINGS: Final = 4
MOST_PEOPLE: Final = 500
# More are compared on those of some people: a minute or two in place of many.
MOST_RATINGS: Final = 250_000
# Those who compare people look at the ones with the most ratings, in a dense table.
_N_VIEWERS: Final = 300
_MOST_CELLS: Final = 8_000_000


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutRatings:
    """Ratings to predict: positions of users and items, and the true ratings.

    `n_known` is how many ratings of the same user are known.
    """

    user: Ints
    item: Ints
    value: Floats
    n_known: Ints


@dataclass(frozen=True, slots=True, eq=False)
class RatingsCase(Case):
    """Ratings of items by people, some of whom are tested.

    `ratings` are all there are; the contest uses `sample`, in which `people` are the
    positions of those who are tested.
    """

    source: str
    ratings: Ratings
    sample: Ratings
    people: Ints
    measures: tuple[Measure, ...]
    candidates: tuple[Candidate, ...]
    column_roles: tuple[ColumnRole, ...] = ()
    notes: tuple[str, ...] = ()
    unit: str = "people"
    spread: float = 1.0
    kind: str = "ratings"
    is_sample: bool = False

    def held_out(self, seed: int) -> HeldOutRatings:
        """Return half of the ratings of each tested person."""
        csr = self.sample.csr
        rng = np.random.default_rng(seed)
        users, items, values, n_known = [], [], [], []
        for user in self.people.tolist():
            begin, end = int(csr.indptr[user]), int(csr.indptr[user + 1])
            held = np.sort(begin + rng.permutation(end - begin)[: (end - begin) // 2])
            users.append(np.full(len(held), user))
            n_known.append(np.full(len(held), end - begin - len(held)))
            items.append(csr.indices[held])
            values.append(csr.data[held])
        return HeldOutRatings(*map(np.concatenate, (users, items, values, n_known)))

    def plan(self, n_splits: int, seed: int) -> Plan:
        """Return folds of people."""
        n_folds = min(n_splits, len(self.people))
        held_out = self.held_out(seed)
        rng = np.random.default_rng(seed)
        fold_of = np.full(self.sample.n_users, -1)
        fold_of[self.people] = rng.permutation(np.arange(len(self.people)) % n_folds)
        fold = fold_of[held_out.user]
        person = np.unique(held_out.user, return_inverse=True)[1]
        names = [measure.name for measure in self.measures]
        return Plan(
            n_folds,
            (self._trial(held_out, fold, k, seed) for k in range(n_folds)),
            lambda rows: of_lists(held_out.value[rows], person[rows], names),
        )

    def _trial(self, held_out: HeldOutRatings, fold: Ints, k: int, seed: int) -> Trial:
        """Return the people of one fold: what is known of them, and what is held out."""
        ratings, test = self.sample, np.flatnonzero(fold == k)
        # All ratings but those to predict; ids keep their positions.
        keys = held_out.user[test] * ratings.n_items + held_out.item[test]
        user = np.repeat(np.arange(ratings.n_users), ratings.per_user)
        is_known = ~np.isin(user * ratings.n_items + ratings.csr.indices, keys)
        train = ratings._with(is_known)
        order = test[np.argsort(held_out.user[test], kind="stable")]
        users, first = np.unique(held_out.user[order], return_index=True)
        rows_of_users = np.split(order, first[1:])

        def run(candidate: Candidate, result: Result) -> None:
            """Fit one candidate to `Ratings`, and keep its scores of held-out ratings."""
            model: Any = candidate.make(TaskInfo(seed, 0))
            begin = perf_counter()
            model.fit(train)
            for user, rows in zip(users.tolist(), rows_of_users, strict=True):
                scores = model.scores(user, held_out.item[rows])
                result.record(rows, len(held_out.user), scores)
            result.seconds.append(perf_counter() - begin)

        return Trial(f"fold {k + 1}", run)


class Personal(Wrapper):
    """PersonalRanker, by positions of people and items."""

    def fit(self, ratings: Ratings) -> Self:
        """Learn what is shared."""
        self._ratings = ratings
        ranker: Any = self.model
        self.model_ = ranker.fit(ratings)
        return self

    def scores(self, user: int, items: Ints) -> Floats:
        """Learn the person, and return scores."""
        user_id = self._ratings.users[user : user + 1].tolist()[0]
        return np.asarray(self.model_.predict(user_id))[items]


class ByItem:
    """One score per item, as `learn` finds it in the ratings, whoever the person is."""

    def __init__(self, learn: Callable[[Ratings], Floats]) -> None:
        self._learn = learn

    def fit(self, ratings: Ratings) -> Self:
        """Learn the scores."""
        self._scores = self._learn(ratings)
        return self

    def scores(self, user: int, items: Ints) -> Floats:
        """Return those of some items."""
        return np.asarray(self._scores[items])


def _item_means(ratings: Ratings) -> Floats:
    """Return the mean ratings of items, with five ratings of the overall mean added."""
    total = np.asarray(ratings.csr.sum(axis=0)).ravel()
    return damped_means(total, ratings.per_item, float(ratings.csr.data.mean()), 5.0)


def _ridge_levels(ratings: Ratings) -> Floats:
    """Return levels of items, fitted with one level per person, which shifts all items."""
    rows = ratings.csr.tocoo()
    n, one = len(rows.data), np.ones(2 * len(rows.data))
    column = np.concatenate([rows.row, ratings.n_users + rows.col])
    X = sparse.csr_matrix(
        (one, (np.tile(np.arange(n), 2), column)), shape=(n, ratings.n_users + ratings.n_items)
    )
    ridge = Ridge(5.0, solver="sparse_cg").fit(X, rows.data)
    return np.asarray(ridge.coef_[ratings.n_users :])


class ByViewers:
    """A baseline by those with the most ratings: rows are items, columns people."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def fit(self, ratings: Ratings) -> Self:
        """Lay the ratings out as a table."""
        self._means = _item_means(ratings)
        self._viewers = np.sort(np.argsort(-ratings.per_user, kind="stable")[:_N_VIEWERS])
        if len(self._viewers) * ratings.n_items > _MOST_CELLS:
            raise DataError(f"more than {_MOST_CELLS:,} cells in the table of people and items")
        self._csr = ratings.csr
        self._table = np.full((ratings.n_items, len(self._viewers)), np.nan)
        for column, user in enumerate(self._viewers.tolist()):
            items, values = self._given(user)
            self._table[items, column] = values
        return self

    def scores(self, user: int, items: Ints) -> Floats:
        """Learn the person from all other columns; else return the item means.

        From equal ratings, or those of items that nobody else rated, nothing can be
        learnt: of that person alone the baseline has no answer of its own.
        """
        rated, values = self._given(user)
        own = np.full(len(self._table), np.nan)
        own[rated] = values
        others = self._table[:, self._viewers != user]
        try:
            return np.asarray(self._make().fit(others, own).predict(others[items]))
        except DataError:
            return np.asarray(self._means[items])

    def _given(self, user: int) -> tuple[Ints, Floats]:
        stored = slice(self._csr.indptr[user], self._csr.indptr[user + 1])
        return self._csr.indices[stored], self._csr.data[stored]


def ratings_candidates() -> tuple[Candidate, ...]:
    """Return the candidates that rank items for people."""

    def personal(**options: Any) -> Callable[[TaskInfo], Any]:
        return lambda info: Personal(PersonalRanker(random_state=info.seed, **options))

    makers: tuple[tuple[str, Callable[[TaskInfo], Any], str], ...] = (
        ("PersonalRanker", personal(), "peckorder"),
        ("PersonalRanker (SVD)", personal(factorizer="svd"), "peckorder"),
        ("Nearest people", lambda info: ByViewers(NearestRanker), "peckorder"),
        ("Vector similarity", lambda info: ByViewers(VectorSimilarity), "peckorder"),
        ("Correlation", lambda info: ByViewers(Correlation), "peckorder"),
        ("Ridge", lambda info: ByItem(_ridge_levels), "scikit-learn"),
        ("(the item mean)", lambda info: ByItem(_item_means), ""),
        ("(a random order)", lambda info: ByItem(lambda ratings: np.zeros(ratings.n_items)), ""),
    )
    # The others have nothing to keep but the ratings themselves.
    return tuple(
        Candidate(name, make, origin=origin, can_be_saved=name.startswith("PersonalRanker"))
        for name, make, origin in makers
    )


def make_ratings_case(
    columns: Columns,
    task: Task,
    *,
    metric: str | None = None,
    most_people: int = MOST_PEOPLE,
    seed: int = 0,
    most_ratings: int = MOST_RATINGS,
) -> RatingsCase:
    """Make a table of ratings ready.

    Beyond `most_people` some are drawn to be tested, and beyond `most_ratings` some of
    the others, from whom is learnt too.
    """
    ratings, read_notes = ratings_of(columns, task)
    notes = list(read_notes)
    testable = np.flatnonzero(ratings.per_user >= FEWEST_RATINGS)
    if len(testable) < 10:
        raise refusal(
            columns.source,
            f"have at least 10 people with {FEWEST_RATINGS} ratings or more",
            len(testable),
        )
    rng = np.random.default_rng(seed)
    people = testable
    if len(testable) > most_people:
        people = np.sort(rng.permutation(testable)[:most_people])
        notes.append(
            f"{len(people):,} of {len(testable):,} people were drawn at random to be "
            "tested (--rows)."
        )
    sample, kept = ratings, _kept(ratings, people, most_ratings, rng)
    if len(kept) < ratings.n_users:
        sample = ratings.restrict(users=ratings.users[kept])
        people = np.searchsorted(kept, people)
        notes.append(
            f"To learn from, {sample.n_users:,} of {ratings.n_users:,} people were "
            f"drawn at random, with {len(sample):,} of {len(ratings):,} ratings."
        )
    usual = ("disagreement", "ndcg@10", "rmsd")
    measures = of_lists_by_name(metric, usual, float(ratings.csr.data.min()))
    return RatingsCase(
        source=columns.source,
        ratings=ratings,
        sample=sample,
        people=people,
        measures=measures,
        candidates=ratings_candidates(),
        column_roles=task.column_roles,
        notes=tuple(notes),
    )


def _kept(ratings: Ratings, people: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Return positions of the tested people, and of others up to `most` ratings."""
    others = rng.permutation(np.setdiff1d(np.arange(ratings.n_users), people))
    n_left = most - int(ratings.per_user[people].sum())
    fitting = others[np.cumsum(ratings.per_user[others]) <= n_left]
    return np.sort(np.concatenate([people, fitting]))
