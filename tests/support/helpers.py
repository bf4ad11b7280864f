"""What several tests need: the learners by name, and ways to compare models."""

import copy
import dataclasses
import re
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from peckorder import AggregatePRank, MulticlassPerceptron, PRank, WidrowHoff
from support import online_oracles

PAPER = {"fit_intercept": False, "unit_norm": False}

# Every learner there is: how it is made, and how its oracle is.
LEARNERS = {
    "last": (partial(PRank, rule="last"), partial(online_oracles.PRank, rule="last")),
    "averaged": (partial(PRank, rule="averaged"), partial(online_oracles.PRank, rule="averaged")),
    "voted": (partial(PRank, rule="voted"), partial(online_oracles.PRank, rule="voted")),
    "constant": (partial(WidrowHoff, eta=0.25), partial(online_oracles.WidrowHoff, eta=0.25)),
    "normalized": (
        partial(WidrowHoff, eta=0.25, step="normalized"),
        partial(online_oracles.WidrowHoff, eta=0.25, step="normalized"),
    ),
    "perceptron": (MulticlassPerceptron, online_oracles.MulticlassPerceptron),
}
LEARNERS |= {
    f"{name} averaged": tuple(partial(maker, rule="averaged") for maker in LEARNERS[name])
    for name in ("constant", "normalized", "perceptron")
}
LEARNERS |= {
    f"uniform {rule}": tuple(
        partial(maker, update="uniform", rule=rule) for maker in LEARNERS["perceptron"]
    )
    for rule in ("last", "averaged")
}
RULES = ["last", "averaged", "voted"]
AGGREGATES = ["bayes_point", "bagging", "voted", "median"]


def plus_one_squared(X, Z):
    """Return (x.z + 1)^2 for each two rows, dense or sparse."""
    products = X @ Z.T
    products = products.toarray() if sparse.issparse(products) else products
    return (products + 1.0) ** 2


_few = partial(AggregatePRank, n_estimators=5, random_state=0)
# Those that keep rows, or many rules: how they are made.
KERNEL_LEARNERS = {
    "poly": partial(PRank, kernel="poly", gamma=1),
    "poly last": partial(PRank, kernel="poly", gamma=1, rule="last"),
    "poly voted": partial(PRank, kernel="poly", gamma=1, rule="voted"),
    "rbf": partial(PRank, kernel="rbf", gamma=0.5),
    "rbf last": partial(PRank, kernel="rbf", gamma=0.5, rule="last"),
    "rbf voted": partial(PRank, kernel="rbf", gamma=0.5, rule="voted"),
    "budget": partial(PRank, budget=8),
    "budget last": partial(PRank, budget=8, rule="last"),
    "function": partial(PRank, kernel=plus_one_squared),
    "rbf constant": partial(WidrowHoff, kernel="rbf", gamma=0.5, eta=0.25),
    "rbf perceptron": partial(MulticlassPerceptron, kernel="rbf", gamma=0.5, rule="averaged"),
    "poly members": partial(_few, kernel="poly", gamma=1),
    "rbf members": partial(_few, kernel="rbf", gamma=0.5, aggregate="bagging"),
    "budget members": partial(_few, budget=8),
}
ENSEMBLES = {f"{aggregate} members": partial(_few, aggregate=aggregate) for aggregate in AGGREGATES}
ENSEMBLES |= {
    "averaged members": partial(_few, member_rule="averaged"),
    "averaged voters": partial(_few, member_rule="averaged", aggregate="voted"),
}
# How every learner is made.
MAKERS = {name: model for name, (model, _) in LEARNERS.items()} | KERNEL_LEARNERS | ENSEMBLES


def make(name, **options):
    return MAKERS[name](**options)


def make_oracle(name, d, k, fit_intercept=False, unit_norm=False):
    return LEARNERS[name][1](d, k, intercept=fit_intercept, unit_norm=unit_norm)


def exactly(sentence):
    """Return the pattern of a whole message."""
    return f"^{re.escape(sentence)}$"


def refuses(sentence, error=ValueError):
    """Expect an error with this message."""
    return pytest.raises(error, match=exactly(sentence))


def overflow(caller, row=None, unit_norm=False):
    """Return what is said of a row too large to have a score."""
    place = "" if row is None else f" by row {row}"
    advice = "" if unit_norm else ", or set unit_norm=True"
    return (
        f"{caller}: X must be small enough for finite scores; got an overflow{place}. "
        f"Scale the features{advice}."
    )


@contextmanager
def raises_unchanged(model, error, sentence):
    """Expect the sentence, and the model to be afterwards what it was before."""
    before = copy.deepcopy(vars(model))
    with refuses(sentence, error):
        yield
    assert same(vars(model), before)


def integer_data(seed, n=60, d=3, k=4, high=3):
    """Small integers, so that every sum is exact and scores fall on thresholds."""
    rng = np.random.default_rng(seed)
    return rng.integers(-high, high + 1, (n, d)).astype(float), labels(rng, n, k)


def real_data(seed, n=60, d=3, k=4):
    """Normal deviates whose labels have something to do with them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    score = X.sum(axis=1) + 0.3 * rng.standard_normal(n)
    y = 1 + np.searchsorted(np.quantile(score, np.arange(1, k) / k), score)
    return X, y


def labels(rng, n, k):
    """Return random ranks 1..k, each at least once."""
    y = np.concatenate([np.arange(1, k + 1), rng.integers(1, k + 1, max(n - k, 0))])
    return rng.permutation(y)[:n] if n < k else rng.permutation(y)


def messy_csr(X, seed):
    """Return X as CSR with halves, zeros and columns out of order in its rows."""
    rng = np.random.default_rng(seed)
    data, indices, indptr = [], [], [0]
    for x in np.asarray(X):
        entries = []
        for j, value in enumerate(x):
            if value and rng.random() < 0.3:
                entries += [(j, value / 2), (j, value / 2)]
            elif value or rng.random() < 0.3:
                entries.append((j, value))
        for j, value in (entries[e] for e in rng.permutation(len(entries))):
            indices.append(j)
            data.append(value)
        indptr.append(len(data))
    kinds = np.asarray(X).dtype, np.int32
    parts = np.array(data, kinds[0]), np.array(indices, kinds[1]), np.array(indptr)
    return sparse.csr_array(parts, shape=np.shape(X))


PROPERTIES = (
    "support_",
    "dual_coef_",
    "votes_",
    "member_coef_",
    "member_intercept_",
    "member_thresholds_",
)


def shown(model, X):
    """Return all that a model shows, and what it says of X."""
    seen = {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and name != "n_iter_"
    }
    for name in PROPERTIES:
        if hasattr(model, name):
            seen[name] = getattr(model, name)
    seen["predict"] = model.predict(X)
    for method in ("decision_function", "mean_rank", "predict_proba"):
        if hasattr(model, method):
            seen[method] = getattr(model, method)(X)
    return seen


def same(a, b):
    """Tell whether two values are equal to the last bit, however deep."""
    a, b = opened(a), opened(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        kinds = a.dtype == b.dtype and a.shape == b.shape
        return kinds and (a.tobytes() == b.tobytes() or a.tolist() == b.tolist())
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a is b)  # NaN is itself


def opened(value):
    """Return what an object consists of, if it is one of ours or SciPy's."""
    if sparse.issparse(value):
        return value.toarray()
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value
