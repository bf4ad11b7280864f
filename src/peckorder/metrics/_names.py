"""Metrics by name: "ndcg@10", "ap", "ap(top)"."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from peckorder._core.validation import did_you_mean
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
    takes_gain: bool = False
    takes_ties: bool = True
    takes_weight: bool = False
    cutoff: str | None = None
    needs_cutoff: bool = False


KINDS: Final = {
    "ap": Kind(average_precision, takes_good=True),
    "rr": Kind(reciprocal_rank, takes_good=True, cutoff="k"),
    "prot": Kind(predicted_rank_of_top),
    "coverage": Kind(coverage, takes_good=True),
    "p": Kind(precision_at, takes_good=True, cutoff="k", needs_cutoff=True),
    "recall": Kind(recall_at, takes_good=True, cutoff="k", needs_cutoff=True),
    "hits": Kind(hits_at, takes_good=True, cutoff="k", needs_cutoff=True),
    "rank": Kind(expected_rank, False, takes_good=True, cutoff="cap"),
    "ndcg": Kind(ndcg, takes_gain=True, cutoff="k"),
    "tau": Kind(kendall_tau, takes_weight=True),
    "disagreement": Kind(disagreement, False, takes_weight=True),
    "misranking": Kind(misranking, False, takes_ties=False, takes_weight=True),
    "msd": Kind(mean_squared_difference, False, takes_ties=False, takes_weight=True),
    "mad": Kind(mean_absolute_difference, False, takes_ties=False, takes_weight=True),
}
_ALIASES: Final = {kind.function.__name__: word for word, kind in KINDS.items()} | {
    "map": "ap",
    "mrr": "rr",
    "precision": "p",
    "reciprocal": "rr",
    "success": "hits",
    "kendall": "tau",
}
# A word, a cut-off, and in brackets what is good or the gain.
_GRAMMAR = re.compile(r"([a-z_]+)(?:@(\d+))?(?:\(([^()]+)\))?")
_GRADE = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with its cut-off and its good rows, ready to be asked."""

    name: str
    kind: Kind
    options: dict[str, Any]

    def per_query(
        self,
        y_true: Any,
        y_score: Any,
        qid: Any,
        lists: Any,
        sample_weight: Any = None,
        undefined: str = "skip",
    ) -> Any:
        """Return a value a query; NaN where it is undefined.

        `lists` are the same rows, sorted once for all metrics that rank them.
        """
        more = {"undefined": undefined}
        if self.kind.takes_weight:
            more["sample_weight"] = sample_weight
        if self.kind.takes_ties:
            return self._call(lists, None, per_query=True, **more)
        return self._call(y_true, y_score, qid=qid, per_query=True, **more)

    def check_weighable(self, who: str) -> None:
        """Refuse weights of rows if there is no place for them."""
        if not self.kind.takes_weight:
            words = [word for word, kind in KINDS.items() if kind.takes_weight]
            raise ValueError(
                f"{who}: names must be metrics of pairs, {', '.join(words)}, with "
                f"sample_weight; got {self.name!r}."
            )

    def mean(self, y_true: Any, y_score: Any, qid: Any) -> float:
        """Return the mean over queries."""
        return float(self._call(y_true, y_score, qid=qid))

    def _call(self, *arguments: Any, **more: Any) -> Any:
        return partial(self.kind.function, **self.options)(*arguments, **more)


def metrics_by_name(who: str, names: Any) -> list[Metric]:
    """Read one name or several."""
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, Iterable) or not (names := list(names)):
        raise ValueError(
            f"{who}: names must be one metric or several, such as 'ap' or ['ap', "
            f"'ndcg@10']; got {names!r}."
        )
    return [metric_by_name(who, name) for name in names]


def metric_by_name(who: str, name: Any, what: str = "names") -> Metric:
    """Read a name; refuse it, called `what`, in a sentence that tells those near it."""
    found = _GRAMMAR.fullmatch(name.lower()) if isinstance(name, str) else None
    word = found[1] if found else ""
    kind = KINDS.get(_ALIASES.get(word, word))
    rule = "a metric such as 'ap', 'ap(top)', 'ndcg@10'"
    if found is None or kind is None:
        words = ", ".join(map(repr, KINDS))
        hint = did_you_mean(re.split(r"[@(]", str(name))[0], KINDS, _ALIASES)
        raise ValueError(
            f"{who}: {what} must be {rule}; got {name!r}.{hint} There are {words}."
        )
    options: dict[str, Any] = {}
    cutoff, in_brackets = found[2], found[3]
    if (cutoff is None and kind.needs_cutoff) or (cutoff and kind.cutoff is None):
        rule = (
            f"with a cut-off, as in '{word}@10'" if kind.cutoff else "without a cut-off"
        )
        raise ValueError(f"{who}: the name of {word!r} must be {rule}; got {name!r}.")
    if cutoff is not None and int(cutoff) < 1:
        raise ValueError(f"{who}: the cut-off must be >= 1; got {name!r}.")
    if cutoff:
        options[str(kind.cutoff)] = int(cutoff)
    if in_brackets:
        options |= _in_brackets(who, name, kind, in_brackets)
    return Metric(name, kind, options)


def _in_brackets(who: str, name: str, kind: Kind, text: str) -> dict[str, Any]:
    """Read what is good, or the gain."""
    if kind.takes_gain and text in {"linear", "exponential"}:
        return {"gain": text}
    if kind.takes_good and text == "top":
        return {"good": text}
    if kind.takes_good and _GRADE.fullmatch(text):
        return {"good": float(text)}
    rule = "without brackets"
    if kind.takes_good:
        rule = "with what is good in brackets, a grade or 'top'"
    elif kind.takes_gain:
        rule = "with 'linear' or 'exponential' in brackets, if any"
    raise ValueError(f"{who}: the metric must be {rule}; got {name!r}.")
