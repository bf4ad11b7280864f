"""How good are personal rankers on MovieLens? Markdown tables, paired over people.

    python benchmarks/personal.py --data DIR [--set 1m] [--scores DIR]

reads `ml-1m` or `ml-100k` below DIR, which is PECKORDER_DATA unless given. Half of
each person's ratings, drawn at random, are learnt from, all people's together; the
other half is ranked. With `--scores`, what each ranker predicts is kept there, and not
computed again. Surprise is compared where it is installed.
"""

import argparse
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from peckorder import Ratings
from peckorder.collaborative import PersonalRanker
from peckorder.datasets import load_movielens_1m, load_movielens_100k
from peckorder.metrics import Evaluation, compare, evaluate
from peers_personal import SURPRISE, biased_factors, unsure_factors

Predictor = Callable[[Ratings, Ratings], np.ndarray]
LOADERS = {"1m": load_movielens_1m, "100k": load_movielens_100k}
METRICS = ("disagreement", "ndcg@10", "msd")
OURS = "PersonalRanker"
BINS = ((20, 60), (61, 150), (151, 300), (301, 10**9))


def item_mean(train: Ratings, test: Ratings) -> np.ndarray:
    """Return the damped mean of each item."""
    mean = train.csr.data.mean()
    total = np.bincount(train.csr.indices, train.csr.data - mean, train.n_items)
    return (mean + total / (train.per_item + 5.0))[test.csr.indices]


def constant(train: Ratings, test: Ratings) -> np.ndarray:
    """Return the same for all."""
    return np.zeros(len(test))


def personal(**options: object) -> Predictor:
    """Return how PersonalRanker predicts, with these options."""

    def predict(train: Ratings, test: Ratings) -> np.ndarray:
        model = PersonalRanker(random_state=0, **options).fit(train)
        people = zip(test.users.tolist(), test.per_user, strict=True)
        parts = [model.predict(u, test.of(u).items) for u, count in people if count]
        return np.concatenate(parts)

    return predict


RANKERS: dict[str, Predictor] = {
    OURS: personal(),
    "the same, C by leave-pair-out": personal(C="leave_pair_out"),
    "the same, no cosines of raters": personal(audience_weight=0.0),
    "the same, factors alone": personal(audience_weight=0.0, cosine_weight=0.0),
    "the same, factors by SVD": personal(factorizer="svd"),
    "MPRank on 300 reference viewers": personal(references=300),
    "matrix factorisation (ALS)": biased_factors,
    "matrix factorisation (variational)": unsure_factors,
    **({name: peer for name, peer in SURPRISE.items() if find_spec("surprise")}),
    "damped item mean": item_mean,
    "constant": constant,
}


def predictions(train: Ratings, test: Ratings, folder: Path | None) -> dict[str, np.ndarray]:
    """Return the scores of every ranker, from the folder if they are there."""
    scores = {}
    for name, predict in RANKERS.items():
        file = None if folder is None else folder / f"{name.replace(' ', '_')}.npy"
        if file is not None and file.exists():
            scores[name] = np.load(file)
            continue
        begin = perf_counter()
        scores[name] = predict(train, test)
        print(f"{name}: {perf_counter() - begin:.0f} s", flush=True)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, scores[name])
    return scores


def signed(a: Evaluation, b: Evaluation, metric: str) -> str:
    """Return a - b with its paired interval."""
    paired = compare(a, b)
    low, high = paired.intervals[metric]
    return f"{paired.differences[metric]:+.4f} ({low:+.4f} to {high:+.4f})"


def quality(test: Ratings, scores: dict[str, np.ndarray]) -> dict[str, Evaluation]:
    """Print all rankers, and how far PersonalRanker is before each of them."""
    qid = np.repeat(np.arange(test.n_users), test.per_user)
    tables = {
        name: evaluate(test.csr.data, value, METRICS, qid=qid) for name, value in scores.items()
    }
    print("\n| ranker | disagreement | NDCG@10 | MSD | disagreement: ours minus it "
          "| NDCG@10: ours minus it | MSD: ours minus it |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, table in tables.items():
        cells = [f"{table[metric]:.4f}" for metric in METRICS]
        if name == OURS:
            cells += [""] * len(METRICS)
        else:
            cells += [signed(tables[OURS], table, metric) for metric in METRICS]
        print(f"| {name} | {' | '.join(cells)} |")
    return tables


def by_number(test: Ratings, n_rated: np.ndarray, scores: dict) -> None:
    """Print the gain over the item mean for people with few and many ratings."""
    print("\n| ratings | people | PersonalRanker | item mean | difference "
          "| NDCG@10: difference |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|")
    user = np.repeat(np.arange(test.n_users), test.per_user)
    for low, high in BINS:
        people = (n_rated >= low) & (n_rated <= high)
        rows = people[user]
        ours, mean = (
            evaluate(test.csr.data[rows], scores[name][rows], METRICS, qid=user[rows])
            for name in (OURS, "damped item mean")
        )
        label = f"{low}-{high}" if high < 10**9 else f"{low} and more"
        cells = [str(people.sum()), f"{ours[METRICS[0]]:.4f}", f"{mean[METRICS[0]]:.4f}"]
        cells += [signed(ours, mean, metric) for metric in METRICS[:2]]
        print(f"| {label} | {' | '.join(cells)} |")


def speed(train: Ratings) -> None:
    """Print how long the shared part takes, and people a second, on one core."""
    with threadpool_limits(1):
        begin = perf_counter()
        model = PersonalRanker(random_state=0).fit(train)
        shared = perf_counter() - begin
        begin = perf_counter()
        model.fit_people()
        rate = train.n_users / (perf_counter() - begin)
        user = train.users.tolist()[int(np.argsort(train.per_user)[train.n_users // 2])]
        item = train.items.tolist()[0]
        times = []
        for turn in range(50):
            begin = perf_counter()
            model.update(user, item, float(1 + turn % 5))
            times.append(perf_counter() - begin)
    print(f"\nshared part: {shared:.1f} s; people a second after it: {rate:.0f}; one "
          f"update of the median person: {1e3 * np.median(times):.2f} ms")  # fmt: skip


def main() -> None:
    """Print the tables of one set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PECKORDER_DATA"))
    parser.add_argument("--set", choices=LOADERS, default="1m")
    parser.add_argument("--scores", type=Path)
    parser.add_argument("--random-state", type=int, default=0)
    given = parser.parse_args()
    ratings = LOADERS[given.set](given.data).ratings
    train, test = ratings.split(0.5, random_state=given.random_state)
    print(f"{ratings}, {len(train)} to learn from", flush=True)
    speed(train)
    folder = given.scores and given.scores / f"{given.set}-{given.random_state}"
    scores = predictions(train, test, folder)
    quality(test, scores)
    by_number(test, ratings.per_user, scores)


if __name__ == "__main__":
    main()
