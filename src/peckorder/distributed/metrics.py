"""Metrics of a model on a cluster, by sums over partitions."""

import math
import warnings
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from peckorder._core.errors import entry, entry_named, refusal, warn
from peckorder._core.typing import Floats, Labels, Predictor
from peckorder._core.validation import weights
from peckorder.distributed.cluster.client import (
    ReleasingClient,
    reporting_lost_scheduler,
    usable_client,
)
from peckorder.distributed.cluster.partitions import Partitions, map_partitions
from peckorder.distributed.cluster.sources import source_of
from peckorder.distributed.fitting.common import refuse_weightless
from peckorder.feedback import read_labels
from peckorder.metrics import (
    TIES,
    UNDEFINED,
    Metric,
    RankedLists,
    listed_names,
    metric_by_name,
    rank_steps,
)
from peckorder.streams.block import Block

if TYPE_CHECKING:
    from distributed import Client

# Ties by the names of documents: there is no column for them.
_TIES: Final = ("expected", "best", "worst", "order")


@dataclass(frozen=True)
class Sums:
    """What is known of a metric from some partitions: the mean is ``total / weight``.

    `n_left_out` of `n` queries have no value.
    """

    total: float
    weight: float
    n: int
    n_left_out: int = 0


@entry
def score(
    estimator: Predictor,
    data: object,
    y: object = None,
    names: str | Iterable[str] = ("ndcg@10", "ap", "rr"),
    *,
    qid: object = None,
    sample_weight: object = None,
    target: str | None = None,
    features: Iterable[str] | None = None,
    ties: str = "expected",
    undefined: str = "skip",
    client: "Client | None" = None,
) -> dict[str, float]:
    """Return metrics of a fitted model on the rows of a cluster, by partial sums.

    Workers predict their rows, which do not move, and return per metric the sum over
    their queries, or rows, and how many these are: the mean over all of them is what
    `peckorder.metrics` has for all rows at once, to rounding.

    Parameters
    ----------
    estimator : estimator
        Fitted, here or anywhere; with `predict`.
    data, y, qid, sample_weight, target, features, client
        As in `fit`; features are those of the model, if it knows names. Weights are for
        metrics of pairs, as in `evaluate`, and of rows.
    names : str or iterable of str, default=("ndcg@10", "ap", "rr")
        Metrics of lists, as in `evaluate`, which need `qid` unless there is only one
        partition. Metrics of rows: "rank_loss", the mean number of steps between true
        and predicted classes (of numbers, their mean absolute difference), "mse", the
        mean squared difference of numbers, and "accuracy", the share of rows that are
        predicted as they are. Intervals, medians and running means are no sums over
        partitions: they are not to be had here.
    ties : {"expected", "best", "worst", "order"}, default="expected"
        What equal scores mean, as in `evaluate`.
    undefined : {"skip", "zero", "raise"}, default="skip"
        What becomes of queries without a value, as in `disagreement`.

    Returns
    -------
    means : dict of str to float
        The metrics by their names. One pass; a message of 32 bytes per metric and
        partition.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from peckorder import MPRank
    >>> from peckorder.distributed import score
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, 1]
    >>> model = MPRank().fit(X, y)
    >>> with Client(processes=False, dashboard_address="127.0.0.1:0") as client:
    ...     rows = da.from_array(X, chunks=(2, 1)), da.from_array(y, chunks=2)
    ...     score(model, *rows, ["disagreement"], qid=da.from_array([1, 1, 2, 2], 2))
    {'disagreement': 0.5}
    """
    metrics: list[Metric | str] = [
        name if name in _OF_ROWS else metric_by_name(name) for name in listed_names(names)
    ]
    TIES.check("ties", ties)
    UNDEFINED.check("undefined", undefined)
    if ties not in _TIES:
        raise refusal("ties", f"be one of {_TIES}", repr(ties), error=ValueError)
    if isinstance(estimator, type) or not hasattr(estimator, "predict"):
        raise refusal("estimator", "be a model that can predict", repr(estimator), error=TypeError)
    if sample_weight is not None:
        for metric in metrics:
            if isinstance(metric, Metric):
                metric.check_weighable()
    client = usable_client(client)
    bare = copy(estimator)
    names_in = vars(bare).pop("feature_names_in_", None)
    if features is None and target is not None and names_in is not None:
        features = names_in.tolist()  # other columns may be there as well
    source = source_of(data, y, qid, sample_weight, target, features)
    with reporting_lost_scheduler(client), ReleasingClient(client) as releasing:
        partitions = map_partitions(releasing, source, sums_of, bare, metrics, ties, undefined)
        _check_names(partitions, names_in)
        _check_queries(partitions, metrics)
        sums = partitions.joined(joined)
    return {
        str(metric if isinstance(metric, str) else metric.name): _mean(metric, column)
        for metric, column in zip(metrics, sums, strict=True)
    }


def _check_names(partitions: Partitions, names: Labels | None) -> None:
    """Refuse columns that the model was not fitted on, if both have names."""
    given = partitions.names
    if names is None or given is None or names.tolist() == given.tolist():
        return
    raise refusal(
        "the features",
        f"be those of the model, {names.tolist()!r}",
        repr(given.tolist()),
        hint="Name them in features=.",
    )


def _check_queries(partitions: Partitions, metrics: list[Metric | str]) -> None:
    """Refuse lists that run across partitions."""
    if partitions.has_queries or len(partitions) == 1:
        return
    for metric in metrics:
        if isinstance(metric, Metric):
            raise refusal(
                "qid",
                f"be given for {metric.name!r}, as without queries all rows of "
                f"{len(partitions)} partitions are one list, whose places no partition "
                "knows",
                "None",
            )


@entry_named("score")
def sums_of(
    block: Block, estimator: Predictor, metrics: list[Metric | str], ties: str, undefined: str
) -> list[Sums]:
    """Return what a partition adds to each metric."""
    predicted = estimator.predict(block.X)
    weight = None
    if block.weight is not None:
        weight = weights(block.weight, len(block))
    classes = getattr(estimator, "classes_", None)
    sums, lists = [], None
    for metric in metrics:
        if isinstance(metric, str):
            losses = _OF_ROWS[metric](block.y, predicted, classes)
            sums.append(_of_rows(losses, weight))
            continue
        if lists is None:
            lists = RankedLists.of(block.y, predicted, block.qid, ties)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            values = metric.per_query(block.y, predicted, block.qid, lists, weight, undefined)
        is_known = ~np.isnan(values)
        n_known = int(is_known.sum())
        total = float(values[is_known].sum())
        sums.append(Sums(total, n_known, len(values), len(values) - n_known))
    return sums


def _of_rows(losses: Floats, weight: Floats | None) -> Sums:
    if weight is None:
        return Sums(float(losses.sum()), len(losses), len(losses))
    return Sums(float(weight @ losses), float(weight.sum()), len(losses))


def joined(sums_of_parts: list[list[Sums]]) -> list[Sums]:
    """Add the sums of partitions, in their order."""
    return [
        Sums(
            math.fsum(sums.total for sums in column),
            math.fsum(sums.weight for sums in column),
            sum(sums.n for sums in column),
            sum(sums.n_left_out for sums in column),
        )
        for column in zip(*sums_of_parts, strict=True)
    ]


def _mean(metric: Metric | str, sums: Sums) -> float:
    name = metric if isinstance(metric, str) else metric.name
    if sums.n_left_out:
        warn(
            f"{sums.n_left_out} of {sums.n} queries are left out of the mean of "
            f"{name!r}, which is not defined for them.",
            UndefinedMetricWarning,
        )
    if isinstance(metric, str) and not sums.weight > 0:
        refuse_weightless()
    return sums.total / sums.weight if sums.weight > 0 else math.nan


def _squares(y: Labels, predicted: Labels, classes: Labels | None) -> Floats:
    return np.square(rank_steps(y, predicted, None))


def _hits(y: Labels, predicted: Labels, classes: Labels | None) -> Floats:
    truth = read_labels(y)
    truth.check_length(len(predicted))
    hits: Floats = np.equal(truth.values, predicted).astype(np.float64)
    return hits


_OF_ROWS: Final[dict[str, Callable[[Labels, Labels, Labels | None], Floats]]] = {
    "rank_loss": rank_steps,
    "mse": _squares,
    "accuracy": _hits,
}
