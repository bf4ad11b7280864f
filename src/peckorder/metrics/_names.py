"""Metrics by name: "ndcg@10", "ap", "ap(top)"."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from peckorder._validation import did_you_mean
from peckorder.metrics._cutoffs import hits_at, precision_at, recall_at
from peckorder.metrics._ndcg import ndcg
from peckorder.metrics._pairs import (
    disagreement,
    kendall_tau,
    mean_absolute_difference,
    mean_squared_difference,
    misranking,
)
from peckorder.metrics._top import (
    average_precision,
    coverage,
    expected_rank,
    predicted_rank_of_top,
    reciprocal_rank,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A metric, and what may be said of it in a name."""

    function: Callable[..., Any]
    larger_is_better: bool = True
    takes_good: bool = False
    takes_ties: bool = True
    cutoff: str | None = None
    needs_cutoff: bool = False


KINDS: Final = {
    "ap": Kind(average_precision, takes_good=True),
    "rr": Kind(reciprocal_rank, takes_good=True),
    "prot": Kind(predicted_rank_of_top),
    "coverage": Kind(coverage, takes_good=True),
    "p": Kind(precision_at, takes_good=True, cutoff="k", needs_cutoff=True),
    "recall": Kind(recall_at, takes_good=True, cutoff="k", needs_cutoff=True),
    "hits": Kind(hits_at, takes_good=True, cutoff="k", needs_cutoff=True),
    "rank": Kind(expected_rank, False, takes_good=True, cutoff="cap"),
    "ndcg": Kind(ndcg, cutoff="k"),
    "tau": Kind(kendall_tau),
    "disagreement": Kind(disagreement, False),
    "misranking": Kind(misranking, False, takes_ties=False),
    "msd": Kind(mean_squared_difference, False, takes_ties=False),
    "mad": Kind(mean_absolute_difference, False, takes_ties=False),
}
_ALIASES: Final = {
    "map": "ap",
    "average_precision": "ap",
    "mrr": "rr",
    "reciprocal_rank": "rr",
    "precision": "p",
    "kendall_tau": "tau",
    "expected_rank": "rank",
}
_GRAMMAR = re.compile(r"([a-z_]+)(?:@(\d+))?(?:\((top|-?\d+(?:\.\d+)?)\))?")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with its cut-off and its good rows, ready to be asked."""

    name: str
    kind: Kind
    options: dict[str, Any]

    def per_query(self, y_true: Any, y_score: Any, qid: Any, lists: Any) -> Any:
        """Return a value a query; NaN where it is undefined.

        `lists` are the same rows, sorted once for all metrics that rank them.
        """
        if self.kind.takes_ties:
            return self._call(lists, None, per_query=True)
        return self._call(y_true, y_score, qid=qid, per_query=True)

    def mean(self, y_true: Any, y_score: Any, qid: Any) -> float:
        """Return the mean over queries."""
        return float(self._call(y_true, y_score, qid=qid))

    def _call(self, *arguments: Any, **more: Any) -> Any:
        return partial(self.kind.function, **self.options)(*arguments, **more)


def metric_by_name(who: str, name: Any) -> Metric:
    """Read a name; refuse it in a sentence that names those near to it."""
    found = _GRAMMAR.fullmatch(name.lower()) if isinstance(name, str) else None
    word = found[1] if found else ""
    kind = KINDS.get(_ALIASES.get(word, word))
    rule = "a metric such as 'ap', 'ap(top)', 'ndcg@10'"
    if found is None or kind is None:
        words = ", ".join(map(repr, KINDS))
        hint = did_you_mean(re.split(r"[@(]", str(name))[0], KINDS, _ALIASES)
        raise ValueError(
            f"{who}: names must be {rule}; got {name!r}.{hint} There are {words}."
        )
    options: dict[str, Any] = {}
    cutoff, good = found[2], found[3]
    if (cutoff is None and kind.needs_cutoff) or (cutoff and kind.cutoff is None):
        rule = (
            f"with a cut-off, as in '{word}@10'" if kind.cutoff else "without a cut-off"
        )
        raise ValueError(f"{who}: the name of {word!r} must be {rule}; got {name!r}.")
    if cutoff is not None and int(cutoff) < 1:
        raise ValueError(f"{who}: the cut-off must be >= 1; got {name!r}.")
    if cutoff:
        options[str(kind.cutoff)] = int(cutoff)
    if good and not kind.takes_good:
        raise ValueError(
            f"{who}: the name of {word!r} must be without good rows; got {name!r}."
        )
    if good:
        options["good"] = good if good == "top" else float(good)
    return Metric(name, kind, options)
