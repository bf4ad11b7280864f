import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import exactly
from peckorder.datasets import make_square, square_features, square_labels
from peckorder.metrics import rank_loss

# By quadrature; a share of 200,000 draws is off by 0.001 once in three.
SHARES = [0.118, 0.311, 0.228, 0.224, 0.118]
MANY = 200_000


@pytest.mark.parametrize(("degree", "width"), [(1, 2), (2, 6)])
def test_the_square_has_rows_of_a_known_width(degree, width):
    X, y = make_square(50, degree=degree, random_state=0)
    assert (X.shape, y.shape) == ((50, width), (50,))


def test_five_thousand_points_are_drawn_unless_told():
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
