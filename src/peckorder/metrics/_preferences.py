"""Metrics of preferences: pairs in place of labels."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import refusal
from peckorder._core.typing import Bools, Floats, Ints, VectorLike
from peckorder._core.validation import numbers, weights
from peckorder.feedback import Preferences, Queries
from peckorder.metrics._errors import errors_of
from peckorder.metrics._lists import RankedLists, near_one


@dataclass(frozen=True, slots=True, eq=False)
class QueryPairs:
    """Listed pairs with a weight, each in a query: that of both of its rows.

    Arrays of shape (n_pairs,); weights, of pairs times those of their rows, are relative
    as `near_one`.
    """

    queries: Queries
    query: Ints
    better: Ints
    worse: Ints
    weight: Floats
    size: Floats

    @classmethod
    def of(
        cls,
        preferences: Preferences,
        n_rows: int,
        qid: VectorLike | None,
        sample_weight: ArrayLike | None,
    ) -> Self:
        """List pairs among the rows of `y_score`; refuse those across queries."""
        if preferences.last_row >= n_rows:
            rule = f"be preferences among the {n_rows} rows of y_score"
            raise refusal("y_true", rule, f"row {preferences.last_row}")
        queries = Queries.of(qid, n_rows)
        better, worse, weight = preferences.pairs()
        kept = weight > 0
        better, worse, weight = better[kept], worse[kept], weight[kept]
        of_row = queries.of_rows()
        query = of_row[better]
        is_across = query != of_row[worse]
        if is_across.any():
            pair = int(np.argmax(is_across))
            got = f"rows {better[pair]} and {worse[pair]} of two"
            raise refusal("y_true", "be preferences within queries, with qid", got)
        if len(weight):
            weight = near_one(weight, np.array([0, len(weight)]))
        if sample_weight is not None:
            row_weight = near_one(weights(sample_weight, n_rows), np.array([0, n_rows]))
            weight = weight * row_weight[better] * row_weight[worse]
        return cls(queries, query, better, worse, weight, preferences.sizes()[kept])

    def sums(self, values: Floats | Bools) -> Floats:
        """Return the weighted sum of values of pairs, per query."""
        weighted = self.weight * values
        return np.bincount(self.query, weighted, len(self.queries)).astype(np.float64)


def order_counts(
    preferences: Preferences,
    y_score: ArrayLike,
    qid: VectorLike | None,
    ties: str,
    docid: VectorLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[Queries, Floats]:
    """Return the weight of pairs per query: wrong, tied, all. Those of size 0 have no order."""
    score = numbers("y_score", y_score)
    pairs = QueryPairs.of(preferences, len(score), qid, sample_weight)
    if ties in {"order", "docid"}:
        lists = RankedLists.of(np.zeros(len(score)), score, None, ties, docid)
        score = np.empty(len(score))
        score[lists.order] = -np.arange(len(score))
    is_ordered = pairs.size > 0
    better, worse = score[pairs.better], score[pairs.worse]
    columns = (is_ordered & (better < worse), is_ordered & (better == worse), is_ordered)
    return pairs.queries, np.stack([pairs.sums(column) for column in columns], axis=1)


def size_errors(
    preferences: Preferences,
    y_score: ArrayLike,
    qid: VectorLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[Queries, Floats, Floats]:
    """Return the mean squared and the mean absolute error of differences, per query."""
    score = numbers("y_score", y_score, finite=True)
    pairs = QueryPairs.of(preferences, len(score), qid, sample_weight)
    with np.errstate(over="ignore"):
        difference = score[pairs.better] - score[pairs.worse]
    error = errors_of(pairs.size, difference, "y_score") if len(difference) else difference
    mass = pairs.sums(np.ones(len(error)))
    with np.errstate(invalid="ignore"):
        return pairs.queries, pairs.sums(error**2) / mass, pairs.sums(np.abs(error)) / mass


class Units(NamedTuple):
    """Preferences cut into parts that vary independently, for `evaluate`.

    `arguments` are those of metrics, `qid` among them being the part of each row. `kept`
    are the parts with a pair, `ids` and `weight` theirs.
    """

    kind: str
    arguments: dict[str, Any]
    kept: Ints
    ids: Ints
    weight: Floats

    @classmethod
    def of(
        cls,
        preferences: Preferences,
        y_score: ArrayLike,
        docid: VectorLike | None,
        sample_weight: ArrayLike | None,
    ) -> Self:
        """Cut into connected components or, where there is one only, into pairs."""
        score = numbers("y_score", y_score)
        pairs = QueryPairs.of(preferences, len(score), None, sample_weight)
        preferences.check_rows(len(score))
        qid = preferences.components(len(score))
        mass = np.bincount(qid[pairs.better], pairs.weight).astype(np.float64)
        kept = np.flatnonzero(mass > 0)
        if len(kept) != 1:
            arguments = {"y_true": preferences, "y_score": score, "qid": qid, "docid": docid}
            first = np.unique(qid, return_index=True)[1]
            arguments["sample_weight"] = sample_weight
            return cls("components", arguments, kept, first[kept], mass[kept])
        # Each has rows of its own, in their order, by which ties may be broken.
        n_pairs, is_first = len(pairs.better), pairs.better < pairs.worse
        rows = np.concatenate(np.sort([pairs.better, pairs.worse], axis=0))
        better = np.arange(n_pairs) + np.where(is_first, 0, n_pairs)
        worse = np.arange(n_pairs) + np.where(is_first, n_pairs, 0)
        apart = Preferences(better, worse, pairs.weight, pairs.size)
        arguments = {"y_true": apart, "y_score": score[rows], "sample_weight": None}
        arguments["qid"] = np.tile(np.arange(n_pairs), 2)
        arguments["docid"] = None if docid is None else np.asarray(docid)[rows]
        kept = np.flatnonzero(pairs.weight > 0)
        return cls("pairs", arguments, kept, kept, pairs.weight[kept])
