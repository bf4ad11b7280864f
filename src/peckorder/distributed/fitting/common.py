"""What all distributed fits share: a model that learns on a worker, and its result."""

from contextlib import AbstractContextManager
from typing import Any, NoReturn, TypeVar

from sklearn.base import clone

from peckorder._core.errors import named, refusal
from peckorder.distributed.cluster.partitions import Partitions

E = TypeVar("E")


def unfitted(estimator: E) -> E:
    """Return a copy without what it has learnt, light enough to travel."""
    bare: E = clone(estimator)
    return bare


def named_after(estimator: object) -> AbstractContextManager[None]:
    """Let errors inside name the estimator, as those of its own `fit` do."""
    return named(type(estimator).__name__)


def refuse_weightless() -> NoReturn:
    """Say that no row weighs anything, as a fit in one process does."""
    raise refusal("sample_weight", "be > 0 for some row", "zero for all")


def set_features(estimator: Any, partitions: Partitions) -> None:
    """Store how many features there are, and their names if they have any."""
    estimator.n_features_in_ = partitions.n_features
    estimator.__dict__.pop("feature_names_in_", None)
    if partitions.names is not None:
        estimator.feature_names_in_ = partitions.names
