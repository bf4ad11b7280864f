"""Progressive validation: the loss of a stream, predicted before it is learnt."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import Perceptron, Ridge, SGDRegressor

from peckorder import PRank
from peckorder.exceptions import DataError
from peckorder.metrics import rank_loss, time_averaged_rank_loss
from peckorder.model_selection import Progress, progressive_validation
from support.helpers import exactly, make, real_data

X, Y = real_data(4, n=90, k=4)
CUTS = [0, 20, 21, 60, 90]


def batches(X=X, y=Y, cuts=CUTS):
    """Yield batches and see to it that each is asked for once, in turn."""
    for first, end in pairwise(cuts):
        yield X[first:end], y[first:end]


@pytest.mark.parametrize("name", ["last", "averaged", "voted", "perceptron", "rbf"])
def test_the_running_loss_is_that_of_progressive_predictions(name):
    classes = [1, 2, 3, 4]
    model, twin = make(name, classes=classes), make(name, classes=classes)
    predicted = twin.progressive(X, Y)
    running = time_averaged_rank_loss(Y, predicted)
    seen = list(progressive_validation(model, batches()))
    assert [progress.rounds for progress in seen] == CUTS[1:]
    for progress, (first, end) in zip(seen, pairwise(CUTS), strict=True):
        assert progress.rank_loss == running[end - 1]
        own = rank_loss(Y[first:end], predicted[first:end])
        assert progress.batch_loss == pytest.approx(own, rel=1e-12)
    assert_array_equal(model.predict(X), twin.predict(X))


def test_classes_may_be_named_or_inferred():
    named = list(progressive_validation(PRank(), batches(), classes=[1, 2, 3, 4]))
    given = list(progressive_validation(PRank(classes=[1, 2, 3, 4]), batches()))
    first = list(progressive_validation(PRank(), batches()))
    assert named == given == first


def test_losses_are_steps_between_classes():
    words = np.array(["poor", "fair", "good", "best"])
    named = progressive_validation(PRank(), batches(y=words[Y - 1]), classes=words)
    assert list(named) == list(progressive_validation(PRank(), batches()))
    apart = np.array([1, 10, 100, 1000])
    assert list(progressive_validation(PRank(), batches(y=apart[Y - 1]))) == list(
        progressive_validation(PRank(), batches())
    )


def test_a_fitted_estimator_goes_on():
    model, twin = PRank().fit(X, Y), PRank().fit(X, Y)
    seen = list(progressive_validation(model, batches()))
    predicted = twin.progressive(X, Y)
    assert seen[-1].rounds == 90
    assert seen[-1].rank_loss == rank_loss(Y, predicted)
    assert model.n_rounds_ == 180


def test_nothing_is_learnt_before_it_is_asked_for():
    model, asked = PRank(), []

    def stream():
        for number, batch in enumerate(batches()):
            asked.append(number)
            yield batch

    progress = progressive_validation(model, stream())
    assert not asked
    assert not hasattr(model, "classes_")
    assert next(progress).rounds == 20
    assert asked == [0]
    assert model.n_rounds_ == 20


def test_other_estimators_predict_a_batch_then_learn_it():
    model, twin = (Perceptron(random_state=0) for _ in range(2))
    seen = list(progressive_validation(model, batches()))
    assert seen[0].rounds == 0
    assert np.isnan(seen[0][1:]).all()
    assert [progress.rounds for progress in seen] == [0, 1, 40, 70]
    losses = []
    for X_batch, y_batch in batches():
        if hasattr(twin, "coef_"):
            losses += np.abs(twin.predict(X_batch) - y_batch).tolist()
        twin.partial_fit(X_batch, y_batch, classes=[1, 2, 3, 4])
    assert seen[-1].rank_loss == np.mean(losses)
    assert_array_equal(model.coef_, twin.coef_)
    on = list(progressive_validation(model, batches()))
    assert on[0].rounds == 20


def test_classes_of_other_estimators_are_named_or_their_own():
    words = np.array(["poor", "fair", "good", "best"])
    model = Perceptron(random_state=0)
    seen = list(progressive_validation(model, batches(y=words[Y - 1]), classes=words))
    assert 0 <= seen[-1].rank_loss <= 3
    # Only two classes in the first batch; the others are known from before.
    model = Perceptron(random_state=0).fit(X, Y)
    order = np.argsort(Y, kind="stable")
    assert list(progressive_validation(model, batches(X[order], Y[order])))


def test_regressors_get_no_classes():
    model = SGDRegressor(random_state=0).fit(X, Y)
    predicted = model.predict(X[:20])
    first = next(progressive_validation(model, batches()))
    assert first.rank_loss == pytest.approx(np.mean(np.abs(predicted - Y[:20])))


def test_an_empty_stream_yields_nothing():
    assert list(progressive_validation(PRank(), [])) == []


def test_progress_is_a_small_tuple():
    assert Progress(3, 0.5, 1.0)._asdict() == {"rounds": 3, "rank_loss": 0.5, "batch_loss": 1.0}


REFUSED_STREAMS = {
    "estimator": (
        ("PRank", []),
        TypeError,
        "estimator must be an object with progressive, or with predict and "
        "partial_fit; got 'PRank'.",
    ),
    "a class": (
        (PRank, []),
        TypeError,
        "estimator must be an object, not a class; got <class "
        "'peckorder.ordinal.prank.PRank'>. Write PRank().",
    ),
    "another class": (
        (Perceptron, []),
        TypeError,
        "estimator must be an object, not a class; got <class "
        "'sklearn.linear_model._perceptron.Perceptron'>. Write Perceptron().",
    ),
    "no partial_fit": (
        (Ridge(), []),
        TypeError,
        "estimator must be an object with progressive, or with predict and "
        "partial_fit; got Ridge().",
    ),
    "a class of streams": (
        (PRank(), list),
        TypeError,
        "stream must be batches (X, y); got <class 'list'>.",
    ),
    "stream": ((PRank(), 5), TypeError, "stream must be batches (X, y); got 5."),
    "batch": (
        (PRank(), [X]),
        DataError,
        "stream must be batches (X, y), two each; got ndarray as batch 0.",
    ),
    "words": (
        (Perceptron(), [(X[:2], ["a", "b"])]),
        DataError,
        "y must be numbers, an ordered categorical, or labels whose order classes= "
        "gives; got ['a', 'b']. Pass classes=[...] with the lowest first (the order "
        "of the alphabet is rarely meant).",
    ),
    "one class": (
        (Perceptron(), [(X[:2], [1, 1])]),
        DataError,
        "y must hold at least two classes; got one class, [1]. Name all of them in "
        "classes=, lowest first.",
    ),
}


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"), REFUSED_STREAMS.values(), ids=REFUSED_STREAMS
)
def test_refused_streams(arguments, error, sentence):
    with pytest.raises(error, match=exactly(f"progressive_validation: {sentence}")):
        list(progressive_validation(*arguments))


def test_classes_are_checked_at_the_call():
    sentence = "progressive_validation: classes must be at least two labels; got [1]."
    with pytest.raises(ValueError, match=exactly(sentence)):
        progressive_validation(PRank(), batches(), classes=[1])


def test_a_batch_that_is_refused_changes_nothing():
    model = PRank()
    progress = progressive_validation(model, [(X[:50], Y[:50]), (X[50:], Y[50:] + 9)])
    next(progress)
    with pytest.raises(DataError, match=r"^PRank: y must be one of the classes"):
        next(progress)
    assert model.n_rounds_ == 50
