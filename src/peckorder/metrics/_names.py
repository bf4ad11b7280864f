"""Metrics by name ("ndcg@10", "ap", "ap(top)"), and as scorers for scikit-learn."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from reprlib import repr as repr_
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest

from peckorder._core.errors import entry_named, refusal
from peckorder._core.typing import Floats, MatrixLike, Predictor, VectorLike
from peckorder._core.validation import did_you_mean
from peckorder.feedback import MISSING_LABELS, Preferences
from peckorder.metrics._errors import mae, rmse
from peckorder.metrics._lists import RankedLists, labelled
from peckorder.metrics._ordinal import macro_mae, quadratic_weighted_kappa
from peckorder.metrics._pairs import (
    disagreement,
    kendall_tau,
    mean_absolute_difference,
    mean_squared_difference,
    misranking,
    root_mean_squared_difference,
)
from peckorder.metrics._reading import (
    bpref,
    expected_reciprocal_rank,
    graded_average_precision,
    r_precision,
    rank_biased_precision,
)
from peckorder.metrics._top import (
    average_precision,
    coverage,
    expected_rank,
    hits_at,
    ndcg,
    precision_at,
    predicted_rank_of_top,
    recall_at,
    reciprocal_rank,
)


@dataclass(frozen=True, slots=True)
class MetricKind:
    """A metric, and which options its name may contain.

    `of_pairs` is what a mean over pairs compares, "order" or "size"; None for others.
    """

    function: Callable[..., Any]
    larger_is_better: bool = True
    takes_good: bool = False
    takes_gain: bool = False
    takes_patience: bool = False
    takes_ties: bool = True
    takes_weight: bool = False
    of_pairs: str | None = None
    cutoff: str | None = None
    needs_cutoff: bool = False


METRICS: Final = {
    "ap": MetricKind(average_precision, takes_good=True),
    "rr": MetricKind(reciprocal_rank, takes_good=True, cutoff="k"),
    "prot": MetricKind(predicted_rank_of_top),
    "coverage": MetricKind(coverage, takes_good=True),
    "p": MetricKind(precision_at, takes_good=True, cutoff="k", needs_cutoff=True),
    "recall": MetricKind(recall_at, takes_good=True, cutoff="k", needs_cutoff=True),
    "hits": MetricKind(hits_at, takes_good=True, cutoff="k", needs_cutoff=True),
    "rank": MetricKind(expected_rank, False, takes_good=True, cutoff="cap"),
    "ndcg": MetricKind(ndcg, takes_gain=True, cutoff="k"),
    "err": MetricKind(expected_reciprocal_rank, cutoff="k"),
    "rbp": MetricKind(rank_biased_precision, takes_patience=True),
    "rprec": MetricKind(r_precision, takes_good=True),
    "bpref": MetricKind(bpref, takes_good=True),
    "graded_ap": MetricKind(graded_average_precision),
    "tau": MetricKind(kendall_tau, takes_weight=True, of_pairs="order"),
    "disagreement": MetricKind(disagreement, False, takes_weight=True, of_pairs="order"),
    "misranking": MetricKind(
        misranking, False, takes_ties=False, takes_weight=True, of_pairs="order"
    ),
    "msd": MetricKind(
        mean_squared_difference, False, takes_ties=False, takes_weight=True, of_pairs="size"
    ),
    "rmsd": MetricKind(root_mean_squared_difference, False, takes_ties=False, takes_weight=True),
    "mad": MetricKind(
        mean_absolute_difference, False, takes_ties=False, takes_weight=True, of_pairs="size"
    ),
    "rmse": MetricKind(rmse, False, takes_ties=False, takes_weight=True),
    "mae": MetricKind(mae, False, takes_ties=False, takes_weight=True),
    "qwk": MetricKind(quadratic_weighted_kappa, takes_ties=False, takes_weight=True),
    "macro_mae": MetricKind(macro_mae, False, takes_ties=False, takes_weight=True),
}
_ALIASES: Final = {kind.function.__name__: word for word, kind in METRICS.items()} | {
    "map": "ap",
    "mrr": "rr",
    "precision": "p",
    "reciprocal": "rr",
    "success": "hits",
    "kendall": "tau",
}
# A word, a cut-off and, in brackets, what is good or the gain.
_GRAMMAR = re.compile(r"([a-z_]+)(?:@(\d+))?(?:\(([^()]+)\))?")
_GRADE = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric by its name, with the options of its function."""

    name: str
    kind: MetricKind
    options: dict[str, Any]

    def per_query(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        qid: VectorLike | None,
        lists: RankedLists,
        sample_weight: ArrayLike | None = None,
        undefined: str = "skip",
    ) -> Floats:
        """Return one value per query; NaN where it is undefined.

        `lists` are the same rows, sorted once for all metrics that rank them.
        """
        options = self.options | {"per_query": True, "undefined": undefined}
        if self.kind.takes_weight:
            options["sample_weight"] = sample_weight
        if self.kind.takes_ties:
            values: Floats = self.kind.function(lists, None, **options)
        else:
            values = self.kind.function(y_true, y_score, qid=qid, **options)
        return values

    def of_pairs(
        self, ties: str, *, docid: VectorLike | None, undefined: str = "skip", **arguments: Any
    ) -> Floats:
        """Return one value per query of preferences; NaN where it is undefined."""
        options = self.options | {"per_query": True, "undefined": undefined}
        if self.kind.takes_ties:
            options |= {"ties": ties, "docid": docid}
        values: Floats = self.kind.function(**arguments, **options)
        return values

    def check_weighable(self) -> None:
        """Refuse weights of rows if the metric does not take them."""
        if not self.kind.takes_weight:
            words = [word for word, kind in METRICS.items() if kind.takes_weight]
            raise refusal(
                "names",
                f"be metrics of pairs or rows, {', '.join(words)}, with sample_weight",
                repr(self.name),
                error=ValueError,
            )

    def check_of_pairs(self, what: str = "names") -> None:
        """Refuse preferences if the metric is no mean over pairs."""
        if self.kind.of_pairs is None:
            words = [word for word, kind in METRICS.items() if kind.of_pairs]
            raise refusal(
                what,
                f"be of pairs, {', '.join(words)}, with preferences",
                repr(self.name),
                error=ValueError,
            )

    def mean(
        self,
        y_true: ArrayLike | Preferences,
        y_score: ArrayLike,
        qid: VectorLike | None,
        missing_labels: str = "raise",
    ) -> float:
        """Return the mean over queries."""
        y_true, qid, y_score = labelled(missing_labels, y_true, qid, y_score=y_score)
        return float(self.kind.function(y_true, y_score, qid=qid, **self.options))


def listed_names(names: str | Iterable[str]) -> list[str]:
    """Return one name of a metric, or several, as a list."""
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, Iterable) or not (names := list(names)):
        raise refusal(
            "names",
            "be one metric or several, such as 'ap' or ['ap', 'ndcg@10']",
            repr(names),
            error=ValueError,
        )
    return names


def metrics_by_name(names: str | Iterable[str]) -> list[Metric]:
    """Return the metrics of one name or several."""
    return [metric_by_name(name) for name in listed_names(names)]


def metric_by_name(name: object, what: str = "names", others: Sequence[str] = ()) -> Metric:
    """Return a metric; the refusal calls the name `what` and suggests a near one.

    `others` are names that the caller knows besides, for the refusal to list.
    """
    match = _GRAMMAR.fullmatch(name.lower()) if isinstance(name, str) else None
    word = match[1] if match else ""
    kind = METRICS.get(_ALIASES.get(word, word))
    rule = "a metric such as 'ap', 'ap(top)', 'ndcg@10'"
    if not isinstance(name, str) or match is None or kind is None:
        known = list(dict.fromkeys([*METRICS, *others]))
        words = ", ".join(map(repr, known))
        hint = did_you_mean(re.split(r"[@(]", str(name))[0], known, _ALIASES)
        raise refusal(
            what, f"be {rule}", repr(name), hint=f"{hint} There are {words}.", error=ValueError
        )
    options: dict[str, Any] = {}
    cutoff, in_brackets = match[2], match[3]
    if (cutoff is None and kind.needs_cutoff) or (cutoff and kind.cutoff is None):
        rule = f"with a cut-off, as in '{word}@10'" if kind.cutoff else "without a cut-off"
        raise refusal(f"the name of {word!r}", f"be {rule}", repr(name), error=ValueError)
    if cutoff is not None and int(cutoff) < 1:
        raise refusal("the cut-off", "be >= 1", repr(name), error=ValueError)
    if cutoff:
        options[str(kind.cutoff)] = int(cutoff)
    if in_brackets:
        options |= _in_brackets(name, kind, in_brackets)
    return Metric(name, kind, options)


def _in_brackets(name: str, kind: MetricKind, text: str) -> dict[str, Any]:
    """Return the option in the brackets of a name: what is good, or the gain."""
    if kind.takes_gain and text in {"linear", "exponential"}:
        return {"gain": text}
    if kind.takes_patience and _GRADE.fullmatch(text):
        return {"p": float(text)}
    if kind.takes_good and text == "top":
        return {"good": text}
    if kind.takes_good and _GRADE.fullmatch(text):
        return {"good": float(text)}
    rule = "without brackets"
    if kind.takes_good:
        rule = "with what is good in brackets, a grade or 'top'"
    elif kind.takes_gain:
        rule = "with 'linear' or 'exponential' in brackets, if any"
    elif kind.takes_patience:
        rule = "with a probability in brackets, as in 'rbp(0.9)', if any"
    raise refusal("the metric", f"be {rule}", repr(name), error=ValueError)


@entry_named("scorer")
@dataclass(frozen=True, repr=False)
class MetricScorer:
    """A metric by name, called as ``scorer(estimator, X, y, qid=..., offset=...)``.

    Requests `qid` and `offset` when metadata routing is on, and passes `offset` to
    `predict`, so that scores are those that the model is used with. Scorers of one
    name are equal. The cost is that of `predict` and of the metric.

    Parameters
    ----------
    name : str
        As in `evaluate`.
    missing_labels : {"raise", "skip"}, default="raise"
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
    missing_labels: str = "raise"
    _metric: Metric = field(init=False, compare=False)

    def __post_init__(self) -> None:
        metric = metric_by_name(self.name)
        MISSING_LABELS.check("missing_labels", self.missing_labels)
        object.__setattr__(self, "name", str(self.name))
        object.__setattr__(self, "_metric", metric)

    def __call__(
        self,
        estimator: Predictor,
        X: MatrixLike,
        y: ArrayLike | Preferences,
        *,
        qid: VectorLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """Return the metric of what the estimator predicts; larger is better."""
        if isinstance(estimator, type) or not hasattr(estimator, "predict"):
            raise refusal(
                "estimator", "be a model that can predict", repr_(estimator), error=TypeError
            )
        if not isinstance(y, Preferences):
            self._check_numbers("y", y)
        options = {} if offset is None else {"offset": offset}
        predicted = estimator.predict(X, **options)
        self._check_numbers(f"what {type(estimator).__name__} predicts", predicted)
        value = self._metric.mean(y, predicted, qid, self.missing_labels)
        return value if self._metric.kind.larger_is_better else -value

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what scikit-learn's routing passes to the scorer."""
        requests = MetadataRequest(owner=self)
        for name in ("qid", "offset"):
            requests.score.add_request(param=name, alias=True)
        return requests

    def __repr__(self) -> str:
        if self.missing_labels == "raise":
            return f"scorer({self.name!r})"
        return f"scorer({self.name!r}, missing_labels={self.missing_labels!r})"

    def __reduce__(self) -> tuple[type["MetricScorer"], tuple[str, str]]:
        return type(self), (self.name, self.missing_labels)

    def _check_numbers(self, what: str, values: ArrayLike) -> None:
        """Refuse classes that are text, whose order is unknown."""
        try:
            first = np.asarray(values).ravel()[:1].tolist()
        except ValueError:
            return  # rows of different lengths, which the metric refuses
        if isinstance(next(iter(first), None), str | bytes):
            raise refusal(
                what,
                f"be numbers for {self.name!r}",
                repr(first[0]),
                hint="Number the classes in their order.",
            )


def scorer(name: str, missing_labels: str = "raise") -> MetricScorer:
    """Return a scorer for `cross_validate`, `GridSearchCV` and the like.

    Metrics of which less is better are negated. Rows are ranked by what `predict`
    returns: scores, or classes that are numbers. Without metadata routing no `qid`
    reaches a scorer, and all test rows then count as one list.

    Parameters
    ----------
    name : str
        As in `evaluate`: "ndcg@10", "ap(top)", "disagreement", ...
    missing_labels : {"raise", "skip"}, default="raise"
        As in `evaluate`.

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
    return MetricScorer(name, missing_labels)
