"""Splits of preferences, by pairs, rows or connected components."""

from collections.abc import Iterator
from reprlib import repr as short
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Ints, Seed
from peckorder._core.validation import Rules, check_parameters, generator, one_of, whole
from peckorder.feedback import Preferences
from peckorder.model_selection._split import deal

_GROUPS = {
    "pair": "pairs of different rows",
    "row": "rows in pairs",
    "component": "connected components of pairs",
}


@entry
class PairKFold(BaseEstimator):  # type: ignore[misc]
    """Cross-validation on preferences: pairs to learn from, and pairs to test on.

    What `by` names is dealt out to the folds at random, and tested once. The preferences
    of each side are about the rows of the same X, so that
    ``model.fit(X, train).score(X, test)`` is all there is to do.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds, at least 2.
    by : {"pair", "row", "component"}, default="pair"
        "pair": other pairs of the same rows are tested; all pairs of the same two rows
        are in one fold. "row": rows that are new are tested. A pair is tested if both of
        its rows are in the fold, and learnt from if neither is; those that join the two
        sides are left out, so that about one pair in `n_splits` is tested.
        "component": rows are new, and no pair is left out: connected components of
        pairs, which are rows that pairs lead to, over other rows, are kept whole.
        Queries that share no row are such.
    random_state : int, RandomState instance or None, default=None
        Source of the folds.

    See Also
    --------
    QueryKFold : Folds of rows, for labels within queries.
    peckorder.Preferences.among : The pairs among given rows, for folds of your own.

    Notes
    -----
    A pair of two rows that are in other pairs each says something about how these rows
    are ordered. So "pair" measures how well the order of known rows is completed, and
    "row" or "component" how well new ones are ordered.

    A split costs O(n_pairs) time and memory, and a sort. By "row" and "component",
    graded rows stay in the form that lists no pairs.

    Examples
    --------
    >>> from peckorder import Preferences, RankBoost
    >>> from peckorder.model_selection import PairKFold
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> everyone = Preferences.from_grades([0, 1, 2, 3, 4, 5])
    >>> for train, test in PairKFold(3, random_state=0).split(everyone):
    ...     print(len(train), len(test), RankBoost().fit(X, train).score(X, test))
    10 5 0.8
    10 5 0.8
    10 5 0.9
    """

    _rules: ClassVar[Rules] = {"n_splits": whole(2), "by": one_of(*_GROUPS)}

    def __init__(self, n_splits: int = 5, *, by: str = "pair", random_state: Seed = None) -> None:
        self.n_splits = n_splits
        self.by = by
        self.random_state = random_state

    def split(self, preferences: Preferences) -> Iterator[tuple[Preferences, Preferences]]:
        """Return the pairs to learn from and the pairs to test on, fold by fold.

        Parameters
        ----------
        preferences : Preferences
            The pairs. Those with a weight of 0 are left out.

        Returns
        -------
        splits : iterator over pairs of Preferences
            Train, test; both about the rows that `preferences` are about.
        """
        check_parameters(self, self._rules)
        given: object = preferences
        if not isinstance(given, Preferences):
            rule = "be peckorder.Preferences"
            raise refusal("preferences", rule, short(given), error=TypeError)
        return self._by_pair(preferences) if self.by == "pair" else self._by_row(preferences)

    def get_n_splits(self, preferences: object = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        preferences : object
            Not used.

        Returns
        -------
        n_splits : int
            As given to the constructor.
        """
        check_parameters(self, self._rules)
        return self.n_splits

    def _by_pair(self, preferences: Preferences) -> Iterator[tuple[Preferences, Preferences]]:
        kept = np.flatnonzero(preferences.pairs().weight > 0)
        better, worse, weight = (column[kept] for column in preferences.pairs())
        size = preferences.sizes()[kept] if preferences.has_sizes else None
        rows = preferences.paired_rows()
        low, high = np.sort(np.searchsorted(rows, [better, worse]), axis=0)
        fold = self._folds(np.unique(low * len(rows) + high, return_inverse=True)[1])

        def chosen(is_chosen: Ints) -> Preferences:
            sizes = None if size is None else size[is_chosen]
            return Preferences(better[is_chosen], worse[is_chosen], weight[is_chosen], sizes)

        return (
            (chosen(np.flatnonzero(fold != k)), chosen(np.flatnonzero(fold == k)))
            for k in range(self.n_splits)
        )

    def _by_row(self, preferences: Preferences) -> Iterator[tuple[Preferences, Preferences]]:
        rows = preferences.paired_rows()
        group = np.arange(len(rows))
        if self.by == "component":
            component = preferences.components(preferences.last_row + 1)[rows]
            group = np.unique(component, return_inverse=True)[1]
        fold = self._folds(group)
        tests = [preferences.among(rows[fold == k]) for k in range(self.n_splits)]
        for k, test in enumerate(tests):
            if not test.total_weight > 0:
                raise refusal(
                    "preferences",
                    "have a pair among the rows of every fold",
                    f"none in fold {k}, and {preferences.n_pairs} pairs of {len(rows)} rows in all",
                    hint="Give another random_state, fewer n_splits, or by='pair'.",
                )
        return ((preferences.among(rows[fold != k]), test) for k, test in enumerate(tests))

    def _folds(self, group: Ints) -> Ints:
        """Deal out groups, numbered from 0; return the fold of each member.

        Components are dealt out by their numbers of rows, pairs whatever their repetitions.
        """
        sizes = np.bincount(group)
        if self.by == "pair":
            sizes = np.ones_like(sizes)
        if len(sizes) < self.n_splits:
            rule = f"have at least n_splits={self.n_splits} {_GROUPS[self.by]}"
            raise refusal("preferences", rule, len(sizes))
        return deal(sizes, self.n_splits, generator(self.random_state))[group]
