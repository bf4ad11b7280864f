"""Which two ensembles can be made one."""

import pickle
from typing import Any

from sklearn.exceptions import NotFittedError

from peckorder._core.errors import refusal


def check_mergeable(mine: Any, other: Any) -> None:
    """Refuse an ensemble that another one cannot be merged with."""
    if type(other) is not type(mine):
        got = type(other).__name__
        raise refusal(
            "other", f"be an {type(mine).__name__}", f"an object of type {got}", error=TypeError
        )
    if not hasattr(other, "classes_"):
        hint = "Call its fit first."
        raise refusal("other", "be fitted", repr(other), hint=hint, error=NotFittedError)
    if mine._begun_with["kernel"] == "precomputed":
        raise refusal(
            "kernel",
            "be 'linear', 'poly', 'rbf' or a function to merge, since columns "
            "of two precomputed ones stand for different rows",
            "'precomputed'",
            error=ValueError,
        )

    def refused(rule: str, got: object, hint: str = "") -> Exception:
        return refusal("other", f"be {rule}", got, hint=hint, error=ValueError)

    if mine._scale != other._scale:
        hint = "Give both the same classes=."
        raise refused(f"of the classes {mine._scale}", other._scale, hint)
    if mine.n_features_in_ != other.n_features_in_:
        raise refused(f"of {mine.n_features_in_!r} features", repr(other.n_features_in_))
    names, others = (getattr(e, "feature_names_in_", None) for e in (mine, other))
    if names is not None and others is not None and any(names != others):
        raise refused(f"of the features {names.tolist()!r}", repr(others.tolist()))
    for name, value in mine._begun_with.items():
        if name != "n_estimators" and not _is_same(value, other._begun_with[name]):
            raise refused(f"one with {name}={value!r}", repr(other._begun_with[name]))


def _is_same(a: object, b: object) -> bool:
    """Whether two parameters are equal, including functions that were unpickled."""
    if a is b or a == b:
        return True
    if not (callable(a) and callable(b)):
        return False
    try:
        return pickle.dumps(a) == pickle.dumps(b)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
