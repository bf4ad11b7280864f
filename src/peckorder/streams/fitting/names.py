"""The names of columns, which a model remembers."""

from typing import Any

import numpy as np

from peckorder.streams.block import Stream


def name_features(model: Any, stream: Stream) -> None:
    """Store the names of the columns of a stream, if there are any.

    After learning: blocks are arrays, without names, which models that have learnt with
    names warn of.
    """
    if stream.feature_names is not None and "n_features_in_" in vars(model):
        model.feature_names_in_ = np.array(stream.feature_names, dtype=object)
