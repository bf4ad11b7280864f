"""A model learnt from a stream knows the names of its columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import SGDRegressor

import peckorder
from peckorder import MPRank, RankBoost
from peckorder.streams import fit, from_arrays
from support.helpers import LEARNERS, make, real_data
from support.stream_files import frame_of, written

MODELS = {
    **{name: lambda name=name: make(name) for name in LEARNERS},
    "MPRank": MPRank,
    "RankBoost": lambda: RankBoost(n_rounds=3, max_bins=8),
    "SGDRegressor": SGDRegressor,
}


@pytest.mark.parametrize("name", MODELS)
def test_frames_must_have_the_columns_of_the_stream(name, tmp_path):
    X, y = real_data(1)
    qid = np.arange(len(y)) // 6
    stream = written("parquet", tmp_path, X, y, qid, rows=11)
    frame = frame_of(X, y)[list(stream.feature_names)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(MODELS[name](), stream)
        scores = model.predict(frame)
    with warnings.catch_warnings(action="ignore"):
        assert np.array_equal(scores, model.predict(frame.to_numpy()))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])


@pytest.mark.parametrize("name", [*LEARNERS, "MPRank", "RankBoost"])
def test_checkpoints_keep_them(name, tmp_path):
    X, y = real_data(2)
    qid = np.arange(len(y)) // 6
    stream = written("csv", tmp_path, X, y, qid, rows=11)
    file = tmp_path / "kept.peckorder"

    def stop(done, total):
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(MODELS[name](), stream, checkpoint=file, progress=stop)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(MODELS[name](), stream, checkpoint=file)
    again = fit(MODELS[name](), stream, checkpoint=file)
    for one in (model, again, peckorder.load(file)):
        assert one.feature_names_in_.tolist() == list(stream.feature_names)


def test_a_frame_in_memory_has_names():
    X, y = real_data(3)
    frame = pd.DataFrame(X).add_prefix("x")
    stream = from_arrays(frame, y, rows=9)
    assert stream.feature_names == tuple(frame.columns)
    assert fit(MPRank(), stream).feature_names_in_.tolist() == list(frame.columns)
    assert from_arrays(pd.DataFrame(X), y).feature_names is None
    assert not hasattr(fit(MPRank(), from_arrays(X, y)), "feature_names_in_")
