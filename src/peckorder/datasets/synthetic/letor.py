"""Synthetic graded documents of many queries."""

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_random_state

from peckorder._core.errors import entry
from peckorder._core.typing import Floats, Ints, Seed
from peckorder._core.validation import Rule, not_negative, whole
from peckorder.datasets.formats.runs import Documents

# Standard deviations of the relevance of queries, and of a judge's error.
_SHIFT, _ERROR = 0.5, 0.5
# The share of better ones among the documents of a grade or better.
_BETTER = 0.4


def _is_size(value: object) -> bool:
    if not isinstance(value, tuple):
        return whole(1).accepts(value)
    is_pair = len(value) == 2 and all(whole(1).accepts(size) for size in value)
    return is_pair and value[0] <= value[1]


_SIZE = Rule("an integer >= 1 or a pair of them, the smaller first", _is_size)
_SHARE = Rule("a number >= 0 and < 1", lambda value: not_negative.accepts(value) and value < 1)


@entry
def make_letor(
    n_queries: int = 100,
    docs_per_query: int | tuple[int, int] = (20, 80),
    n_features: int = 24,
    *,
    n_grades: int = 5,
    missing: float = 0.0,
    random_state: Seed = None,
) -> Documents:
    """Draw queries with graded documents, most of them of the lowest grade.

    A document's relevance is ``z = b + r``, where ``r ~ N(0, 1)`` is its own and ``b ~
    N(0, 1/4)`` that of its query. A judge sees ``z + e``, ``e ~ N(0, 1/4)``, and gives
    a grade of at least g to a share of 0.4^g of all documents: five grades are given to
    60, 24, 10, 4 and 3 %. Feature j sees ``v = z / (1 + j // 6) + N(0, 1)``, so
    that later ones are less informative, and is of the type j % 6:

    0. ``v``: the same scale for all queries.
    1. ``exp(2 v)``: long-tailed, like the popularity of pages.
    2. ``floor(exp(v))``: a count, with many ties at zero.
    3. ``exp(s) v + 2 t`` with ``s, t ~ N(0, 1)`` per query: a search engine whose
       scores are meaningful only as an order within a query. It abstains (NaN) on the
       share `missing` of a query's documents with the lowest scores.
    4. ``b`` with noise: about the query, the same for all its documents.
    5. Noise.

    Parameters
    ----------
    n_queries : int, default=100
        The number of queries.
    docs_per_query : int or tuple of (int, int), default=(20, 80)
        Documents per query; for a pair, any number from the first to the second.
    n_features : int, default=24
        The number of features; the first do not depend on it.
    n_grades : int, default=5
        Grades 0 to n_grades - 1; at least 2.
    missing : float, default=0.0
        The share of documents that a search engine does not list, rounded down in each
        query; less than 1.
    random_state : int, RandomState instance or None, default=None
        The source of randomness.

    Returns
    -------
    documents : Documents
        Unpacks as ``X, y, qid``; queries are 1, 2, ... and contiguous. Takes
        O(n_documents n_features) time, and a sort for missing values.

    See Also
    --------
    load_letor : Reads published data of this kind.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.datasets import make_letor
    >>> X, y, qid = make_letor(100, 50, random_state=0)
    >>> X.shape
    (5000, 24)
    >>> (np.bincount(y.astype(int)) / len(y)).round(2).tolist()
    [0.6, 0.24, 0.1, 0.04, 0.03]
    """
    whole(1).check("n_queries", n_queries)
    _SIZE.check("docs_per_query", docs_per_query)
    whole(1).check("n_features", n_features)
    whole(2).check("n_grades", n_grades)
    _SHARE.check("missing", missing)
    rng = check_random_state(random_state)
    if isinstance(docs_per_query, tuple):
        fewest, most = docs_per_query
    else:
        fewest = most = docs_per_query
    sizes = rng.randint(fewest, most + 1, n_queries)
    query = np.repeat(np.arange(n_queries), sizes)
    shift = (_SHIFT * rng.standard_normal(n_queries))[query]
    relevance = shift + rng.standard_normal(len(query))
    y = _grades(relevance + _ERROR * rng.standard_normal(len(query)), n_grades)
    features = [_feature(j, relevance, shift, query, missing, rng) for j in range(n_features)]
    return Documents(np.column_stack(features), y, query + 1)


def _grades(judged: Floats, n_grades: int) -> Floats:
    deviation = np.sqrt(1.0 + _SHIFT**2 + _ERROR**2)
    cuts = deviation * ndtri(1.0 - _BETTER ** np.arange(1, n_grades))
    return np.searchsorted(cuts, judged).astype(np.float64)


def _feature(
    j: int,
    relevance: Floats,
    shift: Floats,
    query: Ints,
    missing: float,
    rng: np.random.RandomState,
) -> Floats:
    """Draw column j; all columns are (n_documents,)."""
    noise = rng.standard_normal(len(query))
    of_query = rng.standard_normal((2, query[-1] + 1))[:, query]
    view = relevance / (1 + j // 6) + noise
    match j % 6:
        case 0:
            return view
        case 1:
            return np.exp(2.0 * view)
        case 2:
            return np.floor(np.exp(view))
        case 3:
            values = np.exp(of_query[0]) * view + 2.0 * of_query[1]
            return _abstaining(values, query, missing)
        case 4:
            return np.asarray(shift + of_query[0])
        case _:
            return noise


def _abstaining(values: Floats, query: Ints, missing: float) -> Floats:
    """Replace a share of the values of each query, the lowest, by NaN."""
    sizes = np.bincount(query)
    position = np.empty(len(query), dtype=np.int64)
    position[np.lexsort((values, query))] = np.arange(len(query))
    position -= (np.cumsum(sizes) - sizes)[query]
    return np.where(position < np.floor(missing * sizes)[query], np.nan, values)
