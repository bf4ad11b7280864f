"""How good is RankBoost on real queries? Markdown tables of mean test figures.

    python benchmarks/rankboost_quality.py --data DIR

reads the folders `ohsumed_letor` (part1.txt.gz and so on) and `mq2007_agg` (A1.txt.gz
and so on) below DIR, which is PECKORDER_DATA unless given. Fold k tests on part k,
chooses on the part before it, and learns from the other three.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from operator import itemgetter
from time import perf_counter

import numpy as np

from peckorder import MPRank, RankBoost
from peckorder.datasets import Documents, load_mq2007_agg_fold, load_ohsumed_fold
from peckorder.metrics import average_precision, compare, evaluate, ndcg

ROUNDS = 500
CUTOFFS = (1, 3, 5, 10)

# What came with the data: NDCG@1, 3, 5, 10 and MAP, means of five test parts.
PUBLISHED = {
    "RankBoost": (0.4977, 0.4726, 0.4502, 0.4356, 0.4403),
    "Ranking SVM": (0.4952, 0.4649, 0.4579, 0.4411, 0.4469),
    "FRank": (0.5449, 0.4995, 0.4688, 0.4423, 0.4463),
    "ListNet": (0.5231, 0.4777, 0.4662, 0.4489, 0.4496),
    "AdaRank.MAP": (0.5420, 0.4803, 0.4554, 0.4385, 0.4419),
    "AdaRank.NDCG": (0.5139, 0.4621, 0.4422, 0.4369, 0.4424),
    "MHR-BC": (0.5519, 0.4852, 0.4671, 0.4423, 0.4402),
}
# The same of single features (counted from 1), means over all queries.
PUBLISHED_FEATURES = {
    1: (0.349057, 0.390691, 0.375819, 0.371344, 0.411364),
    8: (0.503145, 0.465269, 0.444082, 0.435929, 0.440373),
    10: (0.509434, 0.471517, 0.453380, 0.441172, 0.442435),
    18: (0.317610, 0.322689, 0.306352, 0.301685, 0.358075),
    25: (0.455975, 0.427981, 0.419826, 0.407320, 0.430344),
}

Scores = np.ndarray
Ranker = Callable[["Fold"], tuple[Scores, str]]
Choice = Callable[[Documents, Scores], float]
Loader = Callable[[int, str], Mapping[str, Documents]]


@dataclass(frozen=True)
class Fold:
    """Three parts of a collection; what is chosen, is chosen on the second."""

    train: Documents
    validation: Documents
    test: Documents
    choice: Choice


@dataclass(frozen=True)
class Outcome:
    """Scores of the test parts, fold by fold, and the settings that were chosen."""

    scores: list[Scores]
    chosen: list[str]


def together(parts: Iterable[Documents]) -> Documents:
    """Return the rows of several parts as one."""
    return Documents(*map(np.concatenate, zip(*map(tuple, parts), strict=True)))


def folds(load: Loader, folder: str, choice: Choice) -> list[Fold]:
    """Return the five folds, the first one first."""
    return [Fold(**load(k, folder), choice=choice) for k in range(1, 6)]


def by_map(part: Documents, score: Scores) -> float:
    """Return the mean average precision."""
    return average_precision(part.y, score, qid=part.qid, undefined="zero")


def by_ndcg(part: Documents, score: Scores) -> float:
    """Return NDCG@10."""
    options = {"k": 10, "gain": "exponential", "undefined": "zero"}
    return ndcg(part.y, score, qid=part.qid, **options)


def first_rows(qid: np.ndarray) -> np.ndarray:
    """Return where queries begin."""
    return np.flatnonzero(np.diff(qid, prepend=qid[0] - 1))


def letor_ndcg(part: Documents, score: Scores, ties: str = "expected") -> np.ndarray:
    """Return NDCG at the cut-offs, a row a query, as the makers of the data count it.

    The first two places count alike: the discount is log2(p), and 1 for p = 1, where
    `peckorder.metrics.ndcg` has the now usual log2(1 + p).
    """
    starts = first_rows(part.qid)
    rows = zip(np.split(part.y, starts[1:]), np.split(score, starts[1:]), strict=True)
    return np.array([_letor_ndcg(2.0**y - 1.0, s, ties) for y, s in rows])


def _letor_ndcg(gain: np.ndarray, score: Scores, ties: str) -> np.ndarray:
    ideal = np.sort(gain)[::-1]
    if not ideal[0]:
        return np.zeros(len(CUTOFFS))
    order = np.argsort(-score, kind="stable")
    found = gain[order]
    if ties == "expected":
        group = np.unique(-score[order], return_inverse=True)[1]
        found = (np.bincount(group, found) / np.bincount(group))[group]
    discount = 1.0 / np.log2(np.maximum(2, np.arange(1, len(gain) + 1)))
    last = np.minimum(CUTOFFS, len(gain)) - 1
    return (np.cumsum(found * discount) / np.cumsum(ideal * discount))[last]


def rankboost(**settings: object) -> Ranker:
    """Return RankBoost with the number of rounds chosen on the validation part."""

    def ranker(fold: Fold) -> tuple[Scores, str]:
        model = RankBoost(n_rounds=ROUNDS, **settings)
        model.fit(fold.train.X, fold.train.y, qid=fold.train.qid)
        stages = model.staged_predict(fold.validation.X)
        values = [fold.choice(fold.validation, score) for score in stages]
        best = int(np.argmax(values))
        for stage, score in enumerate(model.staged_predict(fold.test.X)):
            if stage == best:
                return score, f"{best + 1}"
        raise AssertionError

    return ranker


def untouched(fold: Fold) -> tuple[Scores, str]:
    """Return RankBoost as it comes, with nothing chosen."""
    model = RankBoost().fit(fold.train.X, fold.train.y, qid=fold.train.qid)
    return model.predict(fold.test.X), f"{model.n_rounds_}"


def mprank(fold: Fold) -> tuple[Scores, str]:
    """Return MPRank with C chosen on the validation part."""
    tried = []
    for C in (1.0, 10.0, 100.0, 1e3, 1e4, 1e5):
        model = MPRank(C=C).fit(fold.train.X, fold.train.y, qid=fold.train.qid)
        value = fold.choice(fold.validation, model.predict(fold.validation.X))
        tried.append((value, model.predict(fold.test.X), f"{C:g}"))
    return max(tried, key=itemgetter(0))[1:]


def fixed_mprank(fold: Fold) -> tuple[Scores, str]:
    """Return MPRank with hardly a penalty, and nothing chosen."""
    model = MPRank(C=1e4).fit(fold.train.X, fold.train.y, qid=fold.train.qid)
    return model.predict(fold.test.X), ""


def lightgbm(fold: Fold) -> tuple[Scores, str]:
    """Return LightGBM's lambdarank; leaves, their size and trees chosen likewise."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        grid = product((4, 8, 16, 31), (20, 100))
        tried = pool.map(lambda pair: trees(fold, *pair), grid)
        return max(tried, key=itemgetter(0))[1:]


def trees(fold: Fold, leaves: int, size: int) -> tuple[float, Scores, str]:
    """Return the best figure for the validation part, what gave it, and its name."""
    best = -1.0, np.empty(0), ""
    model = lambdarank(fold.train, leaves, size)
    held_out = stages(model, fold.validation.X)
    pairs = zip(held_out, stages(model, fold.test.X), strict=True)
    for tens, (known, score) in enumerate(pairs, start=1):
        value = fold.choice(fold.validation, known)
        if value > best[0]:
            best = value, score, f"{leaves}/{size}/{10 * tens}"
    return best


def lambdarank(part: Documents, leaves: int, size: int) -> object:
    """Return 300 trees."""
    from lightgbm import Dataset, train

    starts = first_rows(part.qid)
    counts = np.diff(starts, append=len(part))
    settings = {
        "objective": "lambdarank",
        "learning_rate": 0.05,
        "num_leaves": leaves,
        "min_data_in_leaf": size,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "seed": 0,
        "verbose": -1,
    }
    return train(settings, Dataset(part.X, part.y, group=counts), num_boost_round=300)


def stages(model: object, X: np.ndarray) -> Iterator[Scores]:
    """Yield the scores after every ten trees."""
    score = np.zeros(len(X))
    for start in range(0, model.current_iteration(), 10):
        score = score + model.predict(X, start_iteration=start, num_iteration=10)
        yield score


def unlisted_last(x: np.ndarray) -> Scores:
    """Return the scores of one ranker, rows it does not list below all others."""
    return np.where(np.isnan(x), -1e9, x)


def best_ranker(fold: Fold) -> tuple[Scores, str]:
    """Return the ranker with the best figure on the training and validation parts."""
    known = together([fold.train, fold.validation])
    values = [fold.choice(known, unlisted_last(column)) for column in known.X.T]
    best = int(np.argmax(values))
    return unlisted_last(fold.test.X[:, best]), f"{best + 1}"


def borda(fold: Fold) -> tuple[Scores, str]:
    """Return Borda's count: each ranker gives 1 + the documents it puts not above.

    These are the documents of the query, listed or not; what is not listed gets 0.
    """
    score = np.zeros(len(fold.test))
    for query in np.unique(fold.test.qid):
        rows = np.flatnonzero(fold.test.qid == query)
        x = fold.test.X[rows]
        above = (x[None, :, :] > x[:, None, :]).sum(axis=1)
        score[rows] = np.where(np.isnan(x), 0, len(rows) - above).sum(axis=1)
    return score, ""


def reciprocal_ranks(fold: Fold) -> tuple[Scores, str]:
    """Return the sum of 1 / (60 + place) over the rankers that list a document."""
    return np.nansum(1.0 / (60.0 - fold.test.X), axis=1), ""


def run(name: str, ranker: Ranker, some: list[Fold]) -> Outcome:
    """Learn, choose and score, fold by fold."""
    start = perf_counter()
    scores, chosen = zip(*map(ranker, some), strict=True)
    print(f"{name}: {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return Outcome(list(scores), list(chosen))


def figures(some: list[Fold], outcome: Outcome, ties: str) -> list[float]:
    """Return NDCG at the cut-offs and MAP: means over folds of means over queries."""
    rows = []
    for fold, score in zip(some, outcome.scores, strict=True):
        part, options = fold.test, {"undefined": "zero", "ties": ties}
        precision = average_precision(part.y, score, qid=part.qid, **options)
        rows.append([*letor_ndcg(part, score, ties).mean(axis=0), precision])
    return np.mean(rows, axis=0).tolist()


def table(some: list[Fold], outcomes: dict[str, Outcome]) -> None:
    """Print the figures, a row a ranker, both ways of breaking ties."""
    names = [f"NDCG@{k}" for k in CUTOFFS]
    heads = ["ranker", *names, "MAP", "NDCG@10, file order", "MAP, file order"]
    print("|", " | ".join([*heads, "chosen on the folds"]), "|")
    print("|---|" + "--:|" * (len(heads) - 1) + "---|")
    for name, outcome in outcomes.items():
        values = [*figures(some, outcome, "expected"), *figures(some, outcome, "order")[-2:]]
        cells = [name, *(f"{value:.4f}" for value in values), " ".join(outcome.chosen)]
        print("|", " | ".join(cells), "|", flush=True)


def differences(
    some: list[Fold], outcomes: dict[str, Outcome], one: str, others: list[str]
) -> None:
    """Print how one ranker differs from others, query by query."""
    tests = together(fold.test for fold in some)
    tables = {
        name: evaluate(
            tests.y,
            np.concatenate(outcomes[name].scores),
            ["ap", "ndcg@10(exponential)"],
            qid=tests.qid,
            undefined="zero",
        )
        for name in (one, *others)
    }
    for other in others:
        print(f"\n{one} minus {other}\n{compare(tables[one], tables[other])}")


def single_features(parts: list[Documents]) -> None:
    """Print the figures of single features beside those published."""
    every = Fold(*[together(parts)] * 3, by_map)
    print("\n| feature | | " + " | ".join(f"NDCG@{k}" for k in CUTOFFS), "| MAP |")
    print("|--:|---|" + "--:|" * 5)
    for feature, published in PUBLISHED_FEATURES.items():
        outcome = Outcome([every.test.X[:, feature - 1]], [])
        ours = figures([every], outcome, "order")
        for who, values in (("ours", ours), ("published", published)):
            cells = " | ".join(f"{value:.6f}" for value in values)
            print(f"| {feature} | {who} | {cells} |")


def ohsumed(parts: list[Documents], some: list[Fold]) -> None:
    """Compare on the 106 queries of OHSUMED."""
    print("\n## OHSUMED\n\nSingle features, equal scores in the order of the file")
    single_features(parts)
    rankers = {
        "RankBoost": rankboost(),
        "nothing chosen": untouched,
        "plain": rankboost(cumulative=False),
        "analytic": rankboost(alpha="analytic"),
        "analytic, plain": rankboost(alpha="analytic", cumulative=False),
        "numeric": rankboost(alpha="numeric"),
        "numeric, plain": rankboost(alpha="numeric", cumulative=False),
        "queries equal": rankboost(query_weight="equal"),
        "queries equal, plain": rankboost(query_weight="equal", cumulative=False),
        "MPRank": mprank,
        "MPRank, C = 10,000": fixed_mprank,
    }
    outcomes = with_lightgbm(rankers, some)
    print()
    table(some, outcomes)
    for name, values in PUBLISHED.items():
        print(f"| {name}, published |", " | ".join(f"{v:.4f}" for v in values), "| | | |")
    differences(some, outcomes, "RankBoost", [*outcomes][-1:])


def fusion(some: list[Fold]) -> None:
    """Compare on the 21 ranked lists of each of the 1,692 queries of MQ2007-agg."""
    print("\n## MQ2007-agg\n")
    rankers = {
        "best ranker": best_ranker,
        "Borda": borda,
        "reciprocal ranks": reciprocal_ranks,
        "RankBoost, default 0": rankboost(default=0),
        "RankBoost": rankboost(),
        "nothing chosen": untouched,
        "plain": rankboost(cumulative=False),
        "queries equal": rankboost(query_weight="equal"),
    }
    outcomes = with_lightgbm(rankers, some)
    table(some, outcomes)
    others = ["reciprocal ranks", "RankBoost, default 0", *[*outcomes][-1:]]
    differences(some, outcomes, "RankBoost", others)


def with_lightgbm(rankers: dict[str, Ranker], some: list[Fold]) -> dict[str, Outcome]:
    """Run the rankers, and LightGBM where it is installed."""
    if find_spec("lightgbm"):
        rankers = rankers | {"LightGBM": lightgbm}
    else:
        print("LightGBM is not installed: left out")
    return {name: run(name, ranker, some) for name, ranker in rankers.items()}


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default=os.environ.get("PECKORDER_DATA"))
    parser.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--choose", choices=("map", "ndcg"), default="map")
    options = parser.parse_args()
    if not options.data:
        parser.error("--data or PECKORDER_DATA must name the folder of the collections")
    choice = {"map": by_map, "ndcg": by_ndcg}[options.choose]
    print(f"Rounds and trees are chosen by {options.choose} on the validation parts.")
    every = folds(load_ohsumed_fold, options.data, choice)
    some = [every[k - 1] for k in options.folds]
    ohsumed([fold.test for fold in every], some)
    # Of one query of these all documents are good.
    warnings.filterwarnings("ignore", ".*every row is good", UserWarning)
    every = folds(load_mq2007_agg_fold, options.data, choice)
    fusion([every[k - 1] for k in options.folds])


if __name__ == "__main__":
    main()
