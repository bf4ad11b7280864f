"""Others' ways to predict ratings, for `personal.py`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from peckorder import Ratings
from peckorder.collaborative.personal.factors import factorize_als

Predictor = Callable[[Ratings, Ratings], np.ndarray]


def biased_factors(
    train: Ratings,
    test: Ratings,
    n_factors: int = 10,
    ridge: float = 10.0,
    bias_ridge: float = 5.0,
    n_iter: int = 15,
) -> np.ndarray:
    """Predict by biased matrix factorisation, learnt by alternating least squares.

    ``rating = mean + a_u + b_i + p_u . q_i`` with ridges on all but the mean. Of ridges
    5, 10, 15, 20 with ten factors, and 15 or 20 with more, the best on another split.
    """
    rng = np.random.default_rng(0)
    csr, mean = train.csr, train.csr.data.mean()
    rated = sparse.csr_array((np.ones(len(csr.data)), csr.indices, csr.indptr), shape=csr.shape)
    ratings = rated.copy()
    ratings.data = csr.data - mean
    rated_t, ratings_t = rated.T.tocsr(), ratings.T.tocsr()
    factors = rng.normal(0.0, 0.1, (train.n_items, n_factors))
    bias = ratings_t.sum(axis=1) / (train.per_item + bias_ridge)
    penalty = np.diag([bias_ridge] + [ridge] * n_factors)

    def half(rated: Any, ratings: Any, bias: np.ndarray, factors: np.ndarray) -> Any:
        X = np.column_stack([np.ones(len(factors)), factors])
        d = X.shape[1]
        squares = (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)
        A = (rated @ squares).reshape(-1, d, d) + penalty
        y = ratings @ X - rated @ (bias[:, None] * X)
        solution = np.linalg.solve(A, y[..., None])[..., 0]
        return solution[:, 0], solution[:, 1:]

    for _ in range(n_iter):
        person, people = half(rated, ratings, bias, factors)
        bias, factors = half(rated_t, ratings_t, person, people)
    user = np.repeat(np.arange(test.n_users), test.per_user)
    item = test.csr.indices
    products = np.einsum("nk,nk->n", people[user], factors[item])
    return mean + person[user] + bias[item] + products


def unsure_factors(train: Ratings, test: Ratings) -> np.ndarray:
    """Predict by the factors that PersonalRanker learns, and by nothing else."""
    shared = factorize_als(train.csr, 10, 30, np.random.RandomState(0))
    user = np.repeat(np.arange(test.n_users), test.per_user)
    item = test.csr.indices
    products = np.einsum("nk,nk->n", shared.people[user], shared.factors[item])
    return shared.mean + shared.person_bias[user] + shared.item_bias[item] + products


def _rows(part: Ratings) -> tuple[list[int], list[int], list[float]]:
    user = np.repeat(np.arange(part.n_users), part.per_user)
    return user.tolist(), part.csr.indices.tolist(), part.csr.data.tolist()


def _fitted(algorithm: str, train: Ratings, **options: Any) -> Any:
    import surprise as peer

    triples = [(*row, None) for row in zip(*_rows(train), strict=True)]
    data = peer.Dataset(peer.Reader(rating_scale=(1, 5)))
    learnt = data.construct_trainset(triples)
    return getattr(peer, algorithm)(verbose=False, **options).fit(learnt)


def surprise(algorithm: str, train: Ratings, test: Ratings, **options: Any) -> Any:
    """Predict with an algorithm of Surprise, not cut to the scale: cuts make ties."""
    model = _fitted(algorithm, train, random_state=0, **options)
    user, item, _ = _rows(test)
    asked = zip(user, item, strict=True)
    return np.array([model.predict(u, i, clip=False).est for u, i in asked])


def neighbours(train: Ratings, test: Ratings, *, user_based: bool) -> np.ndarray:
    """Predict with Surprise's KNNWithMeans, by its own similarities and means.

    The same as its `predict`, which some rows are held against, in a hundredth of the
    time: all people, or items, that are asked about with one item, or person, at once.
    """
    options = {"user_based": user_based}
    model = _fitted("KNNWithMeans", train, sim_options=options)
    user, item, _ = _rows(test)
    known = model.trainset
    users, items = known._raw2inner_id_users, known._raw2inner_id_items
    u = np.array([users.get(raw, -1) for raw in user])
    i = np.array([items.get(raw, -1) for raw in item])
    x, y = (u, i) if user_based else (i, u)
    means = np.asarray(model.means)
    scores = np.full(len(x), known.global_mean)
    is_known = np.flatnonzero((x >= 0) & (y >= 0))
    order = is_known[np.argsort(y[is_known], kind="stable")]
    for rows in np.split(order, np.flatnonzero(np.diff(y[order])) + 1):
        near = model.yr[y[rows[0]]]
        who = np.array([other for other, _ in near])
        off = np.array([rating for _, rating in near]) - means[who]
        sim = model.sim[np.ix_(x[rows], who)]
        best = np.argsort(-sim, axis=1, kind="stable")[:, : model.k]
        sim = np.maximum(np.take_along_axis(sim, best, axis=1), 0.0)
        mass = sim.sum(axis=1)
        shift = np.divide(
            (sim * off[best]).sum(axis=1), mass, out=np.zeros(len(rows)), where=mass > 0
        )
        scores[rows] = means[x[rows]] + shift
    for row in np.random.default_rng(0).choice(len(user), 200, replace=False):
        theirs = model.predict(user[row], item[row], clip=False).est
        assert np.isclose(scores[row], theirs, atol=1e-9), (scores[row], theirs)
    return scores


SURPRISE: dict[str, Predictor] = {
    "Surprise KNNWithMeans, people": partial(neighbours, user_based=True),
    "Surprise KNNWithMeans, items": partial(neighbours, user_based=False),
    "Surprise SVD": partial(surprise, "SVD"),
    "Surprise SVD++": partial(surprise, "SVDpp", cache_ratings=True),
}
