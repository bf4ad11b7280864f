"""A small model of every form that can be saved, what to ask it, how it goes on."""

from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from peckorder import (
    AggregatePRank,
    CalibratedOrdinal,
    MPRank,
    MPRankCV,
    MulticlassPerceptron,
    OrdinalBoost,
    PRank,
    Preferences,
    RankBoost,
    Ratings,
    SVRank,
    TableRanker,
    WidrowHoff,
)
from peckorder.collaborative import (
    Correlation,
    ItemMean,
    MinNormRegression,
    NearestRanker,
    PersonalRanker,
    VectorSimilarity,
)
from peckorder.tables.answers import Cuts, LabelScale
from peckorder.third_party import Ridge

_random = np.random.RandomState(7)
# Sixteenths, so that sums are the same on any machine.
X = _random.randint(-16, 17, (48, 3)) / 16.0
NEW = _random.randint(-16, 17, (24, 3)) / 16.0
SPARSE = sparse.csr_array(np.where(np.abs(X) > 0.4, X, 0.0))
_height = X @ [2.0, -1.0, 0.5] + _random.randint(-4, 5, 48) / 16.0
Y = np.digitize(_height, [-1.5, 0.0, 1.5]) + 1
RELEVANCE = np.round(_height * 16.0) / 16.0
QUERY = _random.randint(0, 4, 48)
WEIGHT = _random.randint(0, 3, 48).astype(np.float64)
MISSING = np.where(_random.rand(48, 3) < 0.2, np.nan, X)
WORDS = np.array(["poor", "fair", "good", "great"])
DAYS = np.array([date(2020, 1, d) for d in (1, 5, 9, 30)], dtype=object)

_table = _random.randint(1, 6, (20, 9)).astype(np.float64)
VIEWERS = np.where(_random.rand(20, 9) < 0.4, np.nan, _table)
PERSON = np.where(np.arange(20) < 12, _random.randint(1, 6, 20), np.nan)
_who, _what = np.nonzero(_random.rand(14, 10) < 0.6)
RATINGS = Ratings(
    np.array([f"u{i:02}" for i in range(14)], dtype=object)[_who],
    _what * 10,
    1.0 + (_who + _what + _random.randint(0, 3, len(_who))) % 5,
)


PAIRS = Preferences([1, 2, 3, 40], [5, 6, 5, 2], weight=[1.0, 2.0, 1.0, 3.0], size=[2, 0, 1, 3])


class Case(NamedTuple):
    """How a model is fitted, what it is asked, and how it is taught more, if it can."""

    fit: Callable[[], Any]
    ask: Callable[[Any], list[Any]]
    go_on: Callable[[Any], Any] | None = None


def _ordinal(model: Any, rows: Any = X, y: Any = Y) -> Case:
    half = 30

    def ask(fitted: Any) -> list[Any]:
        asked = NEW if not sparse.issparse(rows) else sparse.csr_array(NEW)
        answers = [fitted.predict(asked), fitted.classes_]
        methods = ("decision_function", "mean_rank", "predict_proba")
        known = [name for name in methods if hasattr(fitted, name)]
        return answers + [getattr(fitted, name)(asked) for name in known]

    return Case(
        lambda: model.fit(rows[:half], y[:half]),
        ask,
        lambda fitted: fitted.partial_fit(rows[half:], y[half:]),
    )


def _calibrated(model: Any, y: Any = Y) -> Case:
    def ask(fitted: Any) -> list[Any]:
        return [fitted.predict(NEW), fitted.predict_proba(NEW), fitted.decision_function(NEW)]

    return Case(lambda: model.fit(X, y), ask)


def _given_kernel(model: Any) -> Case:
    """Return the case of a model that is given kernels."""
    K, y = X @ X.T, RELEVANCE
    y = Y if isinstance(model, PRank | AggregatePRank) else y
    return Case(lambda: model.fit(K, y), lambda m: [m.predict(NEW @ X.T)])


def _scored(
    model: Any, rows: Any = X, go_on: Any = None, y: Any = RELEVANCE, **options: Any
) -> Case:
    return Case(
        lambda: model.fit(rows, y, **options),
        lambda m: [m.predict(NEW), m.predict(sparse.csr_array(NEW))],
        go_on,
    )


def _streamed(model: Any, **options: Any) -> Case:
    return Case(
        lambda: model.partial_fit(X[:30], RELEVANCE[:30], **options),
        lambda m: [m.predict(NEW), m.coef_ if hasattr(m, "coef_") else m.dual_coef_],
        lambda m: m.partial_fit(X[30:], RELEVANCE[30:], **options),
    )


def _boosted(model: Any, y: Any = Y, rows: Any = X, **options: Any) -> Case:
    def more(fitted: Any) -> Any:
        return fitted.set_params(n_rounds=25).fit(rows, y, **options)

    def ask(fitted: Any) -> list[Any]:
        one_query = np.zeros(len(NEW))
        return [fitted.predict(NEW), fitted.explain(NEW), fitted.rank(NEW, one_query)]

    is_warm = model.warm_start
    return Case(lambda: model.fit(rows, y, **options), ask, more if is_warm else None)


def _by_learners(weak: Any, rows: Any = X) -> Case:
    """Return the case of a model whose weak learners are estimators of ours."""
    model = RankBoost(n_rounds=5, weak=weak, alpha="numeric", warm_start=True)

    def ask(fitted: Any) -> list[Any]:
        values = [ranking(rows[:20]) for ranking in fitted.own_rankings_]
        return [fitted.predict(NEW), fitted.weak_rankers_["feature"], *values]

    # A model of its own each time: some tests go on learning.
    return Case(
        lambda: clone(model).fit(rows, Y), ask, lambda m: m.set_params(n_rounds=9).fit(rows, Y)
    )


def _boosted_classes(rows: Any = X, y: Any = Y, weight: Any = None, **options: Any) -> Case:
    model = OrdinalBoost(min_samples_leaf=2, random_state=0, **{"n_rounds": 12} | options)

    def ask(fitted: Any) -> list[Any]:
        answers = [fitted.predict(NEW), fitted.predict_proba(NEW), fitted.classes_]
        return [*answers, *fitted.staged_decision_function(NEW)]

    def more(fitted: Any) -> Any:
        return fitted.set_params(n_rounds=25).fit(rows, y, sample_weight=weight)

    is_warm = model.warm_start
    fit = lambda: model.fit(rows, y, sample_weight=weight)  # noqa: E731
    return Case(fit, ask, more if is_warm else None)


def _viewers(model: Any) -> Case:
    return Case(lambda: model.fit(VIEWERS, PERSON), lambda m: [m.predict(VIEWERS)])


def _personal(model: Any) -> Case:
    def fit() -> Any:
        model.fit(RATINGS).fit_people(["u00", "u03"])
        return model.update("new", 10, 4.0).update("new", 20, 1.0).update("new", 40, 2.0)

    def ask(fitted: Any) -> list[Any]:
        scores = [fitted.predict(user) for user in ("u00", "u01", "u03", "new")]
        return [*scores, fitted.recommend("new").items, fitted.users_, fitted.items_]

    return Case(fit, ask, lambda m: m.update("new", 30, 5.0).update("u01", 0, 2.0))


def _table(model: Any, y: Any = RELEVANCE, *, text: bool = False, answer: Any = None) -> Case:
    """Return the case of columns as they are in a file, with gaps, with text."""

    def columns(rows: Any) -> Any:
        if not text:
            return rows
        kinds = np.array(["red", "blüe", None], dtype=object)
        return np.c_[rows.astype(object), kinds[np.arange(len(rows)) % 3]]

    def ask(fitted: Any) -> list[Any]:
        asked = columns(np.where(NEW > 0.9, np.nan, NEW) if fitted.scale else NEW)
        answers = [fitted.predict(asked), fitted.prepare(asked)]
        if hasattr(fitted, "decision_function") and answer is not None:
            answers += [fitted.decision_function(asked), fitted.classes_]
        return answers

    gaps = np.where(X < -0.9, np.nan, X) if model.scale else X

    def fit() -> Any:
        fitted = model.fit(columns(gaps), y)
        # As the command line learns it on rows left out.
        fitted.answer_ = answer
        return fitted

    return Case(fit, ask)


def _of_every_kind(model: Any) -> Case:
    """Return the case of a table with a column of every kind, of texts that are rare too."""
    k = np.arange(120)
    size = k % 17 / 16.0
    columns = [
        size,
        [f"shop {j}" for j in k * k % 29],
        [f"{j}%" if j % 7 else None for j in k % 50],
        [f"2024-{1 + j % 12:02}-{1 + j % 28:02} {j % 24}:30" for j in k],
        [("low", "medium", "high")[j % 3] for j in k],
        ["pink" if j == 5 else ("red", "blüe")[j % 2] for j in k],
        [f"{j:03}" for j in k],
        k % 2 == 0,
    ]
    table = np.array(columns, dtype=object).T
    new = table[::-7].copy()
    new[3, 1], new[4, 5], new[5, 4] = "shop 99", "green", "odd"

    def fit() -> Any:
        return model.fit(table, size + (k * k % 29) / 8.0)

    return Case(fit, lambda m: [m.predict(new), m.prepare(new), m.prepare(table[:9])])


_few = partial(AggregatePRank, n_estimators=5, random_state=0, n_jobs=1)
_poly = {"kernel": "poly", "gamma": 1.0}
_rbf = {"kernel": "rbf", "gamma": 0.5}


def _permuted(**options: Any) -> Case:
    # Permutations are of all rows: there are no more to learn.
    return _ordinal(_few(sampling="permutation", max_iter=2, **options))._replace(go_on=None)


CASES: dict[str, Case] = {
    "prank": _ordinal(PRank()),
    "prank-last": _ordinal(PRank(rule="last", fit_intercept=False, unit_norm=False)),
    "prank-voted": _ordinal(PRank(rule="voted")),
    "prank-voted-sparse": _ordinal(PRank(rule="voted"), SPARSE),
    "prank-voted-single": _ordinal(PRank(rule="voted"), X.astype(np.float32)),
    "prank-poly": _ordinal(PRank(**_poly)),
    "prank-poly-last": _ordinal(PRank(**_poly, rule="last")),
    "prank-poly-voted": _ordinal(PRank(**_poly, rule="voted")),
    "prank-rbf": _ordinal(PRank(**_rbf)),
    "prank-rbf-sparse": _ordinal(PRank(**_rbf), SPARSE),
    "prank-rbf-voted": _ordinal(PRank(**_rbf, rule="voted")),
    "prank-budget": _ordinal(PRank(budget=6)),
    "prank-budget-last": _ordinal(PRank(budget=6, rule="last")),
    "prank-projection": _ordinal(PRank(update="projection", C=0.25)),
    "prank-projection-rbf": _ordinal(PRank(**_rbf, update="projection", C=None)),
    "prank-projection-voted": _ordinal(PRank(update="projection", rule="voted"), SPARSE),
    "prank-romma": _ordinal(PRank(update="romma", rule="last")),
    "prank-romma-poly": _ordinal(PRank(**_poly, update="romma")),
    "prank-words": _ordinal(PRank(classes=WORDS.tolist()), y=WORDS[Y - 1]),
    "prank-days": _ordinal(PRank(classes=DAYS), y=DAYS[Y - 1]),
    "prank-floats": _ordinal(PRank(), y=Y / np.float32(2)),
    "prank-precomputed": _given_kernel(PRank(kernel="precomputed")),
    "aggregate-bayes-point": _ordinal(_few()),
    "aggregate-averaged": _ordinal(_few(member_rule="averaged")),
    "aggregate-averaged-voted": _ordinal(_few(member_rule="averaged", aggregate="voted")),
    "aggregate-bagging": _ordinal(_few(aggregate="bagging")),
    "aggregate-voted": _ordinal(_few(aggregate="voted")),
    "aggregate-median": _ordinal(_few(aggregate="median")),
    "aggregate-poisson": _ordinal(_few(sampling="poisson", aggregate="voted")),
    "aggregate-permutation": _permuted(member_rule="averaged"),
    "aggregate-permutation-rbf": _permuted(**_rbf),
    "aggregate-permutation-poly": _permuted(**_poly),
    "aggregate-poly": _ordinal(_few(**_poly)),
    "aggregate-rbf": _ordinal(_few(**_rbf, aggregate="voted")),
    "aggregate-budget": _ordinal(_few(budget=4), SPARSE),
    "widrow-hoff": _ordinal(WidrowHoff(eta=0.25, step="normalized")),
    "widrow-hoff-averaged": _ordinal(WidrowHoff(rule="averaged")),
    "widrow-hoff-poly": _ordinal(WidrowHoff(**_poly, step="normalized")),
    "widrow-hoff-rbf": _ordinal(WidrowHoff(**_rbf), SPARSE),
    "widrow-hoff-rbf-averaged": _ordinal(WidrowHoff(**_rbf, rule="averaged")),
    "perceptron": _ordinal(MulticlassPerceptron()),
    "perceptron-averaged": _ordinal(MulticlassPerceptron(rule="averaged")),
    "perceptron-poly": _ordinal(MulticlassPerceptron(**_poly, update="uniform")),
    "perceptron-rbf-averaged": _ordinal(MulticlassPerceptron(**_rbf, rule="averaged")),
    "calibrated": _calibrated(CalibratedOrdinal(MPRank(C=10.0), cv=3)),
    "calibrated-words": _calibrated(
        CalibratedOrdinal(PRank(), classes=WORDS.tolist()), WORDS[Y - 1]
    ),
    "mprank": _scored(MPRank(C=10.0)),
    "mprank-sparse": _scored(MPRank(C=10.0), SPARSE),
    "mprank-rbf": _scored(MPRank(C=10.0, **_rbf), qid=QUERY, sample_weight=WEIGHT),
    "mprank-poly-sparse": _scored(MPRank(C=10.0, **_poly), SPARSE),
    "mprank-precomputed": _given_kernel(MPRank(kernel="precomputed")),
    "mprank-stream": _streamed(MPRank(C=10.0)),
    "mprank-stream-rbf": _streamed(MPRank(C=10.0, max_iter=1, **_rbf)),
    "mprank-stream-queries": _streamed(MPRank(), qid=np.arange(30) % 3)._replace(
        go_on=lambda m: m.partial_fit(X[30:], RELEVANCE[30:], qid=QUERY[30:])
    ),
    "mprank-cv": _scored(MPRankCV(Cs=[0.1, 10.0])),
    "mprank-cv-rbf": _scored(MPRankCV(Cs=(1.0, 10.0), gammas=[0.1, 1.0], kernel="rbf")),
    "svrank": _scored(SVRank(C=10.0, power=2)),
    "svrank-rbf": _scored(SVRank(C=10.0, power=2, **_rbf), sample_weight=WEIGHT),
    "mprank-preferences": _scored(MPRank(C=10.0), y=PAIRS),
    "mprank-stream-preferences": _streamed(MPRank(C=10.0))._replace(
        fit=lambda: MPRank(C=10.0).partial_fit(X, PAIRS), go_on=lambda m: m.partial_fit(X, PAIRS)
    ),
    "mprank-preferences-rbf": _scored(MPRank(C=10.0, **_rbf), y=PAIRS),
    "mprank-cv-preferences-rbf": _scored(
        MPRankCV(Cs=(1.0, 10.0), kernel="rbf", leave_out="row"), y=PAIRS
    ),
    "svrank-preferences-rbf": _scored(SVRank(C=10.0, power=2, **_rbf), y=PAIRS),
    "rankboost": _boosted(RankBoost(n_rounds=12), qid=QUERY),
    "rankboost-warm": _boosted(RankBoost(n_rounds=12, warm_start=True), rows=MISSING),
    "rankboost-feature": _boosted(
        RankBoost(n_rounds=12, weak="feature", alpha="numeric", cumulative=False)
    ),
    "rankboost-learners": _by_learners(["threshold", MPRank(C=10.0), "feature"]),
    "rankboost-learner": _by_learners(MPRank(C=10.0, kernel="rbf")),
    "rankboost-preferences": _boosted(
        RankBoost(n_rounds=9, weak=["threshold", "feature"], alpha="numeric"),
        y=Preferences([1, 2, 3, 40], [5, 6, 7, 8], weight=[1.0, 2.0, 1.0, 3.0]),
    ),
    "rankboost-held-out": _boosted(
        RankBoost(n_rounds=12, validation_fraction=0.3, random_state=0), qid=QUERY
    ),
    "rankboost-tree": _boosted(
        RankBoost(weak="tree", n_rounds=7, max_leaf_nodes=5, min_samples_leaf=3), rows=MISSING
    ),
    "rankboost-tree-warm": _boosted(
        RankBoost(
            weak="tree",
            loss="logistic",
            pair_weight="ndcg",
            n_rounds=7,
            max_leaf_nodes=4,
            min_samples_leaf=3,
            warm_start=True,
            random_state=0,
        ),
        qid=QUERY,
    ),
    "ordinal-boost": _boosted_classes(y=WORDS[Y - 1], classes=["bad", *WORDS.tolist(), "best"]),
    "ordinal-boost-free": _boosted_classes(odds="free", rows=MISSING, categorical_features=[1]),
    "ordinal-boost-warm": _boosted_classes(
        odds="proportional", warm_start=True, weight=WEIGHT, monotonic_cst=[1, -1, 0]
    ),
    "ordinal-boost-held-out": _boosted_classes(
        odds="free", validation_fraction=0.3, n_iter_no_change=3
    ),
    "table": _table(TableRanker(MPRank(C=10.0))),
    "table-text": _table(TableRanker(PRank(classes=[1, 2, 3, 4])), Y, text=True),
    "table-kinds": _of_every_kind(TableRanker(MPRank(C=10.0))),
    "table-boosted": _table(TableRanker(RankBoost(n_rounds=7), scale=False), Y, text=True),
    "table-classes": _table(
        TableRanker(MPRank(C=10.0)), answer=Cuts(np.array([-np.inf, 0.0, 1.5]), WORDS)
    ),
    "table-label-scale": _table(
        TableRanker(RankBoost(n_rounds=7), scale=False), Y, answer=LabelScale(0.5, 3.0)
    ),
    "ridge": Case(lambda: Ridge().fit(X, RELEVANCE), lambda m: [m.predict(NEW), m.coef_]),
    "item-mean": _viewers(ItemMean(damping=2.0)),
    "min-norm": _viewers(MinNormRegression()),
    "min-norm-normalized": _viewers(MinNormRegression(normalize=True)),
    "nearest": _viewers(NearestRanker(n_neighbors=3, weights="rated")),
    "similarity": _viewers(VectorSimilarity(normalization="item")),
    "correlation": _viewers(Correlation(amplification=2.5, default_vote=2.0)),
    "personal": _personal(PersonalRanker(n_factors=2, random_state=0)),
    "personal-references": _personal(PersonalRanker(references=4)),
    "personal-estimator": _personal(
        PersonalRanker(MPRank(kernel="precomputed"), n_factors=2, random_state=0)
    ),
}
