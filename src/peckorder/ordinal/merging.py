"""Which ensembles can be merged."""

import pickle
from typing import Any

from sklearn.utils.validation import check_is_fitted

# These say how many members there are, or only how to learn next time.
_FREE = frozenset({"n_estimators"})


def check_alike(mine: Any, other: Any) -> None:
    """Refuse an ensemble that another one cannot be merged with."""
    who = type(mine).__name__
    if type(other) is not type(mine):
        got = type(other).__name__
        raise TypeError(f"{who}: other must be an {who}; got an object of type {got}.")
    unfitted = f"{who}: other must be fitted; got {other!r}. Call its fit first."
    check_is_fitted(other, "classes_", msg=unfitted)
    if mine._begun_with["kernel"] == "precomputed":
        raise ValueError(
            f"{who}: kernel must be 'linear', 'poly', 'rbf' or a function to merge, "
            "since columns of two precomputed ones stand for rows of their own; got "
            "'precomputed'."
        )
    if mine._scale != other._scale:
        raise ValueError(
            f"{who}: other must be of the classes {mine._scale}; got {other._scale}. "
            "Give both the same classes=."
        )
    if mine.n_features_in_ != other.n_features_in_:
        raise ValueError(
            f"{who}: other must be of {mine.n_features_in_!r} features; got "
            f"{other.n_features_in_!r}."
        )
    names, others = (getattr(e, "feature_names_in_", None) for e in (mine, other))
    if names is not None and others is not None and any(names != others):
        raise ValueError(
            f"{who}: other must be of the features {names.tolist()!r}; got "
            f"{others.tolist()!r}."
        )
    for name, value in mine._begun_with.items():
        if name not in _FREE and not _is_same(value, other._begun_with[name]):
            raise ValueError(
                f"{who}: other must be one with {name}={value!r}; got "
                f"{other._begun_with[name]!r}."
            )


def _is_same(a: Any, b: Any) -> bool:
    """Whether two parameters are equal, functions that came from elsewhere included."""
    if a is b or a == b:
        return True
    if not (callable(a) and callable(b)):
        return False
    try:
        return pickle.dumps(a) == pickle.dumps(b)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
