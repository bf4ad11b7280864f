"""Rank losses of the samplings of AggregatePRank: ``samplings_of_ensembles.py [samples]``."""

import sys

import numpy as np

from peckorder import AggregatePRank, PRank
from peckorder.datasets import make_square

N_ROWS, N_NEW = 5000, 1000
VIEW = {"fit_intercept": False, "unit_norm": False}
SAMPLINGS = ["bernoulli", "poisson", "permutation"]
MODELS = {
    f"{sampling} {aggregate} {rule}": AggregatePRank(
        sampling=sampling, aggregate=aggregate, member_rule=rule, random_state=0, **VIEW
    )
    for rule in ("last", "averaged")
    for aggregate in ("bayes_point", "bagging")
    for sampling in SAMPLINGS
}
MODELS |= {f"PRank {rule}": PRank(rule=rule, **VIEW) for rule in ("last", "averaged")}


def losses(model, n_samples):
    """Yield the loss on new rows after one pass, per sample."""
    for seed in range(n_samples):
        X, y = make_square(N_ROWS + N_NEW, random_state=1000 + seed)
        yield -model.fit(X[:N_ROWS], y[:N_ROWS]).score(X[N_ROWS:], y[N_ROWS:])


def main():
    """Print a line per model."""
    n_samples = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for name, model in MODELS.items():
        loss = list(losses(model, n_samples))
        half = 1.96 * np.std(loss, ddof=1) / np.sqrt(n_samples)
        print(f"{name:36} {np.mean(loss):.3f} ± {half:.3f}")


if __name__ == "__main__":
    main()
