"""What a stream, an estimator and options must be, said before any work."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from peckorder import MPRank, OrdinalBoost, PRank, RankBoost, SVRank, WidrowHoff
from peckorder.streams import fit, from_arrays

STREAM = from_arrays(np.eye(3), [1, 2, 3])
WEIGHED = from_arrays(np.eye(3), [1, 2, 3], weight=[1.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("estimator", "stream", "options", "error", "message"),
    [
        (PRank, STREAM, {}, TypeError, "estimator must be an object with get_params"),
        (7, STREAM, {}, TypeError, "estimator must be an object with get_params"),
        (SVRank(), STREAM, {}, TypeError, "estimator must be one with partial_fit, or a "),
        (
            MPRank(kernel="precomputed"),
            STREAM,
            {},
            TypeError,
            "estimator must be one with partial_fit, or a RankBoost; got "
            r"MPRank\(kernel='precomputed'\). MPRank: kernel must be another than 'precomp",
        ),
        (
            OrdinalBoost(),
            STREAM,
            {},
            TypeError,
            "estimator must be one with partial_fit, or a RankBoost; got OrdinalB",
        ),
        (PRank(), [1], {}, TypeError, "stream must be one of peckorder.streams, from_p"),
        (PRank(), WEIGHED, {}, TypeError, "stream must be without weights for PRank, whi"),
        (MPRank(), STREAM, {"classes": [1]}, TypeError, "classes must be None for MPRan"),
        (RankBoost(), STREAM, {"classes": [1, 2]}, TypeError, "classes must be None for RankB"),
        (PRank(), STREAM, {"classes": [1]}, ValueError, "classes must be at least two l"),
        (PRank(), STREAM, {"classes": "ab"}, TypeError, "classes must be a list of labe"),
        (PRank(), STREAM, {"n_passes": 0}, ValueError, "n_passes must be an integer >= "),
        (MPRank(), STREAM, {"n_passes": 2}, ValueError, "n_passes must be 1 for MPRank,"),
        (PRank(), STREAM, {"every": -1}, ValueError, "every must be a finite number >= "),
        (PRank(), STREAM, {"prefetch": -1}, ValueError, "prefetch must be an integer >="),
        (PRank(), STREAM, {"progress": 1}, ValueError, "progress must be None or a func"),
        (PRank(), STREAM, {"checkpoint": 1}, TypeError, "checkpoint must be None or a p"),
        (
            PRank(),
            STREAM,
            {"folder": "/nowhere"},
            TypeError,
            "folder must be None for PRank, which keeps no temporary files; got '/now",
        ),
        (
            SGDClassifier(),
            STREAM,
            {"checkpoint": "x"},
            TypeError,
            "checkpoint must be None for estimators that are not peckorder's own; got ",
        ),
        (
            PRank(),
            STREAM,
            {"checkpoint": "/nowhere/at/all"},
            FileNotFoundError,
            "checkpoint must be in a folder that exists; got '/nowhere/at/all'",
        ),
        (
            PRank(),
            STREAM,
            {"checkpoint": "/"},
            IsADirectoryError,
            "checkpoint must be a file, not a folder; got '/'",
        ),
    ],
)
def test_what_cannot_be(estimator, stream, options, error, message):
    with pytest.raises(error, match=f"^fit: {message}"):
        fit(estimator, stream, **options)


def test_parameters_that_cannot_be_saved_are_refused_before_any_work(tmp_path):
    reported = []
    model = WidrowHoff(random_state=np.random.RandomState(0))
    with pytest.raises(TypeError, match="random_state must be None or an integer to be"):
        fit(model, STREAM, checkpoint=tmp_path / "f", progress=lambda *_: reported.append(1))
    assert reported == []
