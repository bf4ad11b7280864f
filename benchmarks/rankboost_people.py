"""What an offset is worth to RankBoost when it ranks films for one person.

    python benchmarks/rankboost_people.py --data DIR

reads MovieLens 1M below DIR. Half of a person's ratings are learnt from, with other
viewers' ratings as features, and half tested on; other people's item means are damped.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from scipy import sparse

from peckorder import RankBoost
from peckorder.datasets import load_movielens_1m
from peckorder.metrics import disagreement

DAMPING = 5.0


def item_means(ratings: sparse.csr_array) -> np.ndarray:
    """Return the mean rating of each item, drawn to the mean of all."""
    count = np.diff(ratings.tocsc().indptr)
    return (ratings.sum(axis=0) + DAMPING * ratings.data.mean()) / (count + DAMPING)


def disagreements(
    features: sparse.csr_array, y: np.ndarray, mean: np.ndarray, rounds: int, rng
) -> list[float]:
    """Learn from half of one person's items; test on the others."""
    order = rng.permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    alone = RankBoost(n_rounds=rounds, missing="abstain")
    alone.fit(features[train], y[train])
    moved = RankBoost(n_rounds=rounds, missing="abstain", learning_rate=0.1)
    moved.fit(features[train], y[train], offset=2.0 * mean[train])
    scores = (
        mean[test],
        alone.predict(features[test]),
        moved.predict(features[test], offset=2.0 * mean[test]),
    )
    return [disagreement(y[test], score) for score in scores]


def main() -> None:
    """Print mean disagreements with their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("PECKORDER_DATA"))
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--viewers", type=int, default=2000)
    options = parser.parse_args()
    matrix = load_movielens_1m(options.data).ratings.csr
    rng = np.random.default_rng(0)
    order = rng.permutation(matrix.shape[0])
    people, others = order[: options.people], order[options.people :]
    features = sparse.csr_array(matrix[others[: options.viewers]].T)
    mean = item_means(matrix[others])
    rows = []
    for person in people:
        rated = slice(matrix.indptr[person], matrix.indptr[person + 1])
        items, y = matrix.indices[rated], matrix.data[rated]
        rounds = 40 + options.viewers // 10
        rows.append(disagreements(features[items], y, mean[items], rounds, rng))
    values = np.array(rows)[~np.isnan(rows).any(axis=1)]
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    print(f"{len(values)} people, {options.viewers:,} viewers")
    names = ("the item mean", "RankBoost", "RankBoost from twice the item mean, rate 0.1")
    for name, *figures in zip(names, values.mean(axis=0), error, strict=True):
        print("{:<45} {:.4f} +- {:.4f}".format(name, *figures))


if __name__ == "__main__":
    main()
