"""Rank losses of the PRank paper's baselines on its square: ``baselines_of_prank.py [samples]``."""

import sys

import numpy as np

from peckorder import MulticlassPerceptron, PRank, WidrowHoff
from peckorder.datasets import make_square

N_ROWS, N_NEW = 5000, 1000
VIEW = {"fit_intercept": False, "unit_norm": False}
MODELS = {
    "PRank": PRank,
    "WidrowHoff eta=0.1": lambda **options: WidrowHoff(eta=0.1, **options),
    "WidrowHoff eta=1 normalized": lambda **options: WidrowHoff(
        eta=1.0, step="normalized", **options
    ),
    "MulticlassPerceptron max": MulticlassPerceptron,
    "MulticlassPerceptron uniform": lambda **options: MulticlassPerceptron(
        update="uniform", **options
    ),
}


def losses(model, n_samples):
    """Yield the loss on new rows after one pass, per sample."""
    for seed in range(n_samples):
        X, y = make_square(N_ROWS + N_NEW, random_state=1000 + seed)
        yield -model.fit(X[:N_ROWS], y[:N_ROWS]).score(X[N_ROWS:], y[N_ROWS:])


def main():
    """Print a line per model and rule."""
    n_samples = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for name, make in MODELS.items():
        for rule in ("last", "averaged"):
            loss = list(losses(make(rule=rule, **VIEW), n_samples))
            half = 1.96 * np.std(loss, ddof=1) / np.sqrt(n_samples)
            print(f"{name:30} {rule:8} {np.mean(loss):.3f} ± {half:.3f}")


if __name__ == "__main__":
    main()
