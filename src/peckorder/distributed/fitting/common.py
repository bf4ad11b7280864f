"""What all distributed fits share: refusals, and the features of the model."""

from contextlib import AbstractContextManager
from typing import Any, NoReturn

from peckorder._core.errors import named, refusal
from peckorder.distributed.cluster.partitions import Partitions
from peckorder.distributed.cluster.sources import Source


def named_after(estimator: object) -> AbstractContextManager[None]:
    """Let errors inside name the estimator, as those of its own `fit` do."""
    return named(type(estimator).__name__)


def check_queries(estimator: object, source: Source) -> None:
    """Refuse data without queries for an estimator that learns pairs of rows."""
    if not source.has_queries:
        raise refusal(
            "qid",
            f"be given for {type(estimator).__name__} on a cluster, as without queries every "
            "row makes a pair with rows of all other partitions",
            "None",
        )


def refuse_weightless() -> NoReturn:
    """Refuse data without positive weights, as a fit in one process does."""
    raise refusal("sample_weight", "be > 0 for some row", "zero for all")


def set_features(estimator: Any, partitions: Partitions) -> None:
    """Store how many features there are, and their names if they have any."""
    estimator.n_features_in_ = partitions.n_features
    estimator.__dict__.pop("feature_names_in_", None)
    if partitions.names is not None:
        estimator.feature_names_in_ = partitions.names
