import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder.datasets import make_letor, make_square, square_features, square_labels
from peckorder.metrics import disagreement, rank_loss
from support.helpers import exactly

# By quadrature; a share of 200,000 draws is off by 0.001 once in three.
SHARES = [0.118, 0.311, 0.228, 0.224, 0.118]
MANY = 200_000


@pytest.mark.parametrize(("degree", "width"), [(1, 2), (2, 6)])
def test_the_square_has_rows_of_a_known_width(degree, width):
    X, y = make_square(50, degree=degree, random_state=0)
    assert (X.shape, y.shape) == ((50, width), (50,))


def test_five_thousand_points_are_drawn_by_default():
    assert len(make_square(random_state=0)[1]) == 5000


def test_a_seed_decides_the_square():
    first, again = make_square(50, random_state=3), make_square(50, random_state=3)
    assert_array_equal(first[0], again[0])
    assert_array_equal(first[1], again[1])


def test_another_seed_gives_another_square():
    first, other = make_square(50, random_state=3), make_square(50, random_state=4)
    assert not np.array_equal(first[0], other[0])


def test_a_generator_goes_on():
    rng = np.random.RandomState(3)
    assert not np.array_equal(
        make_square(9, random_state=rng)[0], make_square(9, random_state=rng)[0]
    )


def test_the_features_are_those_of_the_points():
    points, y = make_square(50, degree=1, random_state=3)
    X, same_y = make_square(50, degree=2, random_state=3)
    assert_array_equal(X, square_features(points))
    assert_array_equal(y, same_y)


def test_the_points_lie_in_the_unit_square():
    points, _ = make_square(1000, degree=1, random_state=0)
    assert 0 <= points.min() < 0.01
    assert 0.99 < points.max() <= 1


def test_without_noise_the_labels_are_those_of_the_points():
    points, y = make_square(500, degree=1, noise=0, random_state=3)
    assert_array_equal(y, square_labels(points))


def test_the_classes_have_the_shares_of_the_specification():
    _, y = make_square(MANY, random_state=0)
    assert_allclose(np.bincount(y, minlength=6)[1:] / MANY, SHARES, atol=0.005)


def test_the_best_rule_loses_what_the_specification_says():
    points, y = make_square(MANY, degree=1, random_state=1)
    assert rank_loss(y, square_labels(points)) == pytest.approx(0.1526, abs=0.005)


def test_the_best_rule_loses_more_with_more_noise():
    points, y = make_square(MANY, noise=0.125**0.5, degree=1, random_state=1)
    assert rank_loss(y, square_labels(points)) == pytest.approx(0.4039, abs=0.005)


def test_a_constant_loses_a_step():
    _, y = make_square(MANY, random_state=1)
    losses = [rank_loss(y, np.full(MANY, rank)) for rank in range(1, 6)]
    assert min(losses) == pytest.approx(1.01, abs=0.01)


def test_a_height_on_a_cut_belongs_below_it():
    # All heights are 0, so the noise is the height.
    middle = np.full((4, 2), 0.5)
    assert_array_equal(square_labels(middle, [-1.0, -0.1, 0.25, 1.0]), [1, 2, 3, 4])


def test_products_of_features_are_the_kernel():
    points = np.random.default_rng(0).uniform(size=(20, 2))
    X = square_features(points)
    assert_allclose(X @ X.T, (points @ points.T + 1) ** 2, rtol=1e-12)


def test_the_features_are_those_of_the_golden_case(golden):
    case = golden("prank")["kernel_case"]
    expected = case["feature_map"]
    assert_allclose(square_features(case["X_test"]), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", None])
def test_a_bad_number_of_points_is_refused(n):
    sentence = f"make_square: n_samples must be an integer >= 1; got {n!r}."
    with pytest.raises(ValueError, match=exactly(sentence)):
        make_square(n)


@pytest.mark.parametrize("noise", [-0.1, float("nan"), float("inf"), "a", None])
def test_a_bad_noise_is_refused(noise):
    sentence = f"make_square: noise must be a finite number >= 0; got {noise!r}."
    with pytest.raises(ValueError, match=exactly(sentence)):
        make_square(5, noise=noise)


@pytest.mark.parametrize("degree", [0, 3, "2", None])
def test_a_bad_degree_is_refused(degree):
    sentence = f"make_square: degree must be 1 or 2; got {degree!r}."
    with pytest.raises(ValueError, match=exactly(sentence)):
        make_square(5, degree=degree)


@pytest.mark.parametrize(("sizes", "fewest", "most"), [(7, 7, 7), ((3, 9), 3, 9), ((1, 1), 1, 1)])
def test_queries_have_as_many_documents_as_asked_for(sizes, fewest, most):
    X, y, qid = make_letor(200, sizes, 5, random_state=0)
    counts = np.bincount(qid)
    assert (counts[0], len(counts)) == (0, 201)
    assert set(counts[1:]) == set(range(fewest, most + 1))
    assert (np.diff(qid) >= 0).all()
    assert X.shape == (counts.sum(), 5)
    assert y.shape == qid.shape


def test_a_seed_decides_the_documents_and_more_features_leave_the_first_alone():
    first, again = (make_letor(9, 5, n, random_state=3) for n in (24, 7))
    assert_array_equal(first.X[:, :7], again.X)
    assert_array_equal(first.y, again.y)
    assert_array_equal(first.qid, again.qid)
    assert not np.array_equal(first.X, make_letor(9, 5, random_state=4).X)


@pytest.mark.parametrize(
    ("n_grades", "shares"),
    [(2, [0.6, 0.4]), (3, [0.6, 0.24, 0.16]), (5, [0.6, 0.24, 0.096, 0.038, 0.026])],
)
def test_most_documents_have_the_lowest_grade(n_grades, shares):
    _, y, _ = make_letor(10_000, 20, 1, n_grades=n_grades, random_state=0)
    found = np.bincount(y.astype(int)) / len(y)
    assert_allclose(found, shares, atol=0.01)


def test_features_are_of_six_kinds_and_later_ones_know_less():
    X, y, qid = make_letor(400, 50, 12, random_state=0)
    losses = [np.nanmean(disagreement(y, x, qid=qid, per_query=True)) for x in X.T]
    # Scores, popularity, counts, engines; then what knows the query, and noise.
    assert_allclose(losses[:6], [0.215, 0.215, 0.23, 0.215, 0.5, 0.5], atol=0.015)
    assert_allclose(losses[6:], [0.32, 0.32, 0.34, 0.32, 0.5, 0.5], atol=0.02)
    assert X[:, 1].max() > 100 * np.median(X[:, 1])
    assert_array_equal(X[:, 2], np.floor(X[:, 2]))
    assert 0.3 < (X[:, 2] == 0).mean() < 0.6


def test_an_engine_has_another_scale_in_every_query():
    X, y, _ = make_letor(400, 50, 4, random_state=0)
    score, engine = X[:, 0], X[:, 3]
    assert disagreement(y, engine) > disagreement(y, score) + 0.1


def test_what_is_about_the_query_is_the_same_for_its_documents():
    X, y, qid = make_letor(400, (5, 9), 5, random_state=0)
    values = [set(X[qid == query, 4]) for query in range(1, 401)]
    assert [len(value) for value in values] == [1] * 400
    means = [y[qid == query].mean() for query in range(1, 401)]
    assert np.corrcoef([value.pop() for value in values], means)[0, 1] > 0.2


def test_engines_abstain_on_the_worst_documents_of_a_query():
    whole = make_letor(50, (4, 40), 12, random_state=0)
    part = make_letor(50, (4, 40), 12, missing=0.3, random_state=0)
    is_gap = np.isnan(part.X)
    assert_array_equal(is_gap.any(axis=0), np.arange(12) % 6 == 3)
    assert_array_equal(part.X[~is_gap], whole.X[~is_gap])
    for query in range(1, 51):
        rows = part.qid == query
        for column in (3, 9):
            gap, values = is_gap[rows, column], whole.X[rows, column]
            assert gap.sum() == int(0.3 * rows.sum())
            assert values[gap].max(initial=-np.inf) < values[~gap].min()


def test_nothing_is_missing_by_default():
    assert np.isfinite(make_letor(20, random_state=0).X).all()


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("n_queries", 0, "an integer >= 1"),
        ("docs_per_query", 0, "an integer >= 1 or a pair of them, the smaller first"),
        ("docs_per_query", (9, 3), "an integer >= 1 or a pair of them, the smaller first"),
        ("docs_per_query", (3,), "an integer >= 1 or a pair of them, the smaller first"),
        ("n_features", 2.5, "an integer >= 1"),
        ("n_grades", 1, "an integer >= 2"),
        ("missing", 1.0, "a number >= 0 and < 1"),
        ("missing", -0.1, "a number >= 0 and < 1"),
        ("missing", float("nan"), "a number >= 0 and < 1"),
    ],
)
def test_bad_parameters_of_synthetic_documents_are_refused(name, value, rule):
    sentence = f"make_letor: {name} must be {rule}; got {value!r}."
    with pytest.raises(ValueError, match=exactly(sentence)):
        make_letor(**{name: value})
