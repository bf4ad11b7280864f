"""Several metrics at once, with intervals; two rankings compared by them."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, entry_named, refusal, requiring
from peckorder._core.shown_tables import Lines, ShownAsTable
from peckorder._core.typing import Floats, Frame, Ints, Labels, VectorLike
from peckorder._core.validation import optional, whole
from peckorder.feedback import Preferences, Queries
from peckorder.metrics._lists import (
    UNDEFINED,
    RankedLists,
    WeightsOfQueries,
    labelled,
    query_weights,
)
from peckorder.metrics._names import Metric, metrics_by_name
from peckorder.metrics._preferences import Units
from peckorder.metrics._resampling import chances, intervals, weighted_means

_SEED = optional(whole(0))
_INTERVAL = "95 % interval"
_ONE_OF = {"queries": "query", "components": "component", "pairs": "pair"}


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(ShownAsTable):
    """Metrics of a ranking: one value per query, their means and 95 % intervals.

    Of preferences without queries, there is one value per connected component of pairs, or
    per pair: see `evaluate`.

    Attributes
    ----------
    values : dict of str to ndarray of shape (n_queries,)
        The metrics by name, one value per query; NaN where undefined.
    queries : ndarray of shape (n_queries,)
        The ids of the queries, in the order of their first rows.
    means : dict of str to float
        The means over the queries for which a metric is defined.
    intervals : dict of str to tuple of (float, float)
        95 % bootstrap intervals of the means.
    weight : ndarray of shape (n_queries,)
        How much each query counts in the means.
    unit : {"queries", "components", "pairs"}
        What there is one value of.

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
    unit: str = "queries"

    @classmethod
    def of(
        cls,
        values: Mapping[str, Floats],
        queries: Labels,
        weight: Floats,
        n_bootstrap: int,
        seed: int | None,
        unit: str = "queries",
    ) -> Self:
        """Return the means of values per query, and their intervals."""
        rows = np.stack(list(values.values()))
        means = weighted_means(rows, weight).tolist()
        bounds = map(tuple, intervals(rows, weight, n_bootstrap, seed).tolist())
        by_name = dict(zip(values, means, strict=True))
        bounds_by_name = dict(zip(values, bounds, strict=True))
        return cls(values, queries, by_name, bounds_by_name, weight, unit)

    def __getitem__(self, name: str) -> float:
        """Return the mean of a metric."""
        return self.means[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.means)

    def __len__(self) -> int:
        return len(self.means)

    def __contains__(self, name: object) -> bool:
        return name in self.means

    def _lines(self) -> Lines:
        return _lines(("metric", "mean", _INTERVAL, self.unit, "undefined"), self._rows())

    def to_pandas(self, *, per_query: bool = False) -> Frame:
        """Return the table as a pandas frame; or one row per query."""
        return to_frame("pandas", self._columns() if per_query else self._rows())

    def to_polars(self, *, per_query: bool = False) -> Frame:
        """Return the table as a polars frame; or one row per query."""
        return to_frame("polars", self._columns() if per_query else self._rows())

    def _columns(self) -> dict[str, Any]:
        ids = self.queries.tolist()
        if len(set(map(type, ids))) > 1 or not isinstance(ids[0], int | float | str):
            ids = list(map(str, ids))  # a column has one type
        return {_ONE_OF[self.unit]: ids, **self.values}

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "metric": name,
                "mean": self.means[name],
                "low": self.intervals[name][0],
                "high": self.intervals[name][1],
                self.unit: int((~np.isnan(values)).sum()),
                "undefined": int(np.isnan(values).sum()),
            }
            for name, values in self.values.items()
        ]


@entry
def evaluate(
    y_true: ArrayLike | Preferences,
    y_score: ArrayLike,
    names: str | Iterable[str] | None = None,
    *,
    qid: VectorLike | Iterator[Hashable] | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
    missing_labels: str = "raise",
    n_bootstrap: int = 1000,
    random_state: int | None = 0,
) -> Evaluation:
    """Return several metrics of a ranking, with 95 % intervals over queries.

    Parameters
    ----------
    y_true, y_score, qid, docid, undefined, query_weight
        As in `disagreement`; the table shows how many queries were left out. For
        preferences the names are "tau", "disagreement", "misranking", "msd" and "mad".
        Without `qid` the mean is over all pairs, and its interval over their connected
        components: rows that pairs lead to, over other rows. If there is one component
        only it is over pairs, and too narrow where these share rows.
    names : str or iterable of str, default=None
        None: "ndcg@10", "ap" and "rr", or "disagreement" of preferences. There are
        "ap", "rr" (or "rr@k"), "prot", "coverage", "p@k", "recall@k", "hits@k", "rank"
        (or "rank@cap"), "ndcg" (or "ndcg@k"), "err" (or "err@k"), "rbp" (or "rbp(p)"),
        "rprec", "bpref", "graded_ap", "tau", "disagreement", "misranking",
        "msd", "rmsd", "mad"; of scores on the scale of the targets "rmse", "mae"; of
        predicted classes, which must be numbers, "qwk", "macro_mae"; or the names of
        their functions, "map", "mrr". What is good may follow in brackets, "ap(top)",
        "p@5(2)", and so may the gain, "ndcg@10(exponential)".
    ties : {"expected", "best", "worst", "order", "docid"}, default="expected"
        What equal scores mean, where it matters: to metrics of places, "tau" and
        "disagreement".
    sample_weight : array-like of shape (n_samples,), default=None
        For metrics of pairs, a pair weighing the product of its rows' weights, "tau",
        "disagreement", "misranking", "msd", "rmsd", "mad"; and for those of rows,
        "rmse", "mae", "qwk", "macro_mae". Places in a list have no weights.
    missing_labels : {"raise", "skip"}, default="raise"
        What a missing truth is (NaN or None): refused; or no opinion on its row, which is
        then left out, as if the list had been without it ("condensed lists").
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
    if names is None:
        names = "disagreement" if isinstance(y_true, Preferences) else ("ndcg@10", "ap", "rr")
    metrics = metrics_by_name(names)
    if isinstance(y_true, Preferences):
        y_true = _comparable(y_true, metrics)
    whole(1).check("n_bootstrap", n_bootstrap)
    _SEED.check("random_state", random_state)
    if sample_weight is not None:
        for metric in metrics:
            metric.check_weighable()
    UNDEFINED.check("undefined", undefined)
    columns = {"y_score": y_score, "docid": docid, "sample_weight": sample_weight}
    y_true, qid, y_score, docid, sample_weight = labelled(missing_labels, y_true, qid, **columns)
    if isinstance(qid, Iterator):
        qid = list(qid)  # it is read more than once
    if isinstance(y_true, Preferences):
        options: dict[str, Any] = {"docid": docid, "sample_weight": sample_weight}
        if qid is None:
            if query_weight is not None:
                raise refusal("query_weight", "be left out with preferences without qid", "one")
            units = Units.of(y_true, y_score, docid, sample_weight)
            values = {m.name: m.of_pairs(ties, **units.arguments)[units.kept] for m in metrics}
            return Evaluation.of(
                values, units.ids, units.weight, n_bootstrap, random_state, units.kind
            )
        options |= {"y_true": y_true, "y_score": y_score, "qid": qid, "undefined": undefined}
        values = {metric.name: metric.of_pairs(ties, **options) for metric in metrics}
        queries = Queries.of(qid)
        weight = query_weights(query_weight, queries)
        return Evaluation.of(values, queries.ids, weight, n_bootstrap, random_state)
    lists = RankedLists.of(y_true, y_score, qid, ties, docid)
    weight = query_weights(query_weight, lists.queries)
    values = {
        metric.name: metric.per_query(y_true, y_score, qid, lists, sample_weight, undefined)
        for metric in metrics
    }
    return Evaluation.of(values, lists.queries.ids, weight, n_bootstrap, random_state)


def _comparable(preferences: Preferences, metrics: Sequence[Metric]) -> Preferences:
    """Return preferences all of whose pairs count in all metrics, or refuse."""
    for metric in metrics:
        metric.check_of_pairs()
    kinds = {metric.kind.of_pairs for metric in metrics}
    if "order" not in kinds or (preferences.sizes() > 0).all():
        return preferences
    if "size" in kinds:
        got = ", ".join(metric.name for metric in metrics)
        rule = "be of order or of sizes, not both, with pairs of size 0, which have no order"
        raise refusal("names", rule, got, error=ValueError)
    return preferences.without_sizes()


@dataclass(frozen=True, eq=False, repr=False)
class PairedComparison(ShownAsTable):
    """Differences between two rankings of the same queries, metric by metric.

    Of preferences, "queries" here may be components or pairs: see `evaluate`.

    Attributes
    ----------
    differences : dict of str to float
        Mean of the first minus mean of the second, over queries where both are
        defined.
    intervals : dict of str to tuple of (float, float)
        95 % bootstrap intervals of these.
    p_values : dict of str to float
        How often a difference at least as large comes about if the two rankings are
        swapped at random for each query.

    Examples
    --------
    >>> from peckorder.metrics import compare, evaluate
    >>> y, qid = [1, 0] * 20, [q for q in range(20) for _ in range(2)]
    >>> good, poor = evaluate(y, y, "ap", qid=qid), evaluate(y, [0] * 40, "ap", qid=qid)
    >>> compare(good, poor).p_values["ap"] < 0.001
    True
    """

    differences: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    p_values: Mapping[str, float]

    def _lines(self) -> Lines:
        return _lines(("metric", "difference", _INTERVAL, "p"), self._rows(), sign="+")

    def to_pandas(self) -> Frame:
        """Return the table as a pandas frame."""
        return to_frame("pandas", self._rows())

    def to_polars(self) -> Frame:
        """Return the table as a polars frame."""
        return to_frame("polars", self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "metric": name,
                "difference": difference,
                "low": self.intervals[name][0],
                "high": self.intervals[name][1],
                "p": self.p_values[name],
            }
            for name, difference in self.differences.items()
        ]


@entry
def compare(
    a: Evaluation,
    b: Evaluation,
    *,
    n_bootstrap: int = 1000,
    n_permutations: int = 10_000,
    random_state: int | None = 0,
) -> PairedComparison:
    """Return by how much one ranking is better than another, query by query.

    Of preferences without queries, component by component, or pair by pair: see `evaluate`.

    Parameters
    ----------
    a, b : Evaluation
        Evaluations of the same queries, in any order, weighing the same. Metrics that
        both have are compared.
    n_bootstrap : int, default=1000
        Samples of the queries for the intervals.
    n_permutations : int, default=10000
        Samples for the randomisation test, in which the two values of each query are
        swapped or not at random.
    random_state : int or None, default=0
        Where the samples start.

    Returns
    -------
    comparison : PairedComparison
        A table of the differences a - b.

    Examples
    --------
    >>> from peckorder.metrics import compare, evaluate
    >>> y, qid = [1, 0] * 20, [q for q in range(20) for _ in range(2)]
    >>> good, poor = evaluate(y, y, "ap", qid=qid), evaluate(y, [0] * 40, "ap", qid=qid)
    >>> compare(good, poor).differences
    {'ap': 0.25}
    """
    for what, value in (("a", a), ("b", b)):
        if not isinstance(value, Evaluation):
            raise refusal(
                what,
                "be what evaluate returns",
                f"an object of type {type(value).__name__}",
                error=TypeError,
            )
    whole(1).check("n_bootstrap", n_bootstrap)
    whole(1).check("n_permutations", n_permutations)
    _SEED.check("random_state", random_state)
    names, positions = _aligned(a, b)
    gaps = np.stack([a.values[name] - b.values[name][positions] for name in names])
    means = weighted_means(gaps, a.weight).tolist()
    bounds = intervals(gaps, a.weight, n_bootstrap, random_state).tolist()
    ps = chances(gaps, a.weight, n_permutations, random_state).tolist()
    return PairedComparison(
        dict(zip(names, means, strict=True)),
        {name: (low, high) for name, (low, high) in zip(names, bounds, strict=True)},
        dict(zip(names, ps, strict=True)),
    )


def _aligned(a: Evaluation, b: Evaluation) -> tuple[list[str], Ints]:
    """Return the metrics of both, and where the queries of `a` are in `b`."""
    if a.unit != b.unit:
        raise refusal(
            "b", f"have one value per {_ONE_OF[a.unit]} as a", f"one per {_ONE_OF[b.unit]}"
        )
    names = [name for name in a.values if name in b.values]
    if not names:
        raise refusal("b", f"have a metric of a, {', '.join(a.values)}", ", ".join(b.values))
    position = {query: i for i, query in enumerate(b.queries.tolist())}
    queries = a.queries.tolist()
    missing = next((query for query in queries if query not in position), None)
    if len(position) != len(queries) or missing is not None:
        got = f"{len(position)}" if missing is None else f"none called {missing!r}"
        raise refusal("b", f"be of the same {len(queries)} {a.unit} as a", got)
    positions = np.array([position[query] for query in queries])
    if not np.array_equal(a.weight, b.weight[positions]):
        raise refusal("query_weight", "be the same for both", "others")
    return names, positions


def _lines(headings: tuple[str, ...], rows: list[dict[str, Any]], sign: str = "") -> Lines:
    """Return rows of a metric, a value, its interval and more numbers as cells."""
    lines = [headings]
    for metric, value, low, high, *others in (row.values() for row in rows):
        shown = [f"{x:.4f}" if isinstance(x, float) else str(x) for x in others]
        interval = f"{low:{sign}.4f} to {high:{sign}.4f}"
        lines.append((metric, f"{value:{sign}.4f}", interval, *shown))
    return lines


@entry_named("metrics")
def to_frame(library: str, rows: object) -> Frame:
    """Return rows, or columns, as a data frame of a library if it is installed."""
    with requiring(library, "for this", "'peckorder[frames]'"):
        frame: Frame = import_module(library).DataFrame(rows)
    return frame
