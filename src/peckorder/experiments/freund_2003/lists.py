"""Freund et al. (2003): Table 1, lists and what is made of them."""

from collections.abc import Iterator, Sequence
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
    load_ohsumed_trec9,
    make_letor,
)
from peckorder.experiments.framework import Claim, Measured, Part, Shown, Units, Values
from peckorder.experiments.framework.claims import above_zero
from peckorder.experiments.framework.statistics import column, columns, difference_text, signed
from peckorder.experiments.freund_2003.films import Config
from peckorder.experiments.freund_2003.learners import (
    LEARNERS,
    flat_claims,
    judged_rounds,
    learner_charts,
    learner_claims,
    learner_table,
    rounds_of,
    stages,
)
from peckorder.metrics import disagreement, expected_rank, hits_at, ranks
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


@dataclass(frozen=True)
class Boosted:
    """RankBoost with one weak learner in cross-validation.

    `curves` has the errors after every round shown, means over the folds, of the
    training and of the test queries. `by_query` has the same errors of every query after
    the rounds that are judged; of a query that three models learned from, their mean.
    `scores` are those of all rows, by the model that did not see them, after the rounds
    of table 1.
    """

    curves: Values
    by_query: Values
    scores: Floats


def boost(config: Config, lists: Lists, fold: Ints, settings: Values) -> Boosted:
    """Train on three folds and rank the fourth, in turn."""
    rounds, judged = rounds_of(config.list_rounds), judged_rounds(config.list_rounds)
    last = max(config.list_rounds, config.fold_rounds)
    marks = np.concatenate([rounds, judged, [config.fold_rounds]])
    scores = np.zeros(len(lists.query))
    by_fold: dict[str, list[list[float]]] = {"train": [], "test": []}
    by_query = {half: np.zeros((len(judged), lists.n_queries)) for half in by_fold}
    for test_fold in range(N_FOLDS):
        is_test = (fold == test_fold)[lists.query]
        train = np.flatnonzero(~is_test)
        model = RankBoost(n_rounds=last, default=0, n_jobs=1, **settings)
        model.fit(lists.X[train], lists.target[train], qid=lists.query[train])
        for half, rows in (("train", train), ("test", np.flatnonzero(is_test))):
            staged = stages(model, lists.X[rows], marks)
            after = [error(lists, rows, score) for score in staged[: len(rounds)]]
            by_fold[half].append(after)
            queries = np.unique(lists.query[rows])
            for of_round, score in zip(by_query[half], staged[len(rounds) : -1], strict=True):
                of_round[queries] += errors_of_queries(lists, rows, score)
            if half == "test":
                scores[rows] = staged[-1]
    by_query["train"] /= N_FOLDS - 1
    return Boosted(
        {half: np.mean(values, axis=0) for half, values in by_fold.items()},
        # Five digits are enough for an interval, and keep files short.
        {half: values.round(5) for half, values in by_query.items()},
        scores,
    )


def pairs_of(lists: Lists) -> Ints:
    """Return the number of pairs of each query."""
    good = np.bincount(lists.query, lists.target)
    return np.asarray(good * (np.bincount(lists.query) - good), dtype=np.int64)


def errors_of_queries(lists: Lists, rows: Ints, scores: Floats) -> Floats:
    """Return the share of wrong pairs of each query."""
    of_query = disagreement(lists.target[rows], scores, qid=lists.query[rows], per_query=True)
    return np.asarray(of_query)


def error(lists: Lists, rows: Ints, scores: Floats) -> float:
    """Return the share of wrong pairs, with equal weights as in the paper's loss."""
    weight = pairs_of(lists)[np.unique(lists.query[rows])]
    return float(np.average(errors_of_queries(lists, rows, scores), weights=weight))


def measure_lists(config: Config, lists: Lists, unit: int, rng: Generator) -> Measured:
    """Partition the queries; boost with each weak learner; count."""
    fold = rng.permutation(lists.n_queries) % N_FOLDS
    by_learner = {name: boost(config, lists, fold, settings) for name, settings in LEARNERS.items()}
    boosted = target_ranks(lists, by_learner["WeakLearn.3.cum"].scores)
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
    leads = [
        _lead(boosted[:, i], [by_query[:, i] for by_query in single]) for i in range(len(TOPS))
    ]
    leads.append(_lead(-boosted[:, -1], [-by_query[:, -1] for by_query in single]))
    return Measured(
        {
            "queries": lists.n_queries,
            "lists": lists.X.shape[1],
            "rows": rows,
            "lead": np.round(leads, 4),
            "learners": {name: boosted.curves for name, boosted in by_learner.items()},
            "pairs": pairs_of(lists),
            "by query": {name: boosted.by_query for name, boosted in by_learner.items()},
            "others": {
                "reciprocal ranks": error(lists, np.arange(len(lists.query)), fusion(lists)),
                "random": 0.5,
            },
        }
    )


def _lead(ours: Floats, single: Sequence[Floats]) -> Floats:
    """Return ours minus the list that is best in the mean, per query."""
    return np.asarray(ours - max(single, key=lambda values: float(values.sum())))


def show_lists(config: Config, units: Units, seconds: Units, *, title: str) -> Shown:
    """Show table 1 and figure 4 on some lists."""
    n_queries, n_lists = units[0]["queries"], units[0]["lists"]
    means = {name: values.mean(axis=0) for name, values in columns(units, "rows").items()}
    rows = [
        (name, *(f"{v:.1f}" for v in row[:-1]), f"{row[-1]:.2f}") for name, row in means.items()
    ]
    rows += [
        (f"{name}, printed", *(f"{v:.0f}" for v in row[:-1]), f"{row[-1]:.2f}")
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
        "queries: it says nothing about other queries, and is not what claims are judged by."
    )
    return Shown(
        tables=(table, _lead_table(title, units), learner_table(config.list_rounds, units, errors)),
        charts=learner_charts(config.list_rounds, units, title),
        claims=(
            *_claims_on_lists(title, units),
            *learner_claims(partial(errors_after, units), title),
            *flat_claims(partial(errors_after, units), title),
        ),
    )


def errors_after(units: Units, name: str, half: str, i: int) -> Floats:
    """Return the terms of queries in the mean error after the i-th judged round.

    Of a weighted mean: a term is the mean, plus what changes it with the query.
    """
    error_of = column(units, "by query", name, half)[:, i].mean(axis=0)
    weight = column(units, "pairs")[0]
    mean = np.average(error_of, weights=weight)
    return np.asarray(mean + weight / weight.mean() * (error_of - mean))


def leads(units: Units) -> Floats:
    """Return RankBoost minus the best list of each column, per query: means of partitions."""
    return np.asarray(column(units, "lead").mean(axis=0))


def _lead_table(title: str, units: Units) -> Table:
    rows = [(title, *(difference_text(100.0 * values, 1) for values in leads(units)[:-1]))]
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


def _claims_on_lists(title: str, units: Units) -> Iterator[Claim]:
    *at_top, rank = leads(units)
    in_percent = [100.0 * values for values in at_top]
    by_k = ", ".join(difference_text(values, 1) for values in in_percent)
    yield Claim(
        f'Table 1, {title}: RankBoost "closely tracked the performance of the best expert at '
        'every value of k", and in its average rank.',
        (*(above_zero(v + MARGIN) for v in in_percent), above_zero(rank + RANK_MARGIN)),
        f"RankBoost minus the best list at k = 1, 2, 5, 10, 20, 30, in % of queries: "
        f"{by_k}; its average rank is better by {difference_text(rank, 2)}; over queries. "
        f"Closely is behind by less than {MARGIN:g} % of queries and {RANK_MARGIN} of a rank.",
    )
    yield Claim(
        f'Table 1, {title}: it "outperformed the best template for k = 20, 30".',
        tuple(above_zero(v) for k, v in zip(TOPS, in_percent, strict=True) if k in (20, 30)),
        "As above.",
    )


def _text(value: float) -> str:
    return signed(value, 1)


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
