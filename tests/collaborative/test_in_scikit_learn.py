"""Scikit-learn's own checks, for the baselines of collaborative filtering."""

import inspect

from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from peckorder import collaborative
from peckorder.collaborative import (
    Correlation,
    ItemMean,
    MinNormRegression,
    NearestRanker,
    PersonalRanker,
    VectorSimilarity,
)

BASELINES = [
    ItemMean(),
    MinNormRegression(),
    MinNormRegression(normalize=True),
    NearestRanker(),
    NearestRanker(n_neighbors=3),
    VectorSimilarity(),
    Correlation(),
    Correlation(default_vote=0.0, inverse_frequency=True),
]


@parametrize_with_checks(BASELINES)
def test_obeys_scikit_learn(estimator, check):
    assert check(estimator) is None


def test_every_estimator_is_checked():
    public = {
        thing
        for thing in (getattr(collaborative, name) for name in collaborative.__all__)
        if inspect.isclass(thing) and issubclass(thing, BaseEstimator)
    }
    # Whose fit takes ratings, not X and y.
    assert public - {PersonalRanker} == {type(model) for model in BASELINES}


def test_a_personal_ranker_can_be_cloned():
    model = PersonalRanker(n_factors=3, C=2.0, random_state=1)
    assert clone(model).get_params() == model.get_params()
