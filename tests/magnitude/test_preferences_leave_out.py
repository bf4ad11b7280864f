"""Errors of preferences left out, in closed form: what retraining says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from peckorder import MPRank, MPRankCV, Preferences
from support import slow_pairs
from support.helpers import refuses
from support.slow_pairs import kernels, problems

COSTS = ["squared", "absolute", "misranking"]


def kernels_of(kernel, X):
    return kernels(MPRank(kernel=kernel, gamma=0.05), X, X)


def errors_by_retraining(K, C, feedback, cost, left_out, **more):
    """Learn without each pair, or each row of it, at the same weight of other pairs."""
    pairs = list(slow_pairs.listed(feedback, **more))
    weight = more.get("sample_weight")
    sizes = [size for *_, size in slow_pairs.listed(feedback, weight)]
    factor = C / slow_pairs.normaliser(pairs)
    total = mass = 0.0
    for k, (better, worse, w, apart) in enumerate(pairs):
        if left_out == "pair":
            others = [[p for j, p in enumerate(pairs) if j != k]]
        else:
            others = [[p for p in pairs if row not in p[:2]] for row in (better, worse)]
        for rest in others:
            scores = K @ slow_pairs.fit(K, rest, factor) if rest else np.zeros(len(K))
            predicted = scores[better] - scores[worse]
            if cost == "misranking":
                lead = sizes[k] - apart
                total += w * (sizes[k] > 0 and not predicted + lead > 1e-12)
                mass += w * (sizes[k] > 0)
            else:
                total += w * abs(apart - predicted) ** (2 if cost == "squared" else 1)
                mass += w
    return total / mass if mass else np.nan


def error_of(model, left_out, cost):
    if left_out == "pair":
        return model.leave_pair_out_error(cost)
    return model.leave_row_out_error(cost)


@pytest.mark.parametrize("left_out", ["pair", "row"])
@pytest.mark.parametrize("cost", COSTS)
@settings(max_examples=60)
@given(
    problems(),
    st.sampled_from(["linear", "rbf", "precomputed"]),
    st.sampled_from([0.01, 1.0, 100.0]),
)
def test_equals_retraining(left_out, cost, problem, kernel, C):
    X, feedback, more = problem
    pairs = list(slow_pairs.listed(feedback, **more))
    is_given = kernel == "precomputed"
    K = kernels_of("rbf" if is_given else kernel, X)
    model = MPRank(C=C, kernel=kernel, gamma=0.05).fit(K if is_given else X, feedback, **more)
    if left_out == "pair" and len(pairs) < 2:
        with refuses(
            "MPRank: y must be two pairs or more, so that one is left to learn from; got 1 pair."
        ):
            model.leave_pair_out_error(cost)
        return
    expected = errors_by_retraining(K, C, feedback, cost, left_out, **more)
    found = error_of(model, left_out, cost)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9, nan_ok=True)


GRAPHS = {
    # A cycle with a chain, of which the last row is a leaf.
    "leaf": ([0, 1, 2, 2, 3], [1, 2, 0, 3, 4]),
    "star": ([0, 0, 0, 4, 5], [1, 2, 3, 0, 0]),
    "apart": ([0, 1, 3, 5], [1, 2, 4, 6]),
    "repeated": ([0, 0, 1, 1, 0, 4], [1, 1, 0, 2, 2, 5]),
    "dense": tuple(np.array(np.triu_indices(7, 1)).tolist()),
}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("left_out", ["pair", "row"])
@pytest.mark.parametrize("features", ["few", "many", "one each", "sparse", "rbf"])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_graphs_of_any_form(graph, left_out, features, C):
    rng = np.random.default_rng(0)
    better, worse = GRAPHS[graph]
    n_pairs = len(better)
    feedback = Preferences(
        better, worse, rng.uniform(0.1, 2.0, n_pairs), rng.uniform(0.0, 3.0, n_pairs)
    )
    X = {"few": rng.normal(size=(7, 2)), "one each": np.eye(7)}.get(
        features, rng.normal(size=(7, 9))
    )
    kernel = "rbf" if features == "rbf" else "linear"
    rows = sparse.csr_array(X) if features == "sparse" else X
    model = MPRank(C=C, kernel=kernel, gamma=0.05).fit(rows, feedback)
    K = kernels_of(kernel, X)
    for cost in COSTS:
        expected = errors_by_retraining(K, C, feedback, cost, left_out)
        assert error_of(model, left_out, cost) == pytest.approx(expected, rel=1e-5)


def least_squares_errors(X, feedback, left_out):
    """Return the mean squared error by least squares of least norm: C without end."""
    better, worse, weight = feedback.pairs()
    D, size, total = X[better] - X[worse], feedback.sizes(), []
    for k in range(len(better)):
        kept = [np.arange(len(better)) != k]
        if left_out == "row":
            kept = [(better != row) & (worse != row) for row in (better[k], worse[k])]
        for rest in kept:
            root = np.sqrt(weight[rest])
            coef = np.linalg.pinv(root[:, None] * D[rest], rcond=1e-10) @ (root * size[rest])
            total.append(weight[k] * (size[k] - D[k] @ coef) ** 2)
    return np.sum(total) / (len(total) / len(better)) / weight.sum()


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("d", [2, 9])
def test_errors_are_precise_however_large_C_is(graph, d):
    rng = np.random.default_rng(0)
    better, worse = GRAPHS[graph]
    n_pairs = len(better)
    pairs = Preferences(better, worse, rng.uniform(0.1, 2.0, n_pairs), rng.uniform(0, 3, n_pairs))
    X = rng.normal(size=(7, d))
    for C in (1e14, 1e100, 1e300):
        model = MPRank(C=C).fit(X, pairs)
        expected = least_squares_errors(X, pairs, "pair")
        assert model.leave_pair_out_error() == pytest.approx(expected, rel=1e-9)
        expected = least_squares_errors(X, pairs, "row")
        assert model.leave_row_out_error() == pytest.approx(expected, rel=1e-5)


def test_rows_without_features_have_errors():
    pairs = Preferences([0, 1], [1, 2], size=[1, 3])
    model = MPRank().fit(sparse.csr_array((3, 2)), pairs)
    assert model.leave_pair_out_error() == model.leave_row_out_error() == 5.0


@pytest.mark.parametrize("left_out", ["pair", "row"])
def test_rows_are_left_out_in_blocks_of_any_size(left_out, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6))
    better = rng.integers(0, 20, 60)
    pairs = Preferences(better, (better + 1 + rng.integers(0, 19, 60)) % 20)
    expected = error_of(MPRank().fit(X, pairs), left_out, "squared")
    name = "peckorder.magnitude.mprank_solver.leave_pairs_out._ENTRIES"
    monkeypatch.setattr(name, 30)
    assert error_of(MPRank().fit(X, pairs), left_out, "squared") == pytest.approx(expected)


@pytest.mark.parametrize("scale", [1e-100, 1e-7, 1.0, 1e7, 1e50])
@pytest.mark.parametrize("shape", [(8, 2), (8, 12)])
@pytest.mark.parametrize("left_out", ["pair", "row"])
def test_order_does_not_depend_on_the_units_of_features(scale, shape, left_out):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=shape), rng.normal(size=8)
    pairs = Preferences.from_labels(X[:, 0] + y)
    expected = error_of(MPRank(C=2.0).fit(X, pairs), left_out, "misranking")
    model = MPRank(C=2.0 / scale**2).fit(scale * X, pairs)
    assert error_of(model, left_out, "misranking") == expected
    assert 0.0 < expected < 1.0


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("C", [1e-8, 1.0, 1e6])
def test_rows_that_are_one_are_tied(kernel, C):
    X = np.repeat(np.random.default_rng(0).normal(size=(5, 2)), 2, axis=0)
    pairs = Preferences([1, 3, 5, 7, 9, 1], [0, 2, 4, 6, 8, 2], weight=[1, 1, 1, 1, 1, 1e-9])
    rows = X @ X.T if kernel == "precomputed" else X
    model = MPRank(C=C, kernel=kernel, gamma=0.3).fit(rows, pairs)
    assert model.leave_pair_out_error("misranking") == pytest.approx(1.0, abs=1e-9)


def test_an_offset_of_any_size_counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 3))
    pairs = Preferences.from_labels(rng.normal(size=10))
    offset = 1e-9 * rng.normal(size=10)
    model = MPRank().fit(1e-9 * X, pairs, offset=offset)
    wrong = 0
    for k, (better, worse, *_) in enumerate(slow_pairs.listed(pairs)):
        others = Preferences(
            *np.delete(pairs.pairs()[:2], k, axis=1), size=np.delete(pairs.sizes(), k)
        )
        coef = MPRank(C=44 / 45).fit(1e-9 * X, others, offset=offset).coef_
        wrong += not 1e-9 * (X[better] - X[worse]) @ coef + offset[better] - offset[worse] > 0
    assert model.leave_pair_out_error("misranking") == pytest.approx(wrong / 45)


@pytest.mark.parametrize("left_out", ["pair", "row"])
@pytest.mark.parametrize("cost", COSTS)
def test_a_search_finds_the_c_and_gamma_with_the_least_error(left_out, cost):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    better = rng.integers(0, 20, 60)
    worse = (better + 1 + rng.integers(0, 19, 60)) % 20
    score = X[:, 0] ** 2
    flip = score[better] < score[worse]
    better, worse = np.where(flip, worse, better), np.where(flip, better, worse)
    pairs = Preferences(better, worse, size=score[better] - score[worse])
    Cs, gammas = [0.1, 10.0, 1000.0], [0.01, 0.5]
    chosen = MPRankCV(Cs=Cs, gammas=gammas, kernel="rbf", cost=cost, leave_out=left_out)
    chosen.fit(X, pairs)
    errors = [
        [error_of(MPRank(C=C, kernel="rbf", gamma=g).fit(X, pairs), left_out, cost) for C in Cs]
        for g in gammas
    ]
    np.testing.assert_allclose(chosen.errors_, errors)
    g, c = np.unravel_index(np.argmin(errors), (2, 3))
    assert (chosen.gamma_, chosen.C_) == (gammas[g], Cs[c])
    model = MPRank(C=Cs[c], kernel="rbf", gamma=gammas[g]).fit(X, pairs)
    np.testing.assert_allclose(chosen.predict(X), model.predict(X))
    assert error_of(chosen, left_out, cost) == pytest.approx(np.min(errors))


X = np.random.default_rng(0).normal(size=(5, 2))
PAIRS = Preferences([0, 1, 2], [1, 2, 3])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: MPRank().fit(X, PAIRS).leave_pair_out_error(keep="C"),
            "MPRank: keep must be 'C_prime' with Preferences; got 'C'.",
        ),
        (
            lambda: MPRank().fit(X, PAIRS).leave_pair_out_error(method="paper"),
            "MPRank: method must be 'exact' with Preferences; got 'paper'.",
        ),
        (
            lambda: MPRank().fit(X, PAIRS).leave_one_out_predictions(),
            "MPRank: leave_one_out_predictions must be called on a model fitted to labels; got "
            "one fitted to Preferences.",
        ),
        (
            lambda: MPRank().fit(X, np.arange(5.0)).leave_row_out_error(),
            "MPRank: leave_row_out_error must be called on a model fitted to Preferences; got "
            "one fitted to labels. See leave_one_out_predictions.",
        ),
        (
            lambda: MPRankCV(method="diagonal").fit(X, PAIRS),
            "MPRankCV: method must be 'exact' with Preferences; got 'diagonal'.",
        ),
        (
            lambda: MPRankCV(leave_out="row").fit(X, np.arange(5.0)),
            "MPRankCV: leave_out must be 'pair' with labels, of which it leaves out both rows; "
            "got 'row'.",
        ),
        (
            lambda: MPRankCV(cost="misranking").fit(X, Preferences([0, 1], [1, 2], size=[0, 0])),
            "MPRankCV: y must have pairs of a size > 0 to choose by; got none.",
        ),
    ],
)
def test_is_refused_in_one_sentence(call, sentence):
    with refuses(sentence):
        call()
