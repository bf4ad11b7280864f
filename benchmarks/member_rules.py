"""Rules by which members of an AggregatePRank predict, and orders in which they learn.

As a Markdown table ::

    PECKORDER_DATA=... .venv/bin/python benchmarks/member_rules.py

reads the tables of `ordinal_tables` from the folder `ordinal` below PECKORDER_DATA; every
other one is of the first half, by which one may choose. A last table is synthetic: skewed
features with heavy tails, ten classes of equal frequency of a noisy skewed target.
Each is divided at random, two thirds for learning, 6 times. "right" is the chance that of
two rows, one placed rightly and one not, members agree more on the former.
"""

import os
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from ordinal_tables import TABLES, load
from peckorder import AggregatePRank, PRank

REPEATS, PASSES = 6, (1, 20)
KINDS = [(rule, how) for rule in ("last", "averaged") for how in ("bernoulli", "permutation")]


def skewed(n: int = 6000, d: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Return the synthetic table."""
    rng = np.random.default_rng(0)
    X = np.exp(1.2 * rng.normal(size=(n, d))) * (1 + 50 * rng.random(d))
    noise = 0.8 * np.abs(rng.standard_t(3, n))
    target = np.exp(0.5 * (0.6 * np.log(X) @ rng.normal(size=d) + noise))
    return X, np.searchsorted(np.quantile(target, np.arange(1, 10) / 10), target)


def measured(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Return of each ranker the mean loss, its deviation between seeds, and "right"."""
    found: dict[str, list[list[float]]] = {}
    options = {"classes": range(y.max() + 1)}
    for seed in range(REPEATS):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = np.split(order, [2 * len(y) // 3])
        scaled = StandardScaler().fit(X[train]).transform(X)
        for form, Z in (("raw", X), ("standardised", scaled)):
            for passes in PASSES:
                one = PRank(max_iter=passes, **options).fit(Z[train], y[train])
                name = f"one PRank, averaged | {passes} | {form}"
                found.setdefault(name, []).append([-one.score(Z[test], y[test]), np.nan, np.nan])
                for rule, sampling in KINDS:
                    settings = {"max_iter": passes, "n_estimators": 50, "member_rule": rule}
                    settings["sampling"] = sampling
                    models = [
                        AggregatePRank(**settings, random_state=k, **options) for k in range(3)
                    ]
                    losses = [-m.fit(Z[train], y[train]).score(Z[test], y[test]) for m in models]
                    right = models[0].predict(Z[test]) == y[test]
                    agreed = models[0].predict_proba(Z[test]).max(axis=1)
                    auc = roc_auc_score(right, agreed) if 0 < right.mean() < 1 else np.nan
                    row = [float(np.mean(losses)), float(np.std(losses)), auc]
                    name = f"members' {rule}, {sampling} | {passes} | {form}"
                    found.setdefault(name, []).append(row)
    return {name: np.array(rows) for name, rows in found.items()}


def main() -> None:
    """Print the means over each half of the tables, and those of the synthetic one."""
    folder = os.environ.get("PECKORDER_DATA")
    if not folder:
        sys.exit("PECKORDER_DATA must name a folder that holds the folder 'ordinal'.")
    found = [measured(*load(Path(folder) / "ordinal", name)) for name in TABLES]
    halves = (found[::2], found[1::2], [measured(*skewed())])
    print("| rule | passes | features | first half | second half | skewed | seeds | right |")
    print("|---|--:|---|--:|--:|--:|--:|--:|")
    for name in found[0]:
        means = [f"{np.mean([table[name][:, 0].mean() for table in half]):.3f}" for half in halves]
        every = np.concatenate([table[name] for table in found])
        if np.isnan(every[:, 1]).all():
            others = ["", ""]
        else:
            others = [f"{every[:, 1].mean():.3f}", f"{np.nanmean(every[:, 2]):.2f}"]
        print("|", " | ".join([name, *means, *others]), "|")


if __name__ == "__main__":
    main()
