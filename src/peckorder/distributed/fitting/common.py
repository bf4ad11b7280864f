"""What all distributed fits share: a model that learns on a worker, and its result."""

from typing import Any, NoReturn

from sklearn.base import clone

from peckorder.distributed.cluster.partitions import Partitions
from peckorder.magnitude.base import MagnitudeModel, TrainingData
from peckorder.streams.block import Block


def unfitted(estimator: Any) -> Any:
    """Return a copy without what it has learnt, light enough to travel."""
    return clone(estimator)


def read(estimator: MagnitudeModel, block: Block) -> TrainingData | None:
    """Check a partition as `fit` does; None if nothing in it weighs anything.

    Rows without weight are checked as well, so that what is refused does not depend on
    where partitions end.
    """
    is_weightless = block.weight is not None and not block.weight.any()
    weight = None if is_weightless else block.weight
    given = estimator._read(block.X, block.y, block.qid, weight, None, reset=True)
    return None if is_weightless else given


def refuse_weightless(who: str) -> NoReturn:
    """Say that no row weighs anything, as a fit in one process does."""
    from peckorder.exceptions import DataError

    raise DataError(f"{who}: sample_weight must be > 0 for some row; got zero for all.")


def check_linear(estimator: Any) -> None:
    """Refuse kernels: they would need the rows of one worker at another."""
    if estimator.kernel != "linear":
        raise ValueError(
            f"{type(estimator).__name__}: kernel must be 'linear' for a distributed "
            "fit, since kernels are of rows of different workers; got "
            f"{estimator.kernel!r}."
        )


def set_features(estimator: Any, partitions: Partitions) -> None:
    """Store how many features there are, and their names if they have any."""
    estimator.n_features_in_ = partitions.n_features
    estimator.__dict__.pop("feature_names_in_", None)
    if partitions.names is not None:
        estimator.feature_names_in_ = partitions.names
