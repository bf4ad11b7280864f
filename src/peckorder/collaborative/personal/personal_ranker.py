"""PersonalRanker: a model shared by all people, and on top of it one per person."""

from collections.abc import Collection, Hashable, Iterable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from peckorder._base import all_or_nothing
from peckorder._core.errors import entry, refusal, warn
from peckorder._core.typing import Estimator, Floats, Ints, Labels, Seed
from peckorder._core.validation import (
    Rule,
    Rules,
    boolean,
    check_parameters,
    finite,
    generator,
    not_negative,
    one_of,
    positive,
    whole,
)
from peckorder.collaborative._problem import check_ratings
from peckorder.collaborative.personal.factors import (
    factorize_als,
    factorize_svd,
    learn_biases,
    residuals,
)
from peckorder.collaborative.personal.item_kernel import ItemKernel
from peckorder.collaborative.personal.models import (
    ConstantModel,
    KernelModel,
    People,
    Person,
    PersonModel,
    SharedModel,
    ShiftModel,
)
from peckorder.collaborative.personal.results import Explanation, Recommendations
from peckorder.collaborative.personal.storage import PERSONAL
from peckorder.feedback import Ratings, id_list
from peckorder.gaps import cut_at_gap
from peckorder.storage.mixin import StoredModel

# The sizes of ratings that can be squared safely are from its inverse to this.
_LARGEST = 1e30
# A new rating so many widths of the scale above or below it is a mistake.
_FAR = 1000.0
_C = Rule(
    "None, 'leave_pair_out' or a finite number > 0",
    lambda value: (
        value is None
        or (value == "leave_pair_out" if isinstance(value, str) else positive.accepts(value))
    ),
)


def _is_estimator(value: object) -> bool:
    return value is None or (
        callable(getattr(value, "fit", None)) and callable(getattr(value, "predict", None))
    )


def _are_references(value: object) -> bool:
    if value is None or isinstance(value, Integral):
        return value is None or whole(1).accepts(value)
    if getattr(value, "shape", None) == ():  # an array that has no length
        return False
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


@entry
class PersonalRanker(StoredModel, BaseEstimator, stored=True):  # type: ignore[misc]
    r"""Ranks items for each person: MPRank on what the item means leave unexplained.

    Learnt once, from all people: damped item means m_j and the similarity of items,
    ``K_ij = f_i . f_j / s + a cos(residuals of i, of j) + b cos(raters of i, of j)``,
    with factors f and noise s. Then, per person with ratings y of n items,
    ``score_j = m_j + t + sum_i alpha_i K_ij``, where ``(K + ridge) alpha + t = y - m``
    and ``sum alpha = 0``: `MPRank` with the precomputed kernel K,
    ``ridge = n / (2 C)`` and the item means as offset.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Learns a person's residuals y - m. None: MPRank as above. An estimator whose
        `kernel` is "precomputed" is fitted to K; any other to the features of items:
        factors, or with `references` their ratings. Its scores must be on the scale of
        y, as those of `MPRank`, `SVRank` and regressors are.
    n_factors : int, default=10
        The number of factors; those without support in the data vanish.
    factorizer : {"als", "svd"}, default="als"
        How factors are learnt: by alternating least squares that account for the
        uncertainty of each factor, or by one truncated SVD of the residuals, which is
        ten times faster and less accurate.
    cosine_weight : float, default=0.8
        a, the weight of the cosines of residuals.
    audience_weight : float, default=1.0
        b, the weight of the cosines of who rated the items, whatever the ratings.
    C : None, "leave_pair_out" or float, default=None
        None: the C that matches the noise, n / 2, for a ridge of 1. "leave_pair_out":
        the best of eight around it by the person's exact leave-pair-out error, about
        ten times slower (see Notes). Or the same number for all people.
    references : None, int or array-like, default=None
        As in the papers: the residuals of these viewers, or of this number of viewers
        with the most ratings, are the features of an item, 0 where there is no rating.
        MPRankCV with a linear kernel is fitted to them unless `estimator` is given.
    damping : float, default=5.0
        How many ratings equal to the mean are added to each item, with the SVD or
        references; alternating least squares learns it.
    max_iter : int, default=30
        Iterations of alternating least squares.
    random_state : int, RandomState or None, default=0
        Draws the initial factors. Models of the same ratings are equal unless it is
        None, or a generator.

    Attributes
    ----------
    item_means_ : ndarray of shape (n_items,)
        The damped means m.
    item_features_ : ndarray of shape (n_items, n_factors)
        f divided by the root of the noise; or residuals of the references.
    noise_ : float
        s, the variance that is not explained.
    items_, users_ : ndarray
        The ids in the ratings given to `fit`; without people added by `update`.

    Notes
    -----
    `fit` takes O(max_iter (r k^2 + (n_users + n_items) k^3)) time for r ratings and k
    factors, and the cosines a product of sparse matrices. Up to 8,192 items they are
    stored, 4 bytes per pair (55 MB for 3,706 items); beyond, they are computed per
    person from the columns needed. A person is learnt at the first request, in O(n^3)
    time, under a millisecond for a hundred ratings, and O(n) memory.

    The shared model was learnt from a person's own ratings too, so these look better
    explained, left out or not, than new ones will be: for people of `fit`
    "leave_pair_out" tends to the largest C, and is no better than None on MovieLens.

    `update`, `predict`, `recommend`, `explain`, `save` and copying may run in several
    threads at once, for the same person, too: no rating is lost, and a person's ratings
    and model always belong together. `fit` may not run beside anything else on the same
    object.

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
        estimator: Estimator | None = None,
        *,
        n_factors: int = 10,
        factorizer: str = "als",
        cosine_weight: float = 0.8,
        audience_weight: float = 1.0,
        C: str | float | None = None,
        references: int | Collection[Hashable] | None = None,
        damping: float = 5.0,
        max_iter: int = 30,
        random_state: Seed = 0,
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
        """Learn the shared model; each person is learnt at the first request.

        Parameters
        ----------
        ratings : Ratings
            The ratings of all people.

        Returns
        -------
        self
            The fitted ranker.
        """
        check_parameters(self, self._rules)
        check_ratings(ratings)
        values = ratings.csr.data
        if len(values) == 0 or values.min() == values.max():
            got = f"{float(values[0])!r} alone" if len(values) else "none"
            raise refusal("ratings", "have two different values", got)
        size = float(np.abs(values).max())
        if size > _LARGEST or 0.0 < size < 1.0 / _LARGEST:
            raise refusal(
                "ratings",
                "be between 1e-30 and 1e+30 in size, so that they can be squared",
                f"{size!r} as the largest",
                hint="Divide them.",
            )
        with all_or_nothing(self):
            self._publish(ratings, self._learn_shared(ratings))
        return self

    def _learn_shared(self, ratings: Ratings) -> SharedModel:
        csr, damping = ratings.csr, float(self.damping)
        rng = generator(self.random_state)
        if self.references is not None:
            rows = self._reference_rows(ratings)
            biases = learn_biases(csr, damping)
            means = biases.mean + biases.item_bias
            features = np.ascontiguousarray(residuals(csr, biases)[rows].toarray().T)
            return SharedModel(means, biases.noise, None, features, rows)
        if self.factorizer == "svd":
            factors = factorize_svd(csr, self.n_factors, damping, rng)
        else:
            factors = factorize_als(csr, self.n_factors, self.max_iter, rng)
        weights = float(self.cosine_weight), float(self.audience_weight)
        kernel = ItemKernel.learn(csr, factors, *weights)
        means = factors.mean + factors.item_bias
        return SharedModel(means, factors.noise, kernel, kernel.factors, None)

    def _reference_rows(self, ratings: Ratings) -> Ints:
        """Return the rows of the references: as named, or those with most ratings."""
        references = self.references
        if not isinstance(references, Collection):
            most = np.argsort(-ratings.per_user, kind="stable")
            return most[:references]
        if len(references) == 0:
            raise refusal("references", "be a number of people, or a list of some", "an empty list")
        rows = [ratings.user_index(user) for user in references]
        return np.array(rows, dtype=np.intp)

    def _publish(self, ratings: Ratings, shared: SharedModel) -> None:
        self._shared, self._ratings = shared, ratings
        self._range = float(ratings.csr.data.min()), float(ratings.csr.data.max())
        self._rows = {user: row for row, user in enumerate(id_list(ratings.users))}
        self._people = People()
        self.item_means_, self.noise_ = shared.means, shared.noise
        self.item_features_ = shared.features
        self.users_, self.items_ = ratings.users, ratings.items

    def fit_people(self, users: ArrayLike | None = None) -> Self:
        """Learn people now instead of at the first request.

        Parameters
        ----------
        users : array-like, default=None
            Their ids; None for all people.

        Returns
        -------
        self
            The ranker.
        """
        check_is_fitted(self)
        chosen = [*self._rows, *(user for user in self._people if user not in self._rows)]
        for user in chosen if users is None else self._ids("users", users):
            self._person(user)
        return self

    def predict(
        self, user: Hashable, items: ArrayLike | None = None, *, clip: bool = False
    ) -> Floats:
        """Return the ratings that a person is expected to give.

        Parameters
        ----------
        user : hashable
            The person. For one without two different ratings, the item means shifted
            to the level of their ratings are returned, with a warning.
        items : array-like, default=None
            The ids of items; None for all, in the order of `items_`.
        clip : bool, default=False
            Clip them to the range of the ratings given to `fit`, to be shown. Not to
            rank by: items that are expected beyond an end of the range are tied then.

        Returns
        -------
        scores : ndarray of shape (n_items,)
            A score may be outside the range of ratings unless `clip`.
        """
        check_is_fitted(self)
        boolean.check("clip", clip)
        columns: Ints | slice = slice(None)
        if items is not None:
            ids = self._ids("items", items)
            columns = np.array(list(map(self._ratings.item_index, ids)), dtype=np.intp)
        _, model = self._person(user)
        _warn_unless_personal(model)
        scores = self.item_means_[columns] + model.scores(columns)
        return scores.clip(*self._range) if clip else scores

    def recommend(
        self, user: Hashable, n: int = 10, *, exclude_rated: bool = True
    ) -> Recommendations:
        """Return the items that a person is expected to like most.

        Parameters
        ----------
        user : hashable
            The person.
        n : int, default=10
            The maximum number of items.
        exclude_rated : bool, default=True
            Leave out the items that the person has rated.

        Returns
        -------
        recommendations : Recommendations
            `items`, `scores`, `gaps` and `above_cut`, best first; equal scores in the
            order of `items_`. `is_personal` is False if the list is everybody's.
        """
        check_is_fitted(self)
        whole(1).check("n", n)
        boolean.check("exclude_rated", exclude_rated)
        rated, model = self._person(user)
        _warn_unless_personal(model)
        scores = self.item_means_ + model.scores(slice(None))
        candidates = np.arange(len(scores))
        if exclude_rated:
            candidates = np.delete(candidates, rated)
        order = candidates[np.argsort(-scores[candidates], kind="stable")[: n + 1]]
        falling = np.append(scores[order], np.nan)
        gaps = (falling[:-1] - falling[1:])[:n]
        top = order[:n]
        above = cut_at_gap(scores[top]) if len(top) else np.zeros(0, dtype=bool)
        is_personal = not isinstance(model, ShiftModel)
        return Recommendations(self.items_[top], scores[top], gaps, above, is_personal, self._range)

    def explain(self, user: Hashable, item: Hashable) -> Explanation:
        """Return which rated items and which viewers support a predicted rating.

        Parameters
        ----------
        user : hashable
            The person.
        item : hashable
            The item, rated or not.

        Returns
        -------
        explanation : Explanation
            Terms that add up to the score; reasons that favour the item come first.
        """
        check_is_fitted(self)
        column = self._ratings.item_index(item)
        _, person = self._person(user)
        _warn_unless_personal(person)
        mean = float(self.item_means_[column])
        if isinstance(person, ConstantModel):
            none, nobody = np.zeros(0), np.zeros(0, dtype=object)
            score = mean + person.shift
            return Explanation(score, mean, person.shift, nobody, none, nobody, none, 0.0)
        if isinstance(person, KernelModel):
            return _explain(person, column, mean, self.items_, self.users_)
        raise refusal(
            "estimator",
            "be None to be explained",
            f"{self.estimator!r} and references={self.references!r}",
            error=TypeError,
        )

    def update(self, user: Hashable, item: Hashable, rating: float) -> Self:
        """Add or change one rating, and learn that person again.

        The shared model does not change; after many new ratings, call `fit` again.

        Parameters
        ----------
        user : hashable
            The person, known or new.
        item : hashable
            A known item.
        rating : float
            The rating; it replaces an earlier one of the item. A rating outside the
            range of those given to `fit` is accepted with a warning, but refused if it
            is more than 1,000 times the width of the range away.

        Returns
        -------
        self
            The ranker; unchanged after an error.
        """
        check_is_fitted(self)
        finite.check("rating", rating)
        column = self._ratings.item_index(item)
        if user is None or not isinstance(user, Hashable):
            raise refusal("user", "be an id", repr(user))
        low, high = self._range
        far = _FAR * (high - low)
        if not low - far <= rating <= high + far:
            rule = f"be near the ratings of fit, which are from {low:g} to {high:g}"
            raise refusal("rating", rule, repr(rating))
        if not low <= rating <= high:
            warn(f"a rating is outside the range of those given to fit, {low:g} to {high:g}.")
        while True:
            before = self._people.get(user)
            is_known = user in self._rows or before.ratings is not None
            nothing = np.zeros(0, dtype=np.intp), np.zeros(0)
            rated, values = self._ratings_of(user, before) if is_known else nothing
            others = rated != column
            columns = np.append(rated[others], column)
            order = np.argsort(columns)
            changed = columns[order], np.append(values[others], float(rating))[order]
            after = Person(changed, self._learn_person(user, *changed))
            if self._people.replace(user, before, after):
                return self
            # Another thread has changed the person meanwhile: its rating is kept, too.

    def _person(self, user: Hashable) -> tuple[Ints, PersonModel]:
        """Return what a person rated, and the model of that, learnt now if need be."""
        while True:
            before = self._people.get(user) if isinstance(user, Hashable) else Person()
            rated, values = self._ratings_of(user, before)
            if before.model is not None:
                return rated, before.model
            model = self._learn_person(user, rated, values)
            if self._people.replace(user, before, before._replace(model=model)):
                return rated, model

    def _learn_person(self, user: Hashable, rated: Ints, values: Floats) -> PersonModel:
        row = self._rows.get(user)
        return self._shared.learn_person(self.estimator, self.C, row, rated, values)

    def _rated(self, user: Hashable) -> tuple[Ints, Floats]:
        """Return the columns that a person rated, ascending, and the ratings."""
        person = self._people.get(user) if isinstance(user, Hashable) else Person()
        return self._ratings_of(user, person)

    def _ratings_of(self, user: Hashable, person: Person) -> tuple[Ints, Floats]:
        """Return the ratings of a person: those known since, or those given to `fit`."""
        if person.ratings is not None:
            return person.ratings
        row = self._rows.get(user) if isinstance(user, Hashable) else None
        if row is None:
            ratings = self._ratings
            rated = set(ratings.users[ratings.per_user > 0].tolist())
            rated.update(user for user, one in self._people.items() if one.ratings is not None)
            raise refusal(
                "user",
                f"be one who has rated something ({len(rated):,} have; "
                "update(user, item, rating) adds one)",
                repr(user),
                hint=ratings._users.hint(user),
            )
        csr = self._ratings.csr
        stored = slice(csr.indptr[row], csr.indptr[row + 1])
        return csr.indices[stored].astype(np.intp), csr.data[stored]

    def __getstate__(self) -> dict[str, Any]:
        """Give a copy its own people."""
        state = dict(super().__getstate__())
        if "_people" in state:
            state["_people"] = state["_people"].copy()
        return state

    def _ids(self, name: str, ids: object) -> list[Hashable]:
        """Return ids of any types as a list."""
        if isinstance(ids, np.ndarray) and ids.ndim == 1:
            return id_list(ids)
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise refusal(name, f"be a list of ids, such as [{ids!r}]", repr(ids))
        values = list(ids)
        if any(isinstance(value, list | np.ndarray) for value in values):
            raise refusal(name, "be a list of ids", repr(ids))
        return values


def _warn_unless_personal(model: PersonModel) -> None:
    """Warn in the same words for everybody, so that Python shows them once."""
    if isinstance(model, ConstantModel):
        warn(
            "a person has too few different ratings to learn from: the item means are used, "
            "shifted to the level of the person's ratings, if any."
        )


def _explain(
    person: KernelModel, column: int, mean: float, items: Labels, users: Labels
) -> Explanation:
    """Return what each rated item, and each viewer, adds to the score of an item.

    The kernel of two items is a sum over viewers and factors, and a score is a sum of
    kernels: the same double sum is added up in both orders.
    """
    kernel, coef = person.kernel, person.coef
    by_items = coef * kernel.between(np.array([column]), person.rated)[0]
    raters = kernel.viewers[:, [column]]
    row = raters.indices
    # Each viewer has two rows: one for ratings, one for having rated.
    weight = kernel.viewers[:, person.rated].tocsr()[row] @ coef
    added: Floats = np.zeros(len(users))
    np.add.at(added, row % len(users), raters.data * weight)
    viewers = np.flatnonzero(added)
    viewers = viewers[_favouring_first(added[viewers])]
    order = _favouring_first(by_items)
    by_factors = kernel.factors[column] @ (coef @ kernel.factors[person.rated])
    return Explanation(
        score=mean + person.intercept + float(by_items.sum()),
        item_mean=mean,
        person=person.intercept,
        items=items[person.rated[order]],
        by_items=by_items[order],
        viewers=users[viewers],
        by_viewers=added[viewers],
        by_factors=float(by_factors),
    )


def _favouring_first(terms: Floats) -> Ints:
    """Return the order of reasons: those in favour, then those against, strongest first."""
    return np.lexsort((-np.abs(terms), terms < 0.0))
