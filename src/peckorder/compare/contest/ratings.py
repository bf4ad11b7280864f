"""The contest on a table of ratings: people left out, but for some of what they gave.

In each fold the rankers are given all ratings of the other people, and a half of what
each person of the fold gave; they rank the other half. So a person is tested once, by
models that have learnt nothing from what is asked.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, Protocol, Self

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

from peckorder._core.typing import Floats, Ints
from peckorder._core.validation import whole
from peckorder.collaborative import NearestRanker, PersonalRanker, VectorSimilarity
from peckorder.compare.candidates.registry import Entrant, Setting
from peckorder.compare.contest.contest import (
    Contest,
    Result,
    Tell,
    choose,
    ranked,
    reason,
)
from peckorder.compare.contest.measures import Measure, of_lists, of_lists_by_name
from peckorder.compare.embedded.run import SEED
from peckorder.exceptions import DataError
from peckorder.feedback import Ratings
from peckorder.tables.columns import Columns
from peckorder.tables.ratings import ratings_of
from peckorder.tables.roles import ColumnRole
from peckorder.tables.task import Task

# Of whom something is known and something is asked.
FEWEST_RATINGS: Final = 4
MOST_PEOPLE: Final = 500
# More are compared on those of some people: a minute or two in place of many.
MOST_RATINGS: Final = 250_000
# Those who compare people look at the ones who gave most, in a table of all items.
_N_VIEWERS: Final = 300
_MOST_CELLS: Final = 8_000_000


@dataclass(frozen=True, slots=True, eq=False)
class RatingsCase:
    """Ratings made ready for a contest, and who is to be tested.

    `ratings` are all there are; the contest is held on `some`, in which `people` are
    the places of those who are tested.
    """

    source: str
    ratings: Ratings
    some: Ratings
    people: Ints
    measures: tuple[Measure, ...]
    entrants: tuple[Entrant, ...]
    column_roles: tuple[ColumnRole, ...] = ()
    notes: tuple[str, ...] = ()
    target: str = "rating"


class Person(Protocol):
    """What is asked of a ranker of ratings: fit it, then scores a person."""

    def fit(self, ratings: Ratings) -> Any:
        """Learn from who gave what to which."""

    def scores(self, user: int, items: Ints) -> Floats:
        """Return scores of some items for a person, both by their places."""


class Personal:
    """PersonalRanker, asked by places."""

    def __init__(self, seed: int, **options: Any) -> None:
        self.model_ = PersonalRanker(random_state=seed, **options)

    def fit(self, ratings: Ratings) -> Self:
        """Learn what is shared."""
        self._ratings = ratings
        self.model_.fit(ratings)
        return self

    def scores(self, user: int, items: Ints) -> Floats:
        """Learn the person, and return scores."""
        who = self._ratings.users[user : user + 1].tolist()[0]
        return self.model_.predict(who)[items]


class ItemMeans:
    """The mean of what an item got, five ratings of the mean given in advance."""

    def fit(self, ratings: Ratings) -> Self:
        """Take the means."""
        total = np.asarray(ratings.csr.sum(axis=0)).ravel()
        middle = float(ratings.csr.data.mean())
        self._means = (total + 5 * middle) / (ratings.per_item + 5)
        return self

    def scores(self, user: int, items: Ints) -> Floats:
        """Return them, whoever asks."""
        return np.asarray(self._means[items])


class Equal:
    """The same for all items."""

    def fit(self, ratings: Ratings) -> Self:
        """Learn nothing."""
        return self

    def scores(self, user: int, items: Ints) -> Floats:
        """Return zeros."""
        return np.zeros(len(items))


class UserItemRidge:
    """Ridge regression on who and what: a level a person, a level an item."""

    def fit(self, ratings: Ratings) -> Self:
        """Fit both kinds of levels at once."""
        rows = ratings.csr.tocoo()
        n, one = len(rows.data), np.ones(2 * len(rows.data))
        place = np.concatenate([rows.row, ratings.n_users + rows.col])
        X = sparse.csr_matrix(
            (one, (np.tile(np.arange(n), 2), place)),
            shape=(n, ratings.n_users + ratings.n_items),
        )
        self.model_ = Ridge(5.0, solver="sparse_cg").fit(X, rows.data)
        self._levels = self.model_.coef_[ratings.n_users :]
        return self

    def scores(self, user: int, items: Ints) -> Floats:
        """Return the items' levels; the person's own shifts them all."""
        return np.asarray(self._levels[items])


class ByViewers:
    """A baseline of viewers, those who gave most: a row an item, a column a person."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def fit(self, ratings: Ratings) -> Self:
        """Lay the ratings out as a table."""
        self._viewers = np.sort(
            np.argsort(-ratings.per_user, kind="stable")[:_N_VIEWERS]
        )
        if len(self._viewers) * ratings.n_items > _MOST_CELLS:
            raise DataError(
                f"more than {_MOST_CELLS:,} cells in the table of people and items"
            )
        self._csr = ratings.csr
        self._table = np.full((ratings.n_items, len(self._viewers)), np.nan)
        for column, user in enumerate(self._viewers.tolist()):
            items, values = self._given(user)
            self._table[items, column] = values
        return self

    def scores(self, user: int, items: Ints) -> Floats:
        """Learn the person from all other columns."""
        known, values = self._given(user)
        own = np.full(len(self._table), np.nan)
        own[known] = values
        others = self._table[:, self._viewers != user]
        return np.asarray(self._make().fit(others, own).predict(others[items]))

    def _given(self, user: int) -> tuple[Ints, Floats]:
        stored = slice(self._csr.indptr[user], self._csr.indptr[user + 1])
        return self._csr.indices[stored], self._csr.data[stored]


def entrants() -> tuple[Entrant, ...]:
    """Return who can rank items for people."""

    def personal(**options: Any) -> Callable[[Setting], Any]:
        return lambda setting: Personal(setting.seed, **options)

    return (
        Entrant("PersonalRanker", personal()),
        Entrant("PersonalRanker, SVD", personal(factorizer="svd")),
        Entrant("Nearest people", lambda s: ByViewers(NearestRanker)),
        Entrant("Vector similarity", lambda s: ByViewers(VectorSimilarity)),
        Entrant("Ridge", lambda s: UserItemRidge(), home="scikit-learn"),
        Entrant("(the item mean)", lambda s: ItemMeans(), home=""),
        Entrant("(a random order)", lambda s: Equal(), home=""),
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
    ratings, told = ratings_of(columns, task)
    notes = list(told)
    can = np.flatnonzero(ratings.per_user >= FEWEST_RATINGS)
    if len(can) < 10:
        raise DataError(
            f"compare: {columns.source} must have at least 10 people with "
            f"{FEWEST_RATINGS} ratings or more; got {len(can)}."
        )
    rng = np.random.default_rng(seed)
    people = can
    if len(can) > most_people:
        people = np.sort(rng.permutation(can)[:most_people])
        notes.append(
            f"{len(people):,} of {len(can):,} people were drawn at random to be tested "
            "(--rows)."
        )
    some, kept = ratings, _kept(ratings, people, most_ratings, rng)
    if len(kept) < ratings.n_users:
        some = ratings.restrict(users=ratings.users[kept])
        people = np.searchsorted(kept, people)
        notes.append(
            f"To learn from, {some.n_users:,} of {ratings.n_users:,} people were drawn "
            f"at random, with {len(some):,} of {len(ratings):,} ratings."
        )
    usual = ("disagreement", "ndcg@10", "msd")
    measures = of_lists_by_name(metric, usual, float(ratings.csr.data.min()))
    return RatingsCase(
        columns.source,
        ratings,
        some,
        people,
        measures,
        entrants(),
        task.column_roles,
        tuple(notes),
        task.target,
    )


def _kept(ratings: Ratings, people: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Return the places of those who are tested, and of others while there is room."""
    others = rng.permutation(np.setdiff1d(np.arange(ratings.n_users), people))
    n_left = most - int(ratings.per_user[people].sum())
    fitting = others[np.cumsum(ratings.per_user[others]) <= n_left]
    return np.sort(np.concatenate([people, fitting]))


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What is asked of people: places of users, of items, and the true ratings."""

    user: Ints
    item: Ints
    value: Floats
    n_known: Ints


def hold_ratings(
    case: RatingsCase,
    *,
    folds: int = 5,
    seed: int = 0,
    only: Iterable[str] | None = None,
    on_progress: Tell | None = None,
) -> tuple[Contest, Asked]:
    """Cross-validate all rankers of people; also return what was asked."""
    whole(2).check("compare", "folds", folds)
    SEED.check("compare", "seed", seed)
    folds = min(folds, len(case.people))
    playing = choose(case.entrants, only)
    asked = _asked(case, seed)
    rng = np.random.default_rng(seed)
    fold_of = np.full(case.some.n_users, -1)
    fold_of[case.people] = rng.permutation(np.arange(len(case.people)) % folds)
    fold = fold_of[asked.user]
    setting = Setting(seed, 0)
    results = {
        e.name: Result(e.name, e.home, scores=np.empty(len(fold))) for e in playing
    }
    left_out = []
    tell = on_progress or (lambda done, total, label: None)
    done, total = 0, folds * len(playing)
    for k in range(folds):
        test = np.flatnonzero(fold == k)
        known = _without(case.some, asked, test)
        for entrant in playing:
            tell(done, total, f"fold {k + 1}: {entrant.name}")
            done += 1
            if entrant.name not in results:
                continue
            why = _try(entrant.make(setting), known, asked, test, results[entrant.name])
            if why:
                left_out.append((entrant.name, why))
                del results[entrant.name]
    tell(total, total, "measuring")
    place = np.unique(asked.user, return_inverse=True)[1]
    measuring = of_lists(asked.value, place, [m.name for m in case.measures])
    for result in results.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert result.scores is not None
            result.values.update(measuring(result.scores))
            result.answers = result.scores
    contest = Contest(
        case.measures,
        ranked(results.values(), case.measures[0]),
        tuple(left_out),
        folds,
        seed,
        "people",
    )
    return contest, asked


def _asked(case: RatingsCase, seed: int) -> Asked:
    """Hold back a half of what each tested person gave."""
    csr = case.some.csr
    rng = np.random.default_rng(seed)
    users, items, values, known = [], [], [], []
    for user in case.people.tolist():
        begin, end = int(csr.indptr[user]), int(csr.indptr[user + 1])
        held = np.sort(begin + rng.permutation(end - begin)[: (end - begin) // 2])
        users.append(np.full(len(held), user))
        known.append(np.full(len(held), end - begin - len(held)))
        items.append(csr.indices[held])
        values.append(csr.data[held])
    joined = (np.concatenate(part) for part in (users, items, values, known))
    return Asked(*joined)


def _without(ratings: Ratings, asked: Asked, test: Ints) -> Ratings:
    """Return all ratings but those asked for in a fold; ids keep their places."""
    held = asked.user[test] * ratings.n_items + asked.item[test]
    user = np.repeat(np.arange(ratings.n_users), ratings.per_user)
    kept = ~np.isin(user * ratings.n_items + ratings.csr.indices, held)
    return ratings._with(kept)


def _try(
    model: Person, known: Ratings, asked: Asked, test: Ints, result: Result
) -> str:
    """Fit one ranker on one fold and keep its scores; return why it could not."""
    assert result.scores is not None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = perf_counter()
            model.fit(known)
            order = test[np.argsort(asked.user[test], kind="stable")]
            users, first = np.unique(asked.user[order], return_index=True)
            parts = np.split(order, first[1:])
            for user, rows in zip(users.tolist(), parts, strict=True):
                result.scores[rows] = model.scores(user, asked.item[rows])
            result.seconds.append(perf_counter() - begin)
    except Exception as error:  # those of other packages may be of any kind
        return reason(error)
    return ""
