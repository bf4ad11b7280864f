"""Which defaults suit PRank? Mean rank loss on ordinal tables, as a Markdown table.

    PECKORDER_DATA=... .venv/bin/python benchmarks/ordinal_defaults.py

reads the tables from the folder `ordinal` below PECKORDER_DATA. Each table is divided
at random, two thirds for learning, 20 times; all rows of a column see the same parts.
"""

import os
import sys
from itertools import product
from pathlib import Path

import mord
import numpy as np
from sklearn.preprocessing import StandardScaler

from ordinal_tables import TABLES, load
from peckorder import MulticlassPerceptron, PRank, WidrowHoff
from peckorder.exceptions import DataError

REPEATS = 20


def rankers(seed: int, n_classes: int) -> dict[str, object]:
    """Return every variant of the on-line estimators by its name."""
    variants = {}
    for passes, (name, kind, extra), intercept, unit in product(
        (1, 20),
        (
            ("PRank averaged", PRank, {"rule": "averaged"}),
            ("PRank last", PRank, {"rule": "last"}),
            ("Widrow-Hoff", WidrowHoff, {}),
            ("Multiclass perceptron", MulticlassPerceptron, {}),
        ),
        (True, False),
        (True, False),
    ):
        settings = ", ".join(
            word for word, on in (("constant", intercept), ("unit norm", unit)) if on
        )
        variants[f"{name} | {passes} | {settings or '-'}"] = kind(
            **extra,
            max_iter=passes,
            shuffle=True,
            random_state=seed,
            fit_intercept=intercept,
            unit_norm=unit,
            classes=range(n_classes),
        )
    return variants


def loss(model: object, train: tuple, test: tuple) -> float:
    """Fit and test; a run that diverges has no loss."""
    try:
        return -model.fit(*train).score(*test)
    except DataError:
        return np.nan


def losses_on(X: np.ndarray, y: np.ndarray) -> dict[str, list[float]]:
    """Return the losses of everything on one table, repetition by repetition."""
    losses: dict[str, list[float]] = {}
    for seed in range(REPEATS):
        order = np.random.default_rng(seed).permutation(len(y))
        cut = 2 * len(y) // 3
        train, test = order[:cut], order[cut:]
        scaler = StandardScaler().fit(X[train])
        for form, Z in (("raw", X), ("standardised", scaler.transform(X))):
            for name, model in rankers(seed, y.max() + 1).items():
                value = loss(model, (Z[train], y[train]), (Z[test], y[test]))
                losses.setdefault(f"{name} | {form}", []).append(value)
            if form == "standardised":
                guess = mord.LogisticAT(alpha=1.0).fit(Z[train], y[train])
                wrong = np.abs(guess.predict(Z[test]) - y[test]).mean()
                name = "mord LogisticAT | to convergence | constant | standardised"
                losses.setdefault(name, []).append(wrong)
        middle = np.quantile(y[train], 0.5, method="lower")
        name = "(always the median class) | | |"
        losses.setdefault(name, []).append(np.abs(middle - y[test]).mean())
    return losses


def main() -> None:
    """Print the table, the best mean first."""
    folder = os.environ.get("PECKORDER_DATA")
    if not folder:
        sys.exit("PECKORDER_DATA must name a folder that holds the folder 'ordinal'.")
    found = {name: losses_on(*load(Path(folder) / "ordinal", name)) for name in TABLES}
    rows = []
    for ranker in next(iter(found.values())):
        means = [float(np.mean(found[table][ranker])) for table in TABLES]
        rows.append((float(np.mean(means)), ranker, means))
    rows.sort(key=lambda row: (np.isnan(row[0]), row[0]))
    print("| ranker | passes | settings | features | mean |", " | ".join(TABLES), "|")
    print("|---|---|---|---|" + "--:|" * (1 + len(TABLES)))
    for mean, ranker, means in rows:
        cells = " | ".join("div." if np.isnan(v) else f"{v:.3f}" for v in [mean, *means])
        print(f"| {ranker} | {cells} |")


if __name__ == "__main__":
    main()
