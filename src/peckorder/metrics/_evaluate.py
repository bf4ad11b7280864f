"""Several metrics at once, with intervals."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.typing import Floats, Labels
from peckorder._core.validation import optional, whole
from peckorder.metrics._frames import frame, table
from peckorder.metrics._lists import UNDEFINED, RankedLists, query_weights
from peckorder.metrics._names import metrics_by_name
from peckorder.metrics._resampling import intervals, weighted_means

SEED = optional(whole(0))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Metrics of a ranking: a value a query, their means and 95 % intervals.

    Attributes
    ----------
    values : dict of str to ndarray of shape (n_queries,)
        The metrics by name, a value a query; NaN where undefined.
    queries : ndarray of shape (n_queries,)
        The ids of the queries, in the order of their first rows.
    means : dict of str to float
        The means over the queries for which a metric is defined.
    intervals : dict of str to tuple of (float, float)
        95 % bootstrap intervals of the means.
    weight : ndarray of shape (n_queries,)
        How much each query counts in the means.

    Examples
    --------
    >>> from peckorder.metrics import evaluate
    >>> qid = ["a", "a", "b", "b"]
    >>> table = evaluate([1, 0, 0, 1], [3, 1, 2, 1], ["ap", "rr"], qid=qid)
    >>> table["rr"]
    0.75
    """

    values: Mapping[str, Floats]
    queries: Labels
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    weight: Floats

    def __getitem__(self, name: str) -> float:
        """Return the mean of a metric."""
        return self.means[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.means)

    def __len__(self) -> int:
        return len(self.means)

    def __contains__(self, name: object) -> bool:
        return name in self.means

    def __str__(self) -> str:
        return table(
            ("metric", "mean", "95 % interval", "queries", "undefined"),
            [
                (
                    row["metric"],
                    f"{row['mean']:.4f}",
                    f"{row['low']:.4f} to {row['high']:.4f}",
                    str(row["queries"]),
                    str(row["undefined"]),
                )
                for row in self._rows()
            ],
        )

    __repr__ = __str__

    def to_pandas(self, *, per_query: bool = False) -> Any:
        """Return the table as a pandas frame; or a row a query, a column a metric."""
        return frame("pandas", self._columns() if per_query else self._rows())

    def to_polars(self, *, per_query: bool = False) -> Any:
        """Return the table as a polars frame; or a row a query, a column a metric."""
        return frame("polars", self._columns() if per_query else self._rows())

    def _columns(self) -> dict[str, Any]:
        ids = self.queries.tolist()
        if len(set(map(type, ids))) > 1 or not isinstance(ids[0], int | float | str):
            ids = list(map(str, ids))  # a column has one type
        return {"query": ids, **self.values}

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "metric": name,
                "mean": self.means[name],
                "low": self.intervals[name][0],
                "high": self.intervals[name][1],
                "queries": int((~np.isnan(values)).sum()),
                "undefined": int(np.isnan(values).sum()),
            }
            for name, values in self.values.items()
        ]


def evaluate(
    y_true: ArrayLike,
    y_score: ArrayLike,
    names: str | Iterable[str] = ("ndcg@10", "ap", "rr"),
    *,
    qid: Any = None,
    ties: str = "expected",
    docid: Any = None,
    sample_weight: ArrayLike | None = None,
    undefined: str = "skip",
    query_weight: Any = None,
    n_bootstrap: int = 1000,
    random_state: int | None = 0,
) -> Evaluation:
    """Return several metrics of a ranking, with 95 % intervals over queries.

    Parameters
    ----------
    y_true, y_score, qid, docid, undefined, query_weight
        As in `disagreement`; the table says how many queries were left out.
    names : str or iterable of str, default=("ndcg@10", "ap", "rr")
        "ap", "rr" (or "rr@k"), "prot", "coverage", "p@k", "recall@k", "hits@k", "rank"
        (or "rank@cap"), "ndcg" (or "ndcg@k"), "tau", "disagreement", "misranking",
        "msd", "mad"; or the names of their functions, "map", "mrr". What is good may
        follow in brackets, "ap(top)", "p@5(2)", and so may the gain,
        "ndcg@10(exponential)".
    ties : {"expected", "best", "worst", "order", "docid"}, default="expected"
        What equal scores mean, where it matters: not to "misranking", "msd", "mad".
    sample_weight : array-like of shape (n_samples,), default=None
        For metrics of pairs, a pair weighing the product of its rows' weights: "tau",
        "disagreement", "misranking", "msd", "mad". Places in a list have no weights.
    n_bootstrap : int, default=1000
        Samples of the queries, drawn with replacement, for the intervals.
    random_state : int or None, default=0
        Where these samples start.

    Returns
    -------
    evaluation : Evaluation
        A table that prints itself and turns into a pandas or polars frame. The samples
        take ``O(n_bootstrap n_queries)`` time.

    Examples
    --------
    >>> from peckorder.metrics import evaluate
    >>> y, score = [2, 1, 0, 0, 1, 0], [3.0, 2.0, 2.0, 1.0, 1.0, 0.0]
    >>> print(evaluate(y, score, ["ndcg", "ap"], qid=[1, 1, 1, 2, 2, 2]))
    metric    mean     95 % interval  queries  undefined
    ndcg    0.8953  0.8155 to 0.9751        2          0
    ap      0.8333  0.7500 to 0.9167        2          0
    """
    metrics = metrics_by_name("evaluate", names)
    whole(1).check("evaluate", "n_bootstrap", n_bootstrap)
    SEED.check("evaluate", "random_state", random_state)
    if sample_weight is not None:
        for metric in metrics:
            metric.check_weighable("evaluate")
    UNDEFINED.check("evaluate", "undefined", undefined)
    if isinstance(qid, Iterator):
        qid = list(qid)  # which is read more than once
    lists = RankedLists.of("evaluate", y_true, y_score, qid, ties, docid)
    weight = query_weights("evaluate", query_weight, lists.queries)
    values = {
        metric.name: metric.per_query(
            y_true, y_score, qid, lists, sample_weight, undefined
        )
        for metric in metrics
    }
    rows = np.stack(list(values.values()))
    means = weighted_means(rows, weight).tolist()
    bounds = intervals(rows, weight, n_bootstrap, random_state).tolist()
    return Evaluation(
        values,
        lists.queries.ids,
        dict(zip(values, means, strict=True)),
        {name: (low, high) for name, (low, high) in zip(values, bounds, strict=True)},
        weight,
    )
