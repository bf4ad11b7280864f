"""What any fitted model says of rows, as scores."""

from typing import Any

import numpy as np

from peckorder._core.typing import Floats
from peckorder.ordinal.multiclass_perceptron import MulticlassPerceptron


def scores_of(model: Any, X: Any) -> Floats:
    """Return a score for each row, larger is better.

    Of an ordinal model it is what is compared with thresholds, or the mean rank of the
    voted rule, or the place of the predicted class.
    """
    if hasattr(model, "rank"):
        return np.asarray(model.predict(X))
    if isinstance(model, MulticlassPerceptron):
        places = np.argmax(model.decision_function(X), axis=1)
        return np.asarray(places, dtype=np.float64)
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    if hasattr(model, "mean_rank"):
        return np.asarray(model.mean_rank(X))
    raise ValueError(
        "rank: the model must score rows of features, or people's items; got "
        f"{type(model).__name__}."
    )
