"""PersonalRanker: what is shared is learnt once, then each person in a moment."""

from collections.abc import Hashable, Iterable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from peckorder._core.typing import Floats, Ints, Seed
from peckorder._core.validation import (
    Rule,
    Rules,
    boolean,
    check_parameters,
    finite,
    not_negative,
    one_of,
    positive,
    whole,
)
from peckorder.collaborative._problem import check_ratings
from peckorder.collaborative.personal.checks import (
    listed_ids,
    places,
    refuse_user,
    warn_of_few,
    warn_off_range,
)
from peckorder.collaborative.personal.explanation import constant, explained
from peckorder.collaborative.personal.person import Constant, Learnt, Weighed
from peckorder.collaborative.personal.results import Explanation, Recommendations
from peckorder.collaborative.personal.shared import Community, Settings
from peckorder.collaborative.personal.storage import PERSONAL
from peckorder.exceptions import DataError
from peckorder.feedback import Ratings
from peckorder.feedback._ids import listed
from peckorder.gaps import cut_at_gap
from peckorder.storage.mixin import StoredModel

_C = Rule(
    "None, 'leave_pair_out' or a finite number > 0",
    lambda value: (
        value is None
        or (
            value == "leave_pair_out"
            if isinstance(value, str)
            else positive.accepts(value)
        )
    ),
)


def _is_estimator(value: Any) -> bool:
    return value is None or (
        callable(getattr(value, "fit", None))
        and callable(getattr(value, "predict", None))
    )


def _are_references(value: Any) -> bool:
    if value is None or isinstance(value, Integral):
        return value is None or whole(1).accepts(value)
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


class PersonalRanker(StoredModel, BaseEstimator, stored=True):  # type: ignore[misc]
    r"""Ranks items for each person: MPRank on what the item means leave unexplained.

    Once, from everybody: damped item means m_j and how alike items are,
    ``K_ij = f_i . f_j / s + a cos(residuals of i, of j) + b cos(raters of i, of j)``,
    with factors f and noise s. Then, for each person with ratings y of n items,
    ``score_j = m_j + t + sum_i alpha_i K_ij``, where ``(K + ridge) alpha + t = y - m``
    and ``sum alpha = 0``: `MPRank` with the precomputed kernel K,
    ``ridge = n / (2 C)`` and the item means as offset.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What learns a person's residuals y - m. None: MPRank as above. One whose
        `kernel` is "precomputed" is given K; any other the items' features: factors, or
        with `references` their ratings. Its scores must be on the scale of y, as those
        of `MPRank`, `SVRank` and regressors are.
    n_factors : int, default=10
        How many factors there are; those the data do not speak for die out.
    factorizer : {"als", "svd"}, default="als"
        How factors are learnt: by alternating least squares that take into account how
        unsure each factor is, or by one truncated SVD of the residuals: ten times
        faster and less good.
    cosine_weight : float, default=0.8
        a, the weight of the cosines of residuals.
    audience_weight : float, default=1.0
        b, the weight of the cosines of who rated the items, whatever they gave.
    C : None, "leave_pair_out" or float, default=None
        None: the C that goes with the noise, n / 2, for a ridge of 1. "leave_pair_out":
        the best of eight around it by the person's exact leave-pair-out error, some ten
        times slower (see Notes). Or one for all.
    references : None, int or array-like, default=None
        The papers' option: the residuals of these viewers, or of so many with the most
        ratings, are an item's features, 0 where there is none; MPRankCV with a linear
        kernel learns on them unless `estimator` is given.
    damping : float, default=5.0
        How many ratings of the mean an item has in advance, with the SVD or
        references; the other learns it.
    max_iter : int, default=30
        Passes of alternating least squares.
    random_state : int, RandomState or None, default=None
        Where factors start.

    Attributes
    ----------
    item_means_ : ndarray of shape (n_items,)
        m.
    item_features_ : ndarray of shape (n_items, n_factors)
        f over the root of the noise; or residuals of the references.
    noise_ : float
        s, the variance that is not explained.
    items_, users_ : ndarray
        The ids in what `fit` was given; not of people whom `update` added.

    Notes
    -----
    `fit` takes O(max_iter (r k^2 + (n_users + n_items) k^3)) time for r ratings and k
    factors, and the cosines a product of sparse matrices. Up to 8,192 items they are
    held, 4 bytes a pair (55 MB for 3,706); beyond, they are computed for each person
    from the columns he needs. A person takes O(n^3) time when first asked about, under
    a millisecond for a hundred ratings, and O(n) memory.

    What is shared was learnt from a person's own ratings too, so that they look better
    explained, left out or not, than new ones will be: for people of `fit`
    "leave_pair_out" tends to the largest C, and is no better than None on MovieLens.

    Examples
    --------
    >>> from peckorder import Ratings
    >>> from peckorder.collaborative import PersonalRanker
    >>> ratings = Ratings(list("aabbbcc"), [1, 2, 1, 2, 3, 2, 3], [5, 1, 4, 2, 5, 1, 4])
    >>> model = PersonalRanker(n_factors=1, random_state=0).fit(ratings)
    >>> model.recommend("c", n=5).items.tolist()
    [1]
    >>> model.update("dan", 2, 1.0).update("dan", 1, 4.0).predict("dan", [3]).round(1)
    array([4.])
    """

    _has_features = False
    _may_be_inner = False
    _stored_fields: ClassVar = PERSONAL
    _rules: ClassVar[Rules] = {
        "estimator": Rule("None or have fit and predict", _is_estimator),
        "n_factors": whole(0),
        "factorizer": one_of("als", "svd"),
        "cosine_weight": not_negative,
        "audience_weight": not_negative,
        "C": _C,
        "references": Rule("None, an integer >= 1 or a list of ids", _are_references),
        "damping": not_negative,
        "max_iter": whole(1),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_factors: int = 10,
        factorizer: str = "als",
        cosine_weight: float = 0.8,
        audience_weight: float = 1.0,
        C: Any = None,
        references: Any = None,
        damping: float = 5.0,
        max_iter: int = 30,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.n_factors = n_factors
        self.factorizer = factorizer
        self.cosine_weight = cosine_weight
        self.audience_weight = audience_weight
        self.C = C
        self.references = references
        self.damping = damping
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, ratings: Ratings) -> Self:
        """Learn what is shared; people follow when they are asked about.

        Parameters
        ----------
        ratings : Ratings
            Who gave what to which.

        Returns
        -------
        self
            The fitted ranker.
        """
        check_parameters(self, self._rules)
        check_ratings(self._who, ratings)
        values = ratings.csr.data
        if len(values) == 0 or values.min() == values.max():
            got = f"{float(values[0])!r} alone" if len(values) else "none"
            raise DataError(
                f"{self._who}: ratings must have two different values; got {got}."
            )
        settings = Settings(
            self.n_factors,
            self.factorizer,
            float(self.cosine_weight),
            float(self.audience_weight),
            self.references,
            float(self.damping),
            self.max_iter,
        )
        rng = check_random_state(self.random_state)
        self._publish(ratings, Community.learn(ratings, settings, rng))
        return self

    def _publish(self, ratings: Ratings, shared: Community) -> None:
        self._shared, self._ratings = shared, ratings
        self._range = float(ratings.csr.data.min()), float(ratings.csr.data.max())
        self._rows = {user: row for row, user in enumerate(listed(ratings.users))}
        self._changed: dict[Any, tuple[Ints, Floats]] = {}
        self._people: dict[Any, Learnt] = {}
        self.item_means_, self.noise_ = shared.means, shared.noise
        self.item_features_ = shared.features
        self.users_, self.items_ = ratings.users, ratings.items

    def fit_people(self, users: ArrayLike | None = None) -> Self:
        """Learn people in advance, who would be learnt when first asked about.

        Parameters
        ----------
        users : array-like, default=None
            Their ids; None for everybody.

        Returns
        -------
        self
            The ranker that knows them.
        """
        check_is_fitted(self)
        chosen = [
            *self._rows,
            *(user for user in self._changed if user not in self._rows),
        ]
        for user in chosen if users is None else listed_ids(self._who, "users", users):
            self._person(user)
        return self

    def predict(self, user: Any, items: ArrayLike | None = None) -> Floats:
        """Return the ratings that a person is expected to give.

        Parameters
        ----------
        user : hashable
            The person. One without two different ratings gets the item means, all
            shifted to the level of what he gave, with a warning.
        items : array-like, default=None
            The ids of items; None for all, in the order of `items_`.

        Returns
        -------
        scores : ndarray of shape (n_items,)
            Not cut to the scale of ratings.
        """
        check_is_fitted(self)
        asked = (
            slice(None) if items is None else places(self._who, self._ratings, items)
        )
        return self.item_means_[asked] + self._asked(user).scores(asked)

    def recommend(
        self, user: Any, n: int = 10, *, exclude_rated: bool = True
    ) -> Recommendations:
        """Return the items that a person is expected to like most.

        Parameters
        ----------
        user : hashable
            The person.
        n : int, default=10
            How many items there are at most.
        exclude_rated : bool, default=True
            Leave out what the person has rated.

        Returns
        -------
        recommendations : Recommendations
            `items`, `scores`, `gaps` and `above_cut`, best first; equal scores in the
            order of `items_`.
        """
        check_is_fitted(self)
        whole(1).check(self._who, "n", n)
        boolean.check(self._who, "exclude_rated", exclude_rated)
        scores = self.predict(user)
        candidates = np.arange(len(scores))
        if exclude_rated:
            candidates = np.delete(candidates, self._rated(user)[0])
        order = candidates[np.argsort(-scores[candidates], kind="stable")[: n + 1]]
        falling = np.append(scores[order], np.nan)
        gaps = (falling[:-1] - falling[1:])[:n]
        top = order[:n]
        above = cut_at_gap(scores[top]) if len(top) else np.zeros(0, dtype=bool)
        return Recommendations(self.items_[top], scores[top], gaps, above)

    def explain(self, user: Any, item: Any) -> Explanation:
        """Tell which rated items and which viewers speak for a predicted rating.

        Parameters
        ----------
        user : hashable
            The person.
        item : hashable
            The item, rated or not.

        Returns
        -------
        explanation : Explanation
            Parts that add up to the score.
        """
        check_is_fitted(self)
        place = self._ratings.item_index(item)
        person = self._asked(user)
        if not isinstance(person, Weighed):
            if isinstance(person, Constant):
                return constant(self.item_means_[place], person.shift)
            raise TypeError(
                f"{self._who}: estimator must be None to be explained; got "
                f"{self.estimator!r} and references={self.references!r}."
            )
        mean = float(self.item_means_[place])
        return explained(person, place, mean, self.items_, self.users_)

    def update(self, user: Any, item: Any, rating: float) -> Self:
        """Take in one rating, new or changed, and learn that person anew.

        What is shared stays as it is; for many new ratings, `fit` again.

        Parameters
        ----------
        user : hashable
            The person, known or not.
        item : hashable
            A known item.
        rating : float
            What the person gives; an earlier rating of the item is replaced. One below
            or above all of `fit` is taken with a warning.

        Returns
        -------
        self
            The ranker; unchanged after an error.
        """
        check_is_fitted(self)
        finite.check(self._who, "rating", rating)
        place = self._ratings.item_index(item)
        if user is None or not isinstance(user, Hashable):
            raise DataError(f"{self._who}: user must be an id; got {user!r}.")
        empty = np.zeros(0, dtype=np.intp), np.zeros(0)
        known = user in self._rows or user in self._changed
        rated, values = self._rated(user) if known else empty
        warn_off_range(self._who, self._range, rating)
        others = rated != place
        order = np.argsort(new := np.append(rated[others], place))
        now = new[order], np.append(values[others], float(rating))[order]
        learnt = self._learn(user, *now)
        self._changed[user], self._people[user] = now, learnt
        return self

    def _asked(self, user: Any) -> Learnt:
        person = self._person(user)
        if isinstance(person, Constant):
            warn_of_few(self._who, user, len(self._rated(user)[0]), person.shift)
        return person

    def _person(self, user: Any) -> Learnt:
        """Return what is known of a person, learnt now if it has not been."""
        rated, values = self._rated(user)
        if user not in self._people:
            self._people[user] = self._learn(user, rated, values)
        return self._people[user]

    def _learn(self, user: Any, rated: Ints, values: Floats) -> Learnt:
        row = self._rows.get(user)
        return self._shared.person(self.estimator, self.C, row, rated, values)

    def _rated(self, user: Any) -> tuple[Ints, Floats]:
        """Return the places of what a person rated, ascending, and the ratings."""
        if isinstance(user, Hashable) and user in self._changed:
            return self._changed[user]
        try:
            csr, row = self._ratings.csr, self._ratings.user_index(user)
        except DataError as error:
            refuse_user(self._who, self._ratings, self._changed, user, error)
        stored = slice(csr.indptr[row], csr.indptr[row + 1])
        return csr.indices[stored].astype(np.intp), csr.data[stored]

    @property
    def _who(self) -> str:
        return type(self).__name__
