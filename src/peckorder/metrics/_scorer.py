"""Metrics as scorers for scikit-learn's model selection."""

from dataclasses import dataclass, field
from reprlib import repr as repr_
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from peckorder.exceptions import DataError
from peckorder.metrics._names import Metric, metric_by_name


@dataclass(frozen=True, repr=False)
class MetricScorer:
    """A metric by name, called as ``scorer(estimator, X, y, qid=..., offset=...)``.

    Asks for `qid` and `offset` by itself when metadata routing is on, and hands
    `offset` to `predict`, so that scores are those that the model is used with. Scorers
    of one name are equal. The cost is that of `predict` and of the metric.

    Parameters
    ----------
    name : str
        As in `evaluate`.

    Examples
    --------
    >>> from peckorder.metrics import scorer
    >>> scorer("ndcg@10")
    scorer('ndcg@10')
    >>> scorer("ndcg@10") == scorer("ndcg@10")
    True
    """

    name: str
    _metric: Metric = field(init=False, compare=False)

    def __post_init__(self) -> None:
        metric = metric_by_name("scorer", self.name)
        object.__setattr__(self, "name", str(self.name))
        object.__setattr__(self, "_metric", metric)

    def __call__(
        self, estimator: Any, X: Any, y: Any, *, qid: Any = None, offset: Any = None
    ) -> float:
        """Return the metric of what the estimator predicts; larger is better."""
        if isinstance(estimator, type) or not hasattr(estimator, "predict"):
            raise TypeError(
                "scorer: estimator must be a model that can predict; got "
                f"{repr_(estimator)}."
            )
        self._refuse_words("y", y)
        given = {} if offset is None else {"offset": offset}
        predicted = estimator.predict(X, **given)
        self._refuse_words(f"what {type(estimator).__name__} predicts", predicted)
        value = self._metric.mean(y, predicted, qid)
        return value if self._metric.kind.larger_is_better else -value

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn's routing what to hand over."""
        requests = MetadataRequest(owner=self)
        for name in ("qid", "offset"):
            requests.score.add_request(param=name, alias=True)
        return requests

    def __repr__(self) -> str:
        return f"scorer({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name,)

    def _refuse_words(self, what: str, values: Any) -> None:
        """Refuse classes that are words, whose order no metric knows."""
        try:
            first = np.asarray(values).ravel()[:1].tolist()
        except ValueError:
            return  # rows of different lengths: the metric says so
        if isinstance(next(iter(first), None), str | bytes):
            raise DataError(
                f"scorer: {what} must be numbers for {self.name!r}; got {first[0]!r}. "
                "Number the classes in their order."
            )


def scorer(name: str) -> MetricScorer:
    """Return a scorer for `cross_validate`, `GridSearchCV` and the like.

    Metrics of which less is better are negated. Rows are ranked by what `predict`
    returns: scores, or classes that are numbers. Without metadata routing no `qid`
    reaches a scorer, and all test rows then count as one list.

    Parameters
    ----------
    name : str
        As in `evaluate`: "ndcg@10", "ap(top)", "disagreement", ...

    Returns
    -------
    scorer : MetricScorer
        To be passed as ``scoring=``. With `qid`, switch on
        ``sklearn.set_config(enable_metadata_routing=True)`` and pass
        ``params={"qid": qid}``.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from peckorder.metrics import scorer
    >>> X, y = [[0], [1], [2], [3], [4], [5]], [0, 1, 2, 3, 4, 5]
    >>> cross_val_score(LinearRegression(), X, y, cv=2, scoring=scorer("tau"))
    array([1., 1.])
    """
    return MetricScorer(name)
