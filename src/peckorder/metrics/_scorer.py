"""Metrics as scorers for scikit-learn's model selection."""

from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

from peckorder.metrics._names import metric_by_name


class MetricScorer:
    """A metric by name, called as ``scorer(estimator, X, y, qid=..., offset=...)``.

    Asks for `qid` and `offset` by itself when metadata routing is on, and hands
    `offset` to `predict`, so that scores are those that the model is used with.

    Examples
    --------
    >>> from peckorder.metrics import scorer
    >>> scorer("ndcg@10")
    scorer('ndcg@10')
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._metric = metric_by_name("scorer", name)

    def __call__(
        self, estimator: Any, X: Any, y: Any, *, qid: Any = None, offset: Any = None
    ) -> float:
        """Return the metric of what the estimator predicts; larger is better."""
        given = {} if offset is None else {"offset": offset}
        value = self._metric.mean(y, estimator.predict(X, **given), qid)
        return value if self._metric.kind.larger_is_better else -value

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn's routing what to hand over."""
        requests = MetadataRequest(owner=self)
        for name in ("qid", "offset"):
            requests.score.add_request(param=name, alias=True)
        return requests

    def __repr__(self) -> str:
        return f"scorer({self.name!r})"


def scorer(name: str) -> MetricScorer:
    """Return a scorer for `cross_validate`, `GridSearchCV` and the like.

    Metrics of which less is better are negated. Without metadata routing no `qid`
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
