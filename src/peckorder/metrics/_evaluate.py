"""Several metrics at once, with intervals, and two rankings compared."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from peckorder._typing import Floats, Labels
from peckorder._validation import whole
from peckorder.exceptions import DataError, MissingExtraError
from peckorder.metrics._lists import RankedLists
from peckorder.metrics._names import metric_by_name

# Values drawn at a time in a bootstrap.
_CELLS = 1 << 21


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
        return _table(
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

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        return _frame("pandas", self._rows())

    def to_polars(self) -> Any:
        """Return the table as a polars frame."""
        return _frame("polars", self._rows())

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


@dataclass(frozen=True, eq=False)
class PairedComparison:
    """Differences between two rankings of the same queries, metric by metric.

    Attributes
    ----------
    differences : dict of str to float
        Mean of the first minus mean of the second, over queries where both are
        defined.
    intervals : dict of str to tuple of (float, float)
        95 % bootstrap intervals of these.
    p_values : dict of str to float
        How often a difference at least as large comes about if, for each query, it is
        decided by a coin which ranking is which.

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

    def __str__(self) -> str:
        return _table(
            ("metric", "difference", "95 % interval", "p"),
            [
                (
                    row["metric"],
                    f"{row['difference']:+.4f}",
                    f"{row['low']:+.4f} to {row['high']:+.4f}",
                    f"{row['p']:.4f}",
                )
                for row in self._rows()
            ],
        )

    __repr__ = __str__

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        return _frame("pandas", self._rows())

    def to_polars(self) -> Any:
        """Return the table as a polars frame."""
        return _frame("polars", self._rows())

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


def evaluate(
    y_true: ArrayLike,
    y_score: ArrayLike,
    names: str | Iterable[str] = ("ndcg@10", "ap", "rr"),
    *,
    qid: Any = None,
    ties: str = "expected",
    docid: Any = None,
    n_bootstrap: int = 1000,
    random_state: int | None = 0,
) -> Evaluation:
    """Return several metrics of a ranking, with 95 % intervals over queries.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid
        As in `disagreement`.
    names : str or iterable of str, default=("ndcg@10", "ap", "rr")
        "ap", "rr", "prot", "coverage", "p@k", "recall@k", "hits@k", "rank" (or
        "rank@cap"), "ndcg" (or "ndcg@k"), "tau", "disagreement", "misranking", "msd",
        "mad". What is good may follow in brackets: "ap(top)", "p@5(2)".
    n_bootstrap : int, default=1000
        Samples of the queries, drawn with replacement, for the intervals.
    random_state : int or None, default=0
        Where these samples start.

    Returns
    -------
    evaluation : Evaluation
        A table that prints itself and turns into a pandas or polars frame.

    Examples
    --------
    >>> from peckorder.metrics import evaluate
    >>> y, score = [2, 1, 0, 0, 1, 0], [3.0, 2.0, 2.0, 1.0, 1.0, 0.0]
    >>> print(evaluate(y, score, ["ndcg", "ap"], qid=[1, 1, 1, 2, 2, 2]))
    metric    mean     95 % interval  queries  undefined
    ndcg    0.8953  0.8155 to 0.9751        2          0
    ap      0.8333  0.7500 to 0.9167        2          0
    """
    wanted = [names] if isinstance(names, str) else list(names)
    metrics = [metric_by_name("evaluate", name) for name in wanted]
    whole(1).check("evaluate", "n_bootstrap", n_bootstrap)
    if qid is not None and not hasattr(qid, "dtype"):
        qid = list(qid)
    lists = RankedLists.of("evaluate", y_true, y_score, qid, ties, docid)
    values = {
        metric.name: metric.per_query(y_true, y_score, qid, lists) for metric in metrics
    }
    means = {name: _mean(value) for name, value in values.items()}
    intervals = {
        name: _interval(value, n_bootstrap, random_state)
        for name, value in values.items()
    }
    return Evaluation(values, lists.queries.ids, means, intervals)


def compare(
    a: Evaluation,
    b: Evaluation,
    *,
    n_bootstrap: int = 1000,
    n_permutations: int = 10_000,
    random_state: int | None = 0,
) -> PairedComparison:
    """Return by how much one ranking is better than another, query by query.

    Parameters
    ----------
    a, b : Evaluation
        Evaluations of the same queries, with the same metrics.
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
            raise TypeError(
                f"compare: {what} must be what evaluate returns; got an object of type "
                f"{type(value).__name__}."
            )
    whole(1).check("compare", "n_bootstrap", n_bootstrap)
    whole(1).check("compare", "n_permutations", n_permutations)
    if list(a.values) != list(b.values):
        raise DataError(
            f"compare: b must be evaluated by {list(a.values)!r} as a is; got "
            f"{list(b.values)!r}."
        )
    if a.queries.tolist() != b.queries.tolist():
        raise DataError(
            f"compare: b must be of the same queries as a, {len(a.queries)} of them; "
            f"got {len(b.queries)}, or others."
        )
    gaps = {name: a.values[name] - b.values[name] for name in a.values}
    return PairedComparison(
        {name: _mean(gap) for name, gap in gaps.items()},
        {name: _interval(gap, n_bootstrap, random_state) for name, gap in gaps.items()},
        {
            name: _randomisation(gap, n_permutations, random_state)
            for name, gap in gaps.items()
        },
    )


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


def _interval(values: Floats, n_samples: int, seed: int | None) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean over queries; NaN of one alone."""
    defined = values[~np.isnan(values)]
    if defined.size < 2:
        return float("nan"), float("nan")
    rng, means = np.random.default_rng(seed), []
    size = max(1, _CELLS // defined.size)
    for first in range(0, n_samples, size):
        shape = (min(size, n_samples - first), defined.size)
        means.append(defined[rng.integers(0, defined.size, shape)].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return float(low), float(high)


def _randomisation(gaps: Floats, n_samples: int, seed: int | None) -> float:
    """Return how often random signs give a mean at least as far from zero."""
    defined = gaps[~np.isnan(gaps)]
    if defined.size == 0:
        return float("nan")
    rng, found = np.random.default_rng(seed), 0
    # What differs by rounding only is as large.
    seen = abs(defined.mean()) * (1 - 1e-12)
    size = max(1, _CELLS // defined.size)
    for first in range(0, n_samples, size):
        shape = (min(size, n_samples - first), defined.size)
        signs = rng.integers(0, 2, shape, dtype=np.int8) * 2 - 1
        found += int((np.abs(signs @ defined / defined.size) >= seen).sum())
    # The order as it is is one of the possible ones.
    return (found + 1) / (n_samples + 1)


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Lay out a table for a terminal; all but the first column to the right."""
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _frame(library: str, rows: list[dict[str, Any]]) -> Any:
    """Return rows as a frame of a library that may not be there."""
    from importlib import import_module

    try:
        frames = import_module(library)
    except ImportError:
        raise MissingExtraError(
            f"metrics: {library} must be installed for this; got none. Type "
            "pip install 'peckorder[frames]'."
        ) from None
    return frames.DataFrame(rows)
