"""Others' ways to predict ratings, for `personal.py`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from peckorder import Ratings

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
    5, 10, 15, 20 and of 10, 20, 30 factors the best on another split.
    """
    rng = np.random.default_rng(0)
    csr, mean = train.csr, train.csr.data.mean()
    rated = sparse.csr_array(
        (np.ones(len(csr.data)), csr.indices, csr.indptr), shape=csr.shape
    )
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


def surprise(algorithm: str, train: Ratings, test: Ratings, **options: Any) -> Any:
    """Predict with an algorithm of Surprise, not cut to the scale: cuts make ties."""
    import surprise as peer

    def rows(part: Ratings) -> Any:
        user = np.repeat(np.arange(part.n_users), part.per_user)
        return user.tolist(), part.csr.indices.tolist(), part.csr.data.tolist()

    np.random.seed(0)  # noqa: NPY002, which KNN asks for
    triples = [(*row, None) for row in zip(*rows(train), strict=True)]
    data = peer.Dataset(peer.Reader(rating_scale=(1, 5)))
    learnt = data.construct_trainset(triples)
    if algorithm.startswith("SVD"):
        options["random_state"] = 0
    model = getattr(peer, algorithm)(verbose=False, **options).fit(learnt)
    user, item, _ = rows(test)
    asked = zip(user, item, strict=True)
    return np.array([model.predict(u, i, clip=False).est for u, i in asked])


SURPRISE: dict[str, Predictor] = {
    "Surprise KNNWithMeans, people": partial(surprise, "KNNWithMeans"),
    "Surprise KNNWithMeans, items": partial(
        surprise, "KNNWithMeans", sim_options={"user_based": False}
    ),
    "Surprise SVD": partial(surprise, "SVD"),
    "Surprise SVD++": partial(surprise, "SVDpp", cache_ratings=True),
}
