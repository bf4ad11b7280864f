"""RankBoost on trees: rounds that go on, stop early, sample, and are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from peckorder import Preferences, RankBoost, load
from peckorder.exceptions import DataError
from peckorder.io import from_bytes
from peckorder.metrics import disagreement
from support.helpers import exactly, same

RNG = np.random.default_rng(0)
N, D = 240, 5
X = np.round(RNG.standard_normal((N, D)), 1) + 0.0
X[RNG.random((N, D)) < 0.1] = np.nan
FILLED = np.nan_to_num(X)
Y = np.digitize(FILLED[:, 0] * FILLED[:, 1] + 0.5 * RNG.standard_normal(N), [-0.5, 0.5])
QID = RNG.integers(0, 12, N)
SMALL = {"weak": "tree", "max_leaf_nodes": 6, "min_samples_leaf": 5, "random_state": 0}
KINDS = {
    "exponential": {},
    "logistic": {"loss": "logistic"},
    "ndcg": {"pair_weight": "ndcg"},
    "sampled": {"subsample": 0.5, "max_features": 0.5},
}
every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)


def fitted(y=Y, qid=QID, rows=X, weight=None, **options):
    return RankBoost(**SMALL | {"n_rounds": 20} | options).fit(
        rows, y, qid=qid, sample_weight=weight
    )


def test_trees_learn_what_thresholds_cannot():
    model = fitted(n_rounds=60)
    thresholds = RankBoost(n_rounds=60, cumulative=False).fit(X, Y, qid=QID)
    wrong = [disagreement(Y, one.predict(X), qid=QID) for one in (model, thresholds)]
    assert wrong[0] < 0.5 * wrong[1]
    assert model.feature_importances_[:2].sum() > 0.6
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@every_kind
def test_a_warm_start_goes_on_as_if_it_had_never_stopped(options):
    model = RankBoost(**SMALL, warm_start=True, **options)
    for n_rounds in (3, 3, 9):
        model.set_params(n_rounds=n_rounds).fit(X, Y, qid=QID)
    whole = fitted(n_rounds=9, **options)
    assert_array_equal(model.predict(X), whole.predict(X))
    assert same(model.bounds_, whole.bounds_)
    assert same(model.weak_rankers_, whole.weak_rankers_)


@every_kind
def test_stages_end_with_the_scores(options):
    model = fitted(**options)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_rounds_ == len(model.bounds_) - 1
    assert_array_equal(stages[-1], model.predict(X))
    first = fitted(n_rounds=1, **options)
    assert_array_equal(stages[0], first.predict(X))


def test_rounds_are_chosen_on_queries_held_out():
    options = {"validation_fraction": 0.3, "n_iter_no_change": 5, "n_rounds": 200}
    model = fitted(learning_rate=0.5, **options)
    values = model.validation_scores_
    assert model.n_rounds_ == int(np.argmin(values)) > 0
    assert len(values) == model.n_rounds_ + 6
    assert len(model.forest_) == model.n_rounds_


def test_rows_of_weight_zero_are_not_there():
    weight = (RNG.random(N) < 0.7).astype(float)
    kept = weight > 0.0
    model = fitted(weight=weight)
    other = fitted(Y[kept], QID[kept], X[kept], weight[kept])
    assert_array_equal(model.predict(X), other.predict(X))


def test_the_order_of_rows_does_not_matter():
    order = RNG.permutation(N)
    model, other = fitted(), fitted(Y[order], QID[order], X[order])
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=1e-9, atol=1e-12)


@every_kind
@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
def test_the_scale_of_weights_does_not_matter(options, scale):
    weight = RNG.uniform(0.5, 2.0, N)
    model, other = fitted(weight=weight, **options), fitted(weight=scale * weight, **options)
    np.testing.assert_allclose(other.predict(X), model.predict(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.bounds_, model.bounds_, rtol=1e-9)


@every_kind
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_queries_that_count_the_same_may_weigh_anything(options, scale):
    weight = np.where(QID == 3, scale, 1.0)
    options = options | {"query_weight": "equal", "n_rounds": 5}
    model, other = fitted(**options), fitted(weight=weight, **options)
    np.testing.assert_allclose(other.predict(X), model.predict(X), rtol=1e-9, atol=1e-12)
    huge = fitted(weight=np.where(np.arange(N) == 5, 1e300, 1.0), **options)
    assert np.isfinite(huge.bounds_).all()
    assert np.ptp(huge.predict(X)) > 0.0


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_a_sample_that_misleads_does_not_end_boosting(loss):
    model = fitted(subsample=0.1, loss=loss, n_rounds=100)
    assert model.n_rounds_ == 100
    assert (model.weak_rankers_["alpha"] == 0.0).any()
    assert (np.diff(model.bounds_) <= 0.0).all()
    assert model.bounds_[-1] < model.bounds_[50] < model.bounds_[25]
    assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_the_weights_of_listed_pairs_may_be_huge(loss):
    pairs = Preferences.from_grades(Y, QID, weight="exponential")
    models = [
        RankBoost(**SMALL, loss=loss, n_rounds=5).fit(X, scale * pairs) for scale in (1.0, 1e300)
    ]
    assert np.isfinite(models[1].bounds_).all()
    np.testing.assert_allclose(models[1].predict(X), models[0].predict(X), rtol=1e-9, atol=1e-12)


def test_pairs_that_are_far_off_are_learnt_without_l2():
    offset = np.where(Y > 1, -90.0, 90.0)
    model = RankBoost(**SMALL, loss="logistic", l2=0.0, learning_rate=1.0, n_rounds=50)
    model.fit(X, Y, qid=QID, offset=offset)
    assert model.n_rounds_ == 50
    assert model.bounds_[-1] < 0.5 * model.bounds_[0]
    assert np.abs(model.predict(X, offset=np.zeros(N))).max() <= 8.0 * 50


@pytest.mark.filterwarnings("ignore:RankBoost. no feature divides")
@pytest.mark.parametrize("gap", [20.0, 50.0, 200.0, 400.0, 900.0])
def test_bounds_of_pairs_that_all_are_right_are_numbers(gap):
    # Beyond 37 a logarithm of 1 + exp(-gap) has no digits, beyond 745 the loss is no number.
    y = Y > 1
    offset = np.where(y, gap, 0.0)
    model = RankBoost(**SMALL, loss="logistic", n_rounds=3).fit(X, y, qid=QID, offset=offset)
    least = max(np.log1p(np.exp(-gap)) / np.log(2.0), 1e-300)
    np.testing.assert_allclose(model.bounds_[0], least, rtol=1e-7 if gap < 700 else 1.0)
    assert np.isfinite(model.bounds_).all()
    assert (np.diff(model.bounds_) <= 0.0).all()
    again = from_bytes(model.to_bytes())
    assert_array_equal(again.predict(X, offset=offset), model.predict(X, offset=offset))


def test_huge_offsets_and_one_pair_are_learnt_from():
    offset = np.where(Y > 1, -900.0, 900.0)
    for loss in ("exponential", "logistic"):
        model = RankBoost(**SMALL, loss=loss, n_rounds=5).fit(X, Y, qid=QID, offset=offset)
        assert np.isfinite(model.predict(X, offset=offset)).all()
        assert np.isfinite(model.bounds_).all()
        pair = RankBoost(
            weak="tree", min_samples_leaf=1, loss=loss, n_rounds=300, learning_rate=1.0
        ).fit([[0.0], [1.0]], Preferences([1], [0]))
        assert pair.predict([[0.0], [1.0]]).argmax() == 1
        assert (np.diff(pair.bounds_) <= 0.0).all()


@pytest.mark.parametrize(
    "X", [np.zeros((8, 2)), np.full((8, 2), np.nan), np.arange(16.0).reshape(8, 2)]
)
def test_rows_that_no_tree_divides_get_equal_scores(X):
    with pytest.warns(ConvergenceWarning, match="no feature divides the rows of pairs"):
        model = RankBoost(weak="tree").fit(X, np.arange(8))
    assert_array_equal(model.predict(X), np.zeros(8))
    assert model.n_rounds_ == 0
    assert model.bounds_.tolist() == [1.0]


COLORS = np.array(["red", "green", "blue", "violet", "white", "black"])
GROUP = RNG.integers(0, 6, N)
FRAME = pd.DataFrame({"x": X[:, 0], "color": pd.Categorical(COLORS[GROUP])})
# Colors have no order in which the good ones are neighbours.
OF_COLOR = np.isin(GROUP, [1, 4, 5]) * 2 + (RNG.random(N) < 0.2)


@pytest.mark.parametrize("frame", [FRAME, pl.from_pandas(FRAME)], ids=["pandas", "polars"])
def test_categories_are_divided_without_an_order(frame):
    model = fitted(OF_COLOR, rows=frame, max_leaf_nodes=2, n_rounds=5)
    scores = model.predict(frame)
    assert disagreement(OF_COLOR > 1, scores, qid=QID) == 0.0
    assert_array_equal(model.predict(frame[::-1]), scores[::-1])
    unseen = FRAME.assign(color=pd.Categorical(["gold"] * N))
    missing = FRAME.assign(color=pd.Categorical([None] * N))
    assert_array_equal(model.predict(unseen), model.predict(missing))


def test_categories_may_be_given_by_position_and_sparse():
    rows = np.c_[FILLED, GROUP]
    options = {"categorical_features": [5], "max_leaf_nodes": 4}
    model = fitted(OF_COLOR, rows=rows, **options)
    stored = sparse.csr_array(rows)
    other = fitted(OF_COLOR, rows=stored, **options)
    assert_array_equal(other.predict(stored), model.predict(rows))
    assert model.feature_importances_.argmax() == 5


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("direction", [1, -1])
def test_scores_are_monotone_where_they_must_be(loss, direction):
    model = fitted(loss=loss, monotonic_cst=[direction, 0, 0, 0, 0], n_rounds=30)
    for row in FILLED[:20]:
        line = np.tile(row, (50, 1))
        line[:, 0] = np.linspace(-4, 4, 50)
        assert (direction * np.diff(model.predict(line)) >= 0.0).all()
    free = fitted(loss=loss, n_rounds=30)
    assert free.bounds_[-1] < model.bounds_[-1]


@every_kind
def test_explanations_add_up_to_the_scores(options):
    model = fitted(**options)
    added = model.explain(X)
    assert added.shape == X.shape
    np.testing.assert_allclose(
        added.sum(axis=1) + model.expected_value_, model.predict(X), rtol=1e-11, atol=1e-12
    )
    assert RankBoost(n_rounds=2).fit(X, Y, qid=QID).expected_value_ == 0.0


def test_a_saved_model_knows_categories(tmp_path):
    model = fitted(OF_COLOR, rows=FRAME)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_array_equal(loaded.predict(FRAME), model.predict(FRAME))
    with pytest.raises(DataError, match="must have categories in column 'color'"):
        loaded.predict(FRAME.assign(color=1.0))


def test_other_weak_rankings_follow_trees_only_from_scratch():
    model = fitted(warm_start=True)
    message = "RankBoost: weak must be as in the last fit with warm_start; got 'threshold'."
    with pytest.raises(ValueError, match=exactly(message)):
        model.set_params(weak="threshold", n_rounds=30, max_leaf_nodes=15, min_samples_leaf=20).fit(
            X, Y, qid=QID
        )
    model.set_params(warm_start=False).fit(X, Y, qid=QID)
    assert not hasattr(model, "forest_")
    other = RankBoost(n_rounds=30).fit(X, Y, qid=QID)
    assert_array_equal(model.predict(X), other.predict(X))


REFUSED = {
    "subsample": (
        {"subsample": 0.5}, Preferences([0], [1]), None,
        "RankBoost: subsample must be 1.0 with listed pairs; got 0.5.",
    ),
    "ndcg": (
        {"pair_weight": "ndcg"}, Preferences([0], [1]), None,
        "RankBoost: pair_weight must be None with listed pairs; got 'ndcg'.",
    ),
    "negative gains": (
        {"pair_weight": "ndcg"}, Y - 1.0, QID,
        "RankBoost: y must be grades from 0 to 1000 with pair_weight='ndcg'; got -1.0.",
    ),
    "huge gains": (
        {"pair_weight": "ndcg"}, Y * 2000.0, QID,
        "RankBoost: y must be grades from 0 to 1000 with pair_weight='ndcg'; got 4000.0.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "y", "qid", "message"), REFUSED.values(), ids=REFUSED)
def test_feedback_without_queries_or_gains_is_refused(options, y, qid, message):
    with pytest.raises(ValueError, match=exactly(message)):
        RankBoost(**SMALL | options).fit(X, y, qid=qid)
