"""Two rankings of the same queries compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from peckorder._core.typing import Ints
from peckorder._core.validation import whole
from peckorder.exceptions import DataError
from peckorder.metrics._evaluate import SEED, Evaluation
from peckorder.metrics._frames import frame, table
from peckorder.metrics._resampling import chances, intervals, weighted_means


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
        return table(
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
        return frame("pandas", self._rows())

    def to_polars(self) -> Any:
        """Return the table as a polars frame."""
        return frame("polars", self._rows())

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
            raise TypeError(
                f"compare: {what} must be what evaluate returns; got an object of type "
                f"{type(value).__name__}."
            )
    whole(1).check("compare", "n_bootstrap", n_bootstrap)
    whole(1).check("compare", "n_permutations", n_permutations)
    SEED.check("compare", "random_state", random_state)
    names, places = _aligned(a, b)
    gaps = np.stack([a.values[name] - b.values[name][places] for name in names])
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
    names = [name for name in a.values if name in b.values]
    if not names:
        raise DataError(
            f"compare: b must have a metric of a, {', '.join(a.values)}; got "
            f"{', '.join(b.values)}."
        )
    place = {query: i for i, query in enumerate(b.queries.tolist())}
    queries = a.queries.tolist()
    missing = next((query for query in queries if query not in place), None)
    if len(place) != len(queries) or missing is not None:
        got = f"{len(place)}" if missing is None else f"none called {missing!r}"
        raise DataError(
            f"compare: b must be of the same {len(queries)} queries as a; got {got}."
        )
    places = np.array([place[query] for query in queries])
    if not np.array_equal(a.weight, b.weight[places]):
        raise DataError("compare: query_weight must be the same for both; got others.")
    return names, places
