"""What a fitted model says of rows: classes, places, and what each feature adds."""

from typing import Any

import numpy as np
from scipy import sparse as sp

from peckorder._core.errors import refusal
from peckorder._core.typing import Floats, Labels, Predictor
from peckorder.boosting.rankboost import RankBoost
from peckorder.ordinal.multiclass_perceptron import MulticlassPerceptron


def scores_of(model: Predictor, X: Any) -> Floats:
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
    raise refusal(
        "the model",
        "score rows of features, or people's items",
        type(model).__name__,
        error=ValueError,
    )


def classes_of(model: Predictor, X: Any) -> Labels | None:
    """Return the predicted classes of an ordinal model; None of others."""
    return np.asarray(model.predict(X)) if gives_classes(model) else None


def gives_classes(model: object) -> bool:
    """Say whether a fitted ranker predicts classes, not only scores."""
    return hasattr(model, "classes_") and not hasattr(model, "rank")


def contributions(model: Any, X: Any) -> tuple[Floats, Floats]:
    """Return what each feature adds to the scores of rows, and the constant part.

    Their sum is the score. Of RankBoost these are the sums of its rankings by feature;
    of a linear model ``coef * x``, x scaled to length one with its constant where the
    model does so. Others cannot be taken apart.

    Examples
    --------
    >>> import peckorder
    >>> from peckorder.tables.scoring import contributions
    >>> model = peckorder.MPRank().fit([[0.0], [1.0]], [0, 2])
    >>> added, constant = contributions(model, [[2.0]])
    >>> bool(abs(added.sum() + constant[0] - model.predict([[2.0]])[0]) < 1e-12)
    True
    """
    if isinstance(model, RankBoost):
        added = model.explain(X)
        return added, model.predict(X) - added.sum(axis=1)
    coef = getattr(model, "coef_", None)
    if coef is None or np.ndim(coef) != 1:
        raise refusal(
            "the model",
            "be RankBoost, PersonalRanker or linear with one weight per feature",
            " ".join(repr(model).split()),
            error=ValueError,
        )
    rows = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    constant = np.full(len(rows), float(getattr(model, "intercept_", 0.0)))
    if getattr(model, "unit_norm", False):
        squares = np.einsum("ij,ij->i", rows, rows) + bool(model.fit_intercept)
        length = np.sqrt(np.where(squares > 0.0, squares, 1.0))
        rows, constant = rows / length[:, None], constant / length
    return rows * coef, constant
