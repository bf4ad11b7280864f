"""Rank losses of PRank's updates on the square of the paper: ``updates_of_prank.py [samples]``."""

import sys

import numpy as np

from peckorder import PRank
from peckorder.datasets import make_square

UPDATES = [("perceptron", 1.0), ("romma", 1.0)]
UPDATES += [("projection", C) for C in (None, 1.0, 0.5, 0.3, 0.2, 0.1)]
N_ROWS, N_NEW = 5000, 1000


def losses(rule, update, C, n_samples):
    """Yield the loss on new rows after one pass, per sample."""
    for seed in range(n_samples):
        X, y = make_square(N_ROWS + N_NEW, random_state=1000 + seed)
        model = PRank(rule=rule, update=update, C=C, fit_intercept=False, unit_norm=False)
        yield -model.fit(X[:N_ROWS], y[:N_ROWS]).score(X[N_ROWS:], y[N_ROWS:])


def main():
    """Print a line per rule and update."""
    n_samples = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for rule in ("last", "averaged"):
        for update, C in UPDATES:
            loss = list(losses(rule, update, C, n_samples))
            half = 1.96 * np.std(loss, ddof=1) / np.sqrt(n_samples)
            name = f"{update} C={C}" if update == "projection" else update
            print(f"{rule:8} {name:18} {np.mean(loss):.3f} ± {half:.3f}")


if __name__ == "__main__":
    main()
