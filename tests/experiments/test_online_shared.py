"""What two papers' experiments have in common, against slow and obvious versions."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from peckorder.datasets import make_square, square_labels
from peckorder.experiments import Comparison
from peckorder.experiments.framework import online as shared
from peckorder.experiments.framework.claims import below_all


@pytest.mark.parametrize(("n_ranks", "middle"), [(2, 2), (3, 2), (5, 3)])
def test_the_running_median_is_the_lower_median_of_what_came_before(n_ranks, middle):
    y = np.random.default_rng(0).integers(1, n_ranks + 1, 200)
    slow = [middle] + [sorted(y[:t])[(t - 1) // 2] for t in range(1, len(y))]
    assert shared.running_median(y, n_ranks).tolist() == slow


def test_rounds_shown_by_hand():
    assert shared.rounds_shown(9, 3).tolist() == [1, 5, 9]
    assert shared.rounds_shown(100, 3, log=True).tolist() == [1, 10, 100]
    spaced = shared.rounds_shown(1000, 3, first=10, log=True, include=(50, 2000))
    assert spaced.tolist() == [10, 50, 100, 1000]
    # Fewer rounds than the first that is wanted: the last is there all the same.
    assert shared.rounds_shown(4, 5, first=10, log=True).tolist() == [4]


def test_ratings_are_moved_where_there_are_any():
    rated = np.array([[5.0, 0.0, 3.0], [0.0, 1.0, 0.0]])
    table = sparse.csr_array(rated)
    moved = shared.centred(table, 3.0)
    assert_array_equal(moved.toarray(), [[2, 0, 0], [0, -2, 0]])
    assert moved.nnz == 3
    assert_array_equal(table.toarray(), rated)
    scores = np.array([[0, 1, 2]])
    assert_array_equal(shared.centred(scores, 1.0), [[-1, 0, 1]])
    assert_array_equal(shared.centred(scores, 0.0), scores)


def test_first_is_what_is_below_all():
    ours = np.array([1.0, 2.0, 3.0, 4.0])
    worse, better = ours + 0.5, ours - 0.5
    alike = ours + np.array([0.5, -0.5, 0.5, -0.5])
    assert below_all(ours, [worse, worse]) == Comparison(1, 0.0)
    assert below_all(ours, [worse, alike]) == Comparison(0, 1.0)
    assert below_all(ours, [worse, alike, better]) == Comparison(-1, 0.0)


def test_no_rule_of_the_square_has_less_than_the_least_loss():
    n = 400_000
    points, y = make_square(n, noise=shared.NOISE, degree=1, random_state=0)
    losses = np.abs(square_labels(points) - y)
    error = losses.std(ddof=1) / np.sqrt(n)
    assert abs(losses.mean() - shared.LEAST_LOSS) < 4 * error
