"""Metrics as defined: every order of equal scores is tried, and each one is measured.

A list is a sequence of rows in their ranked order, the first on top; a row is its truth
and whether it is good. Undefined values are NaN.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain, combinations, groupby, permutations, product
from math import inf, log2, nan, prod
from typing import Any

import numpy as np

from peckorder import metrics


def orders(score):
    """Yield every order of rows, by descending scores, equal ones in every way."""
    rows = sorted(range(len(score)), key=lambda i: -score[i])
    groups = [list(group) for _, group in groupby(rows, key=lambda i: score[i])]
    for broken in product(*map(permutations, groups)):
        yield list(chain.from_iterable(broken))


def as_they_stand(score):
    """Return the order in which equal scores keep that of their rows."""
    return sorted(range(len(score)), key=lambda i: -score[i])


def as_trec_eval_does(score, docid):
    """Return the order by descending scores in single precision, then names."""
    return sorted(range(len(score)), key=lambda i: (np.float32(score[i]), docid[i]), reverse=True)


def good_by(truth, good):
    """Return which rows are good, from a grade on, of the highest one, or as told."""
    if isinstance(good, list):
        return good
    limit = max(truth) if good == "top" else good
    return [value >= limit for value in truth]


def in_order(order, truth, is_good):
    return tuple((truth[i], is_good[i]) for i in order)


@lru_cache(maxsize=10_000)
def every_list(score, truth, is_good):
    """Count the lists that all orders give; kept, since many metrics ask for them."""
    return Counter(in_order(order, truth, is_good) for order in orders(score))


def ranks(rows):
    """Return the ranks of the good rows."""
    return [rank for rank, (_, is_good) in enumerate(rows, 1) if is_good]


def average_precision(rows):
    places = ranks(rows)
    return sum(k / rank for k, rank in enumerate(places, 1)) / len(places)


def reciprocal_rank(rows, k=inf):
    first = ranks(rows)[0]
    return 1 / first if first <= k else 0.0


def coverage(rows):
    return len(ranks(rows)) / ranks(rows)[-1]


def r_precision(rows):
    return precision_at(rows, len(ranks(rows)))


def bpref(rows):
    places, n_bad = ranks(rows), len(rows) - len(ranks(rows))
    most = min(len(places), n_bad)
    bad_above = [rank - k for k, rank in enumerate(places, 1)]
    lost = [min(n, len(places)) / most if most else 0.0 for n in bad_above]
    return 1 - sum(lost) / len(places)


def rank_biased_precision(rows, p):
    return (1 - p) * sum(p ** (rank - 1) for rank in ranks(rows))


def expected_reciprocal_rank(rows, highest, k=inf):
    stops = [(2**truth - 1) / 2**highest for truth, _ in rows]
    found = [
        stop * prod(1 - other for other in stops[: p - 1]) / p
        for p, stop in enumerate(stops, 1)
        if p <= k
    ]
    return sum(found) if any(stops) else nan


def graded_average_precision(rows):
    y = [truth for truth, _ in rows]
    shared = sum(sum(min(y[i], y[p]) for i in range(p + 1)) / (p + 1) for p in range(len(y)))
    return shared / sum(y) if any(y) else nan


def precision_at(rows, k):
    return sum(rank <= k for rank in ranks(rows)) / k


def recall_at(rows, k):
    return sum(rank <= k for rank in ranks(rows)) / len(ranks(rows))


def hits_at(rows, k):
    return float(ranks(rows)[0] <= k)


def expected_rank(rows, cap=inf):
    return min(ranks(rows)[0], cap)


def gained(truths, k, gain):
    gains = truths if gain == "linear" else [2**truth - 1 for truth in truths]
    return sum(g / log2(1 + p) for p, g in enumerate(gains, 1) if p <= k)


def ndcg(rows, k=inf, gain="linear"):
    truths = [truth for truth, _ in rows]
    ideal = gained(sorted(truths, reverse=True), k, gain)
    return gained(truths, k, gain) / ideal if ideal else nan


def disagreement(rows):
    pairs = [(a, b) for (a, _), (b, _) in combinations(rows, 2) if a != b]
    return sum(above < below for above, below in pairs) / len(pairs) if pairs else nan


def kendall_tau(rows):
    return 1 - 2 * disagreement(rows)


@dataclass(frozen=True)
class Metric:
    """One of our functions with its options, and the same by definition.

    `good` is what it calls good unless told; None if it knows nothing of good rows.
    """

    function: Any
    literal: Any
    good: Any = None
    options: dict = field(default_factory=dict)
    takes_good: bool = True
    larger_is_better: bool = True

    @property
    def name(self):
        return self.function.__name__

    def __call__(self, truth, score, **options):
        return self.function(truth, score, **self.options, **options)

    def of(self, order, truth, is_good):
        """Measure one order."""
        return self.of_rows(in_order(order, truth, is_good))

    def of_rows(self, rows):
        if self.good is not None and not ranks(rows):
            return nan
        return self.literal(rows, **self.options)

    def of_all(self, truth, score, is_good):
        """Return the values of all orders, and how often each list comes up."""
        lists = every_list(tuple(score), tuple(truth), tuple(is_good))
        return [self.of_rows(rows) for rows in lists], list(lists.values())


top = partial(Metric, good=1)
METRICS = {
    "average precision": top(metrics.average_precision, average_precision),
    "reciprocal rank": top(metrics.reciprocal_rank, reciprocal_rank),
    "reciprocal rank at 2": top(metrics.reciprocal_rank, reciprocal_rank, options={"k": 2}),
    "rank of top": Metric(metrics.predicted_rank_of_top, reciprocal_rank, "top", takes_good=False),
    "coverage": Metric(metrics.coverage, coverage, "top"),
    "precision at 1": top(metrics.precision_at, precision_at, options={"k": 1}),
    "precision at 3": top(metrics.precision_at, precision_at, options={"k": 3}),
    "precision at 9": top(metrics.precision_at, precision_at, options={"k": 9}),
    "recall at 1": top(metrics.recall_at, recall_at, options={"k": 1}),
    "recall at 3": top(metrics.recall_at, recall_at, options={"k": 3}),
    "hits at 1": top(metrics.hits_at, hits_at, options={"k": 1}),
    "hits at 3": top(metrics.hits_at, hits_at, options={"k": 3}),
    "expected rank": top(metrics.expected_rank, expected_rank, larger_is_better=False),
    "expected rank up to 3": top(
        metrics.expected_rank, expected_rank, options={"cap": 3}, larger_is_better=False
    ),
    "r-precision": top(metrics.r_precision, r_precision),
    "bpref": top(metrics.bpref, bpref),
    "rank-biased precision": top(
        metrics.rank_biased_precision, rank_biased_precision, options={"p": 0.7}
    ),
    "graded average precision": Metric(metrics.graded_average_precision, graded_average_precision),
    "ndcg": Metric(metrics.ndcg, ndcg),
    "ndcg at 3": Metric(metrics.ndcg, ndcg, options={"k": 3}),
    "exponential ndcg": Metric(metrics.ndcg, ndcg, options={"gain": "exponential"}),
    "exponential ndcg at 2": Metric(metrics.ndcg, ndcg, options={"gain": "exponential", "k": 2}),
    "disagreement": Metric(metrics.disagreement, disagreement, larger_is_better=False),
    "kendall tau": Metric(metrics.kendall_tau, kendall_tau),
}
OF_GOOD_ROWS = [name for name, m in METRICS.items() if m.good and m.takes_good]


def weights_of_pairs(truth, score, weight):
    """Return the weights of pairs whose truths differ: wrong, tied, all."""
    wrong = tied = total = 0.0
    for i, j in permutations(range(len(truth)), 2):
        if truth[i] < truth[j]:
            both = weight[i] * weight[j]
            total += both
            wrong += both * (score[i] > score[j])
            tied += both * (score[i] == score[j])
    return wrong, tied, total


def mean_difference(truth, score, weight, power):
    """Return the mean of |(s_j - s_i) - (y_j - y_i)|**power over all ordered pairs."""
    total = above = 0.0
    for i, j in product(range(len(truth)), repeat=2):
        gap = (score[j] - score[i]) - (truth[j] - truth[i])
        above += weight[i] * weight[j] * abs(gap) ** power
        total += weight[i] * weight[j]
    return above / total
