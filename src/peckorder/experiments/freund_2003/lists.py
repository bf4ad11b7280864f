"""Freund et al. (2003): Table 1, lists and what is made of them; documents of OHSUMED."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator

from peckorder import RankBoost
from peckorder._core.data_files import read_toml
from peckorder._core.typing import Floats, Ints
from peckorder.datasets import (
    Documents,
    from_runs,
    load_mq2007_agg_fold,
    load_ohsumed_fold,
    load_ohsumed_trec9,
    make_letor,
)
from peckorder.experiments.framework import Claim, Measured, Part, Shown, Units, Values
from peckorder.experiments.framework.statistics import column, columns, not_behind, signed, verdict
from peckorder.experiments.freund_2003.films import Config
from peckorder.experiments.freund_2003.learners import (
    LEARNERS,
    learner_charts,
    learner_claims,
    learner_table,
    rounds_of,
    stages,
)
from peckorder.metrics import average_precision, disagreement, expected_rank, hits_at, ranks
from peckorder.reports import Table

TOPS = (1, 2, 5, 10, 20, 30)
CAP = 31
N_FOLDS = 4
FUSION = 60.0
# "As good as the best list" is behind by less than this: % of queries, and ranks.
MARGIN, RANK_MARGIN = 2.0, 0.5
HEADINGS = (*(f"top {k}" for k in TOPS), "average rank")
PRINTED = read_toml("peckorder.experiments.freund_2003", "paper.toml")["printed"]
# RankBoost minus the best single list of each column of table 1, in % of queries.
PRINTED_LEAD = {"ML": (210, (0, 1, 2, 3)), "UNIV": (290, (4, 5))}


@dataclass(frozen=True)
class Lists:
    """Ranked lists as columns: minus the rank, NaN for documents not in a list.

    `target` is 1 for the documents to be found; rows of a query are contiguous.
    """

    X: Floats
    target: Floats
    query: Ints

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return int(self.query[-1]) + 1


def targeted(documents: Documents) -> Lists:
    """Make the documents of a query's highest grade its target.

    Queries without a relevant document, or with no other, are left out.
    """
    X, y, qid = documents
    _, first, query = np.unique(qid, return_index=True, return_inverse=True)
    highest = np.zeros(len(first))
    np.maximum.at(highest, query, y)
    target = (y == highest[query]) & (y > 0)
    count = np.bincount(query, target)
    has_pairs = (count > 0) & (count < np.bincount(query))
    rows = np.flatnonzero(has_pairs[query])
    rows = rows[np.argsort(query[rows], kind="stable")]
    number = np.cumsum(has_pairs) - 1
    return Lists(np.asarray(X)[rows], target[rows].astype(float), number[query[rows]])


def load_lists(config: Config, folder: Path | None) -> Lists:
    """Return the 21 lists of MQ2007-agg, or synthetic ones."""
    if config.synthetic:
        return synthetic_lists(0)
    fold = load_mq2007_agg_fold(1, folder)
    parts = [fold.train, fold.validation, fold.test]
    columns = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return targeted(Documents(*columns))


def load_runs(config: Config, folder: Path | None) -> Lists:
    """Return the runs on OHSUMED of TREC-9, or synthetic ones."""
    if config.synthetic:
        return synthetic_lists(1)
    trec = load_ohsumed_trec9(folder)
    return targeted(from_runs(trec.runs, trec.qrels, feature="minus_rank"))


def synthetic_lists(seed: int) -> Lists:
    """Return lists of different lengths by features of synthetic documents."""
    X, y, qid = make_letor(40, (20, 50), 12, n_grades=3, random_state=seed)
    place = np.column_stack([ranks(feature, qid) for feature in X.T])
    ends = np.random.default_rng(seed).integers(10, 30, X.shape[1])
    return targeted(Documents(np.where(place > ends, np.nan, -place), y, qid))


def alone(lists: Lists, index: int) -> Floats:
    """Return the scores by one list; documents that it lacks are last."""
    return np.nan_to_num(lists.X[:, index], nan=-1e9)


def borda(lists: Lists) -> Floats:
    """Return the number of documents not above a document, summed over its lists."""
    scores = np.zeros(len(lists.query))
    size = np.bincount(lists.query)[lists.query]
    for values in lists.X.T:
        rows = np.flatnonzero(~np.isnan(values))
        scores[rows] += 1 + size[rows] - ranks(values[rows], lists.query[rows])
    return scores


def fusion(lists: Lists) -> Floats:
    """Return the sum of 1 / (60 + rank) over the lists that have a document."""
    return np.asarray(np.nansum(1.0 / (FUSION - lists.X), axis=1))


def target_ranks(lists: Lists, scores: Floats) -> Floats:
    """Return one row per query: chances of a target in the top k, and its rank."""
    columns = [hits_at(lists.target, scores, k, qid=lists.query, per_query=True) for k in TOPS]
    rank = expected_rank(lists.target, scores, cap=CAP, qid=lists.query, per_query=True)
    return np.column_stack([*columns, rank])


def summed(by_query: Floats) -> Floats:
    """Return a row of table 1."""
    return np.append(by_query[:, :-1].sum(axis=0), by_query[:, -1].mean())


def boost(config: Config, lists: Lists, fold: Ints, settings: Values) -> tuple[Values, Floats]:
    """Train on three folds and rank the fourth, in turn.

    Returns the errors after some rounds, means over the folds, and the scores of all
    rows after the rounds of table 1.
    """
    rounds = rounds_of(config)
    last = max(int(rounds[-1]), config.fold_rounds)
    marks = np.append(rounds, config.fold_rounds)
    scores = np.zeros(len(lists.query))
    by_fold: dict[str, list[list[float]]] = {"train": [], "test": []}
    for test_fold in range(N_FOLDS):
        is_test = (fold == test_fold)[lists.query]
        train = np.flatnonzero(~is_test)
        model = RankBoost(n_rounds=last, default=0, n_jobs=1, **settings)
        model.fit(lists.X[train], lists.target[train], qid=lists.query[train])
        for half, rows in (("train", train), ("test", np.flatnonzero(is_test))):
            staged = stages(model, lists.X[rows], marks)
            by_fold[half].append([error(lists, rows, score) for score in staged[:-1]])
            if half == "test":
                scores[rows] = staged[-1]
    means = {half: np.mean(values, axis=0) for half, values in by_fold.items()}
    return means, scores


def error(lists: Lists, rows: Ints, scores: Floats) -> float:
    """Return the share of wrong pairs, with equal weights as in the paper's loss."""
    query = lists.query[rows]
    good = np.bincount(query, lists.target[rows])
    pairs = good * (np.bincount(query) - good)
    target = lists.target[rows]
    weight = pairs[np.unique(query)]
    return float(disagreement(target, scores, qid=query, query_weight=weight))


def measure_lists(config: Config, lists: Lists, unit: int, rng: Generator) -> Measured:
    """Partition the queries; boost with each weak learner; count."""
    fold = rng.permutation(lists.n_queries) % N_FOLDS
    curves, scores = {}, {}
    for name, settings in LEARNERS.items():
        curves[name], scores[name] = boost(config, lists, fold, settings)
    boosted = target_ranks(lists, scores["WeakLearn.3.cum"])
    single = [target_ranks(lists, alone(lists, i)) for i in range(lists.X.shape[1])]
    counts = np.array([summed(by_query) for by_query in single])
    rows = {"RankBoost": summed(boosted)}
    for k in (1, 10, 30):
        best = int(counts[:, TOPS.index(k)].argmax())
        rows[f"best single list for top {k}"] = counts[best]
    for name, by_list in (
        ("Borda", borda(lists)),
        ("reciprocal ranks", fusion(lists)),
        ("random", np.zeros(len(lists.query))),
    ):
        rows[name] = summed(target_ranks(lists, by_list))
    lead = [_lead(boosted[:, i], [by_query[:, i] for by_query in single]) for i in range(len(TOPS))]
    rank = _lead(-boosted[:, -1], [-by_query[:, -1] for by_query in single])
    return Measured(
        {
            "queries": lists.n_queries,
            "lists": lists.X.shape[1],
            "rows": rows,
            "lead": [100.0 * mean for mean, _ in lead],
            "lead half": [100.0 * half for _, half in lead],
            "rank lead": list(rank),
            "learners": curves,
            "others": {
                "reciprocal ranks": error(lists, np.arange(len(lists.query)), fusion(lists)),
                "random": 0.5,
            },
        }
    )


def _lead(ours: Floats, single: Sequence[Floats]) -> tuple[float, float]:
    """Return the mean over queries of ours minus the best, and half its interval."""
    best = max(single, key=lambda values: float(values.sum()))
    difference = ours - best
    half = 1.96 * difference.std(ddof=1) / np.sqrt(len(difference))
    return float(difference.mean()), float(half)


def show_lists(config: Config, units: Units, seconds: Units, *, title: str) -> Shown:
    """Show table 1 and figure 4 on some lists."""
    n_queries, n_lists = units[0]["queries"], units[0]["lists"]
    means = {name: values.mean(axis=0) for name, values in columns(units, "rows").items()}
    rows = [
        (name, *(f"{v:.1f}" for v in row[:-1]), f"{row[-1]:.2f}") for name, row in means.items()
    ]
    rows += [
        (f"printed, {name}", *(f"{v:.0f}" for v in row[:-1]), f"{row[-1]:.2f}")
        for name, row in PRINTED["lists"].items()
    ]
    caption = (
        f"Numbers of {n_queries:,} queries with a target in the top k, expected over "
        f"ties, and its rank, {CAP} at most; {n_lists} lists, {config.fold_rounds} "
        f"rounds, means over {len(units)} partitions in four. The best single lists "
        "are chosen on the test data, as in the paper; unlisted documents are last."
    )
    table = Table((title, *HEADINGS), tuple(rows), caption)
    errors = (
        f"{len(units)} partitions of {n_queries:,} queries in four folds; all pairs "
        "have equal weight. ± half the 95 % interval over partitions of the same "
        "queries: it says nothing about other queries."
    )
    return Shown(
        tables=(table, _lead_table(title, units), learner_table(config, units, errors)),
        charts=learner_charts(config, units, title),
        claims=(_claim_on_lists(title, units), *learner_claims(units, title)),
    )


def _lead_table(title: str, units: Units) -> Table:
    lead = column(units, "lead").mean(axis=0)
    half = column(units, "lead half").mean(axis=0)
    rows = [(title, *(_text(m, h) for m, h in zip(lead, half, strict=True)))]
    printed = np.array(list(PRINTED["lists"].values()))[:, :-1]
    for name, (n_queries, row_numbers) in PRINTED_LEAD.items():
        ours = printed[row_numbers[0]]
        others = printed[list(row_numbers[1:])].max(axis=0)
        gaps = 100.0 * (ours - others) / n_queries
        rows.append((f"{name}, printed", *(_text(gap) for gap in gaps)))
    return Table(
        ("RankBoost minus best list", *HEADINGS[:-1]),
        tuple(rows),
        "In % of the queries, against the list that is best at each k on the test "
        "data; ± half the 95 % interval over queries.",
    )


def _claim_on_lists(title: str, units: Units) -> Claim:
    lead = column(units, "lead").mean(axis=0)
    half = column(units, "lead half").mean(axis=0)
    rank, rank_half = column(units, "rank lead").mean(axis=0)
    sides = [not_behind(m, h, MARGIN) for m, h in zip(lead.tolist(), half.tolist(), strict=True)]
    sides.append(not_behind(float(rank), float(rank_half), RANK_MARGIN))
    by_k = ", ".join(_text(m, h) for m, h in zip(lead, half, strict=True))
    return Claim(
        "In meta-search RankBoost is as good as the best single list, chosen on the "
        f"test data, for every measure ({title}).",
        verdict(sides),
        f"RankBoost minus the best list at k = 1, 2, 5, 10, 20, 30, in % of queries: "
        f"{by_k}; its average rank is better by {_text(rank, rank_half, 2)}; ± is half "
        "the 95 % interval over queries. As good is behind by less, by the interval, "
        f"than {MARGIN:g} % of queries and {RANK_MARGIN} of a rank.",
    )


def _text(value: float, half: float | None = None, decimals: int = 1) -> str:
    text = signed(value, decimals)
    return text if half is None else f"{text} ± {half:.{decimals}f}"


LISTS = Part(
    "table-1-mq2007",
    "Table 1 and figure 4: the lists of MQ2007-agg",
    load_lists,
    lambda config: config.list_partitions,
    measure_lists,
    partial(show_lists, title="MQ2007-agg"),
)
RUNS = Part(
    "table-1-trec9",
    "Table 1 and figure 4: runs on OHSUMED of TREC-9",
    load_runs,
    lambda config: config.run_partitions,
    measure_lists,
    partial(show_lists, title="OHSUMED TREC-9"),
)


# Documents of OHSUMED.

CUTOFFS = (1, 3, 5, 10)
Fold = dict[str, Documents]


def load_folds(config: Config, folder: Path | None) -> list[Fold]:
    """Return five folds: train, validation and test."""
    if not config.synthetic:
        return [dict(load_ohsumed_fold(k, folder)) for k in range(1, 6)]
    parts = [make_letor(8, 15, 6, n_grades=3, random_state=k) for k in range(3)]
    names = ("train", "validation", "test")
    return [{name: parts[(i + k) % 3] for i, name in enumerate(names)} for k in range(5)]


def ndcg_and_map(documents: Documents, scores: Floats) -> Floats:
    """Return NDCG at the cut-offs and the average precision, means over queries."""
    _, y, qid = documents
    starts = np.flatnonzero(np.diff(qid, prepend=qid[0] - 1))
    lists = zip(np.split(y, starts[1:]), np.split(scores, starts[1:]), strict=True)
    gains = np.mean([_ndcg(2.0**grades - 1.0, s) for grades, s in lists], axis=0)
    return np.append(gains, _map(documents, scores))


def _map(documents: Documents, scores: Floats) -> float:
    _, y, qid = documents
    return float(average_precision(y, scores, qid=qid, undefined="zero"))


def _ndcg(gain: Floats, scores: Floats) -> Floats:
    """Return NDCG as the authors of the data define it, expected over ties.

    The first two ranks have equal weight: the discount is log2(p), and 1 for p = 1.
    """
    ideal = np.sort(gain)[::-1]
    if not ideal[0]:
        return np.zeros(len(CUTOFFS))
    order = np.argsort(-scores, kind="stable")
    group = np.unique(-scores[order], return_inverse=True)[1]
    expected = (np.bincount(group, gain[order]) / np.bincount(group))[group]
    discount = 1.0 / np.log2(np.maximum(2, np.arange(1, len(gain) + 1)))
    last = np.minimum(CUTOFFS, len(gain)) - 1
    ratio: Floats = np.cumsum(expected * discount) / np.cumsum(ideal * discount)
    return np.asarray(ratio[last])


def measure_folds(config: Config, folds: list[Fold], unit: int, rng: Generator) -> Measured:
    """Train; use 50 rounds, or the number that is best on the validation fold."""
    fold = folds[unit]
    train, validation, test = (fold[name] for name in ("train", "validation", "test"))
    model = RankBoost(n_rounds=config.letor_rounds, n_jobs=1)
    model.fit(train.X, train.y, qid=train.qid)
    values = [_map(validation, scores) for scores in model.staged_predict(validation.X)]
    best = int(np.argmax(values))
    by_feature = [_map(train, scores) for scores in np.nan_to_num(train.X).T]
    single = int(np.argmax(by_feature))
    fixed = min(config.fold_rounds, len(values)) - 1
    staged = list(model.staged_predict(test.X))
    return Measured(
        {
            "chosen": best + 1,
            "rows": {
                f"RankBoost, {config.fold_rounds} rounds": ndcg_and_map(test, staged[fixed]),
                "RankBoost, rounds chosen": ndcg_and_map(test, staged[best]),
                "best single feature": ndcg_and_map(test, test.X[:, single]),
                "constant": ndcg_and_map(test, np.zeros(len(test))),
            },
        }
    )


def show_folds(config: Config, units: Units, seconds: Units) -> Shown:
    """Show ours beside the seven published algorithms."""
    means = {name: values.mean(axis=0) for name, values in columns(units, "rows").items()}
    means |= {f"{name}, published": values for name, values in PRINTED["ohsumed"].items()}
    rows = tuple((name, *(f"{value:.4f}" for value in row)) for name, row in means.items())
    chosen = ", ".join(str(unit["chosen"]) for unit in units)
    headings = ("ranker", *(f"NDCG@{k}" for k in CUTOFFS), "MAP")
    caption = (
        "Means over five test folds, ties by expectation, NDCG with the discount of "
        "the published figures, queries without a relevant document as 0. Rounds "
        f"chosen by MAP on the validation folds: {chosen}. This is not in the paper, "
        "which proposes retrieval as future work."
    )
    return Shown(tables=(Table(headings, rows, caption),))


LETOR = Part(
    "ohsumed",
    "OHSUMED: RankBoost for documents",
    load_folds,
    lambda config: 5,
    measure_folds,
    show_folds,
)
