"""Synthetic data, drawn from a seed: graded documents, ratings, the square problem."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats, Ints, Seed
from peckorder._core.validation import Rule, fraction, generator, not_negative, one_or_two, whole
from peckorder.datasets.formats.runs import Documents
from peckorder.feedback import Ratings

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
    rng = generator(random_state)
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


# Standard deviations of the quality of items, the kindness of users, and moods.
_QUALITY, _KINDNESS, _MOOD = 0.5, 0.4, 0.4
# The standard deviation of the logarithm of the number of ratings per user.
_SPREAD = 0.8


@entry
def make_ratings(
    n_users: int = 200,
    n_items: int = 300,
    *,
    n_factors: int = 4,
    density: float = 0.1,
    levels: int = 5,
    choice: float = 1.0,
    min_per_user: int = 5,
    random_state: Seed = None,
) -> Ratings:
    """Draw people with latent tastes, who rate items that they expect to like.

    User u likes item i by ``z = q_i + <p_u, t_i> / sqrt(n_factors) + k_u + e``: the
    item's quality q ~ N(0, 1/4), tastes p, t ~ N(0, 1) in `n_factors` dimensions, the
    user's kindness k ~ N(0, 0.16) and a mood e ~ N(0, 0.16) of the moment. The rating
    is the level of z among 1 to `levels`, cut at quantiles of z's distribution over
    all pairs such that the levels are as frequent as those of a binomial distribution.

    Ratings are not missing at random. The number of ratings per user is log-normal,
    with mean ``density * n_items`` and at least `min_per_user`. The items are drawn
    without replacement, by weights ``popularity_i * exp(choice * (z - e))``, where the
    popularity of the item of rank r is ``1 / r``. So people rate popular items and
    those that they expect to like, and observed means are too high.

    Parameters
    ----------
    n_users, n_items : int
        The numbers of users and items.
    n_factors : int, default=4
        The dimensions of tastes.
    density : float, default=0.1
        The mean share of items that a user rates.
    levels : int, default=5
        Ratings are integers from 1 to this.
    choice : float, default=1
        How much people prefer to rate items that they expect to like; 0: not at all.
    min_per_user : int, default=5
        The smallest number of ratings of a user.
    random_state : int, RandomState or None, default=None
        The source of randomness.

    Returns
    -------
    ratings : Ratings
        Users are 0, 1, ...; items those of 0, 1, ... with a rating. Takes
        O(n_users * n_items) time, and memory for the result and one user.

    Examples
    --------
    >>> from peckorder.datasets import make_ratings
    >>> ratings = make_ratings(50, 40, density=0.3, random_state=0)
    >>> ratings.n_users, int(ratings.per_user.min()) >= 5
    (50, True)
    """
    sizes = {
        "n_users": n_users,
        "n_items": n_items,
        "n_factors": n_factors,
        "min_per_user": min_per_user,
    }
    for name, size in sizes.items():
        whole(1).check(name, size)
    whole(2).check("levels", levels)
    fraction.check("density", density)
    not_negative.check("choice", choice)
    Rule(f"at most n_items, {n_items}", lambda value: value <= n_items).check(
        "min_per_user", min_per_user
    )
    rng = generator(random_state)
    quality = _QUALITY * rng.standard_normal(n_items)
    traits = rng.standard_normal((n_items, n_factors))
    log_popularity = -np.log1p(rng.permutation(n_items))
    counts = np.exp(_SPREAD * rng.standard_normal(n_users) - _SPREAD**2 / 2)
    counts = np.clip(np.rint(density * n_items * counts), min_per_user, n_items)
    cuts = _cuts(levels)
    users, items, values = [], [], []
    for user, count in enumerate(counts.astype(np.int64).tolist()):
        tastes = rng.standard_normal(n_factors)
        kindness = _KINDNESS * rng.standard_normal()
        expected = quality + traits @ tastes / np.sqrt(n_factors) + kindness
        # The largest log-weights plus Gumbel noise are a draw without replacement.
        keys = log_popularity + choice * expected + rng.gumbel(size=n_items)
        chosen = np.sort(np.argpartition(-keys, count - 1)[:count])
        liked = expected[chosen] + _MOOD * rng.standard_normal(count)
        users.append(np.full(count, user))
        items.append(chosen)
        values.append(1 + np.searchsorted(cuts, liked, side="right"))
    columns = (np.concatenate(column) for column in (users, items, values))
    return Ratings(*columns)


def _cuts(levels: int) -> Floats:
    """Return the thresholds between neighbouring levels."""
    steps = np.arange(levels - 1)
    chance = np.cumprod(np.concatenate([[1.0], (levels - 1 - steps) / (steps + 1)]))
    share = np.cumsum(chance / chance.sum())[:-1]
    spread = np.sqrt(_QUALITY**2 + 1.0 + _KINDNESS**2 + _MOOD**2)
    cuts: Floats = spread * ndtri(share)
    return cuts


# A point is of class r if its noisy height exceeds the r-th cut but not the next.
_CUTS = np.array([-1.0, -0.1, 0.25, 1.0])


@entry
def make_square(
    n_samples: int = 5000, *, noise: float = 0.125, degree: int = 2, random_state: Seed = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw points of the unit square with five ordered classes.

    The height of a point is ``10 (x1 - 1/2) (x2 - 1/2)``, a saddle; its class 1..5
    says between which of the cuts -1, -0.1, 0.25 and 1 the height plus a normal
    deviate lies. No rule loses less than 0.1526 steps on average at the noise of
    0.125 (0.4039 at a noise of 0.125 ** 0.5); a constant loses 1.01.

    Parameters
    ----------
    n_samples : int, default=5000
        The number of points.
    noise : float, default=0.125
        Standard deviation of the deviate.
    degree : {1, 2}, default=2
        1 gives the two coordinates, 2 the six features of `square_features`, among
        which the height is linear.
    random_state : int, RandomState instance or None, default=None
        The source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, 6) or (n_samples, 2)
        The features.
    y : ndarray of shape (n_samples,)
        The classes, 1 to 5.

    References
    ----------
    .. [1] K. Crammer and Y. Singer, "Pranking with Ranking", NIPS 14, 2001.

    Examples
    --------
    >>> from peckorder.datasets import make_square
    >>> X, y = make_square(100, random_state=0)
    >>> X.shape, y.min(), y.max()
    ((100, 6), np.int64(1), np.int64(5))
    """
    whole(1).check("n_samples", n_samples)
    not_negative.check("noise", noise)
    one_or_two.check("degree", degree)
    rng = generator(random_state)
    points = rng.uniform(size=(n_samples, 2))
    y = square_labels(points, noise * rng.standard_normal(n_samples))
    return (points if degree == 1 else square_features(points)), y


@entry
def square_labels(points: ArrayLike, noise: ArrayLike = 0.0) -> NDArray[np.int64]:
    """Return the classes 1..5 of points of the unit square.

    Parameters
    ----------
    points : array-like of shape (n_samples, 2)
        Coordinates between 0 and 1.
    noise : float or array-like of shape (n_samples,), default=0.0
        Added to the height of each point. Without it the result is the rule with the
        smallest loss on noisy data.

    Returns
    -------
    y : ndarray of shape (n_samples,)
        The classes.

    Examples
    --------
    >>> from peckorder.datasets import square_labels
    >>> square_labels([[0.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    array([5, 3, 1])
    """
    x1, x2 = _coordinates(points)
    height = 10 * (x1 - 0.5) * (x2 - 0.5) + np.asarray(noise)
    # Strictly above a cut, so a height on one stays below it.
    y: NDArray[np.int64] = 1 + np.searchsorted(_CUTS, height, side="left")
    return y


@entry
def square_features(points: ArrayLike) -> NDArray[np.float64]:
    """Return the features whose products are the kernel (x.z + 1)^2.

    They are ``(1, sqrt(2) x1, sqrt(2) x2, x1^2, x2^2, sqrt(2) x1 x2)``.

    Parameters
    ----------
    points : array-like of shape (n_samples, 2)
        Coordinates.

    Returns
    -------
    X : ndarray of shape (n_samples, 6)
        The features.

    Examples
    --------
    >>> from peckorder.datasets import square_features
    >>> square_features([[1.0, 0.0]]).round(2).tolist()
    [[1.0, 1.41, 0.0, 1.0, 0.0, 0.0]]
    """
    x1, x2 = _coordinates(points)
    root = np.sqrt(2.0)
    return np.column_stack([np.ones_like(x1), root * x1, root * x2, x1**2, x2**2, root * x1 * x2])


def _coordinates(points: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise refusal(
            "points",
            "be an array of shape (n_samples, 2)",
            f"shape {array.shape!r}",
            error=ValueError,
        )
    return array.T
