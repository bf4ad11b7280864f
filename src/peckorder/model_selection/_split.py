"""Splits of rows that keep queries whole."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sized
from heapq import heapify, heapreplace
from math import ceil
from numbers import Integral
from reprlib import repr as short
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Ints, MatrixLike, Seed, VectorLike
from peckorder._core.validation import (
    Rule,
    Rules,
    boolean,
    check_parameters,
    generator,
    is_number,
    whole,
)
from peckorder.feedback import Preferences, Queries


@entry
class QueryKFold(BaseEstimator):  # type: ignore[misc]
    """Cross-validation in which no query is cut in two.

    Queries are dealt out to the folds, the largest first, each to the fold that has
    the fewest rows so far. Every query is tested once.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds, at least 2.
    shuffle : bool, default=False
        Deal out queries of the same size in a random order, instead of the order of
        their first rows.
    random_state : int, RandomState instance or None, default=None
        Source of that order; must be None without `shuffle`.

    See Also
    --------
    sklearn.model_selection.GroupKFold : The same idea for groups that can be sorted.

    Notes
    -----
    A split costs O(n_rows + n_queries log(n_queries)) time, and a sort of the rows if
    those of a query are not contiguous. No fold has more rows than the mean and the
    largest query together.

    With ``sklearn.set_config(enable_metadata_routing=True)``, `cross_validate`,
    `GridSearchCV` and a `Pipeline` pass `qid` to this splitter and to every estimator
    of ours that takes one, without calls of ``set_split_request`` and the like.
    Without it, ``groups=qid`` reaches the splitter, and only the splitter.

    Successive halving (`HalvingGridSearchCV`) takes a share of the rows of every fold
    if its resource is "n_samples", which is its default, and so cuts queries
    in pieces. Give it a parameter of the estimator as its resource, such as
    `max_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.model_selection import QueryKFold
    >>> qid = ["red", "red", "blue", "green", "blue", "red"]
    >>> X = np.zeros((6, 1))
    >>> for train, test in QueryKFold(n_splits=2).split(X, qid=qid):
    ...     print(train.tolist(), test.tolist())
    [2, 3, 4] [0, 1, 5]
    [0, 1, 5] [2, 3, 4]

    Inside scikit-learn, in the way that needs no switch:

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import cross_val_score
    >>> y = [2.0, 1.0, 2.0, 1.0, 2.0, 1.0]
    >>> len(cross_val_score(Ridge(), X, y, groups=qid, cv=QueryKFold(2)))
    2
    """

    # Read by scikit-learn: qid is passed without a request.
    __metadata_request__split: ClassVar[dict[str, bool]] = {"qid": True}

    _rules: ClassVar[Rules] = {"n_splits": whole(2), "shuffle": boolean}

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: Seed = None
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def split(
        self,
        X: MatrixLike | None,
        y: VectorLike | Preferences | None = None,
        groups: VectorLike | None = None,
        *,
        qid: VectorLike | None = None,
    ) -> Iterator[tuple[Ints, Ints]]:
        """Return the rows to learn from and the rows to test on, fold by fold.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features) or None
            The rows, of which only the number matters.
        y : array-like of shape (n_rows,) or Preferences, default=None
            Not used, but must be about the same rows.
        groups : array-like of shape (n_rows,), default=None
            Another name for `qid`, under which scikit-learn passes it while its
            metadata routing is off. Ignored if `qid` is given.
        qid : array-like of shape (n_rows,), default=None
            The query of each row: values of any type, in any order.

        Returns
        -------
        splits : iterator over pairs of ndarrays
            Row numbers, ascending: train, test.
        """
        self._check()
        ids = groups if qid is None else qid
        if ids is None:
            raise refusal(
                "qid or groups",
                "be one value per row",
                "None for both",
                hint="Scikit-learn passes groups as it is, and qid after "
                "sklearn.set_config(enable_metadata_routing=True).",
            )
        n_rows = None if X is None else _count("X", X)
        queries = Queries.of(ids, n_rows)
        if y is not None:
            _check_n_rows("y", y, int(queries.offsets[-1]))
        if len(queries) < self.n_splits:
            raise refusal(
                "qid", f"be at least n_splits={self.n_splits} different queries", len(queries)
            )
        rng = generator(self.random_state) if self.shuffle else None
        fold = deal(queries.sizes, self.n_splits, rng)[queries.of_rows()]
        return (
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(self.n_splits)
        )

    def get_n_splits(
        self, X: object = None, y: object = None, groups: object = None, *, qid: object = None
    ) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups, qid : object
            Not used.

        Returns
        -------
        n_splits : int
            As given to the constructor.
        """
        self._check()
        return self.n_splits

    def _check(self) -> None:
        check_parameters(self, self._rules)
        generator(self.random_state)
        if self.random_state is not None and not self.shuffle:
            raise refusal(
                "random_state",
                "be None without shuffle=True",
                repr(self.random_state),
                error=ValueError,
            )


def deal(sizes: Ints, n_folds: int, rng: np.random.RandomState | None) -> Ints:
    """Return a fold for each group of so many rows, the largest first.

    Groups of one size are dealt out at random, or without `rng` in their order.
    """
    order = np.arange(len(sizes)) if rng is None else rng.permutation(len(sizes))
    largest_first = order[np.argsort(-sizes[order], kind="stable")]
    fold = np.empty(len(sizes), dtype=np.int64)
    if np.ptp(sizes) == 0:
        fold[order] = np.arange(len(sizes)) % n_folds
        return fold
    folds = [(0, k) for k in range(n_folds)]
    heapify(folds)
    for group, size in zip(largest_first.tolist(), sizes[largest_first].tolist(), strict=True):
        n_rows, fold[group] = folds[0]
        heapreplace(folds, (n_rows + size, folds[0][1]))
    return fold


def _is_test_size(value: Any) -> bool:
    if type(value) is bool or not is_number(value):
        return False
    if isinstance(value, Integral):
        return int(value) >= 1
    return 0 < float(value) < 1


_TEST_SIZE = Rule("a number between 0 and 1 or an integer >= 1", _is_test_size)


@entry
def train_test_split_queries(
    *arrays: Any,
    qid: VectorLike | Iterator[Hashable],
    test_size: float = 0.25,
    random_state: Seed = None,
) -> list[Any]:
    """Split data in two, to learn from and to test on, query by query.

    Like scikit-learn's `train_test_split`, but all rows of a query are on the same
    side, and rows stay in their order.

    Parameters
    ----------
    *arrays : arrays, sparse matrices, sequences, data frames or Preferences
        What to split, one entry per row. A matrix in another sparse format comes back
        in CSR. Preferences, whose entries are pairs, are restricted to each side.
    qid : array-like of shape (n_rows,)
        The query of each row: values of any type, in any order.
    test_size : float or int, default=0.25
        The share of the queries to test on, rounded up, or their number.
    random_state : int, RandomState instance or None, default=None
        Decides which queries.

    Returns
    -------
    split : list
        Train and test of every array, then of `qid`: 2 * len(arrays) + 2 items, of
        the types they had, or lists.

    See Also
    --------
    QueryKFold : Tests on every query once.

    Notes
    -----
    Takes O(n_rows) time, and a sort if the rows of a query are not contiguous.

    Examples
    --------
    >>> from peckorder.model_selection import train_test_split_queries
    >>> y, qid = [3, 1, 2, 2, 0], ["a", "b", "a", "b", "c"]
    >>> y_train, y_test, qid_train, qid_test = train_test_split_queries(
    ...     y, qid=qid, test_size=1, random_state=0
    ... )
    >>> qid_train, qid_test
    (['a', 'b', 'a', 'b'], ['c'])
    >>> y_test
    [0]
    """
    _TEST_SIZE.check("test_size", test_size)
    rng = generator(random_state)
    if qid is None:
        raise refusal("qid", "be one value per row", "None")
    if isinstance(qid, Iterator):
        qid = list(qid)
    queries = Queries.of(qid)
    for position, array in enumerate(arrays):
        _check_n_rows(f"array {position}", array, int(queries.offsets[-1]))
    is_share = not isinstance(test_size, Integral)
    n_test = ceil(test_size * len(queries)) if is_share else int(test_size)
    if n_test >= len(queries):
        raise refusal(
            "test_size", "leave a query to learn from", f"{test_size!r} of {len(queries)}"
        )
    is_tested = np.zeros(len(queries), dtype=bool)
    is_tested[rng.permutation(len(queries))[:n_test]] = True
    is_test = is_tested[queries.of_rows()]
    sides = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    return [_select(array, rows) for array in (*arrays, qid) for rows in sides]


def _check_n_rows(name: str, array: object, n_rows: int) -> None:
    """Refuse arrays of another length, and preferences about other rows."""
    if isinstance(array, Preferences):
        if array.last_row >= n_rows:
            rule = f"be preferences among the {n_rows} rows"
            raise refusal(name, rule, f"row {array.last_row}")
    elif _count(name, array) != n_rows:
        raise refusal(name, f"be one entry per row, {n_rows} in all", _count(name, array))


def _count(name: str, array: object) -> int:
    """Return the number of rows."""
    shape = getattr(array, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    if (
        shape is not None
        or isinstance(array, str | bytes | Mapping | set | frozenset | Preferences)
        or not isinstance(array, Sized)
        or not isinstance(array, Iterable)
    ):
        raise refusal(name, "be rows", short(array))
    return len(array)


def _select(array: Any, rows: Ints) -> Any:
    """Return rows of an array of any type."""
    if isinstance(array, Preferences):
        return array.restrict(rows)
    if sparse.issparse(array):
        return array.tocsr()[rows]
    if hasattr(array, "iloc"):  # pandas, without importing it
        return array.iloc[rows]
    if type(array).__module__.startswith("pyarrow"):
        return array.take(rows)
    if hasattr(array, "shape"):
        return array[rows]
    entries = list(array)
    return [entries[row] for row in rows.tolist()]
