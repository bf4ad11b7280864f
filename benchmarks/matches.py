"""Rankings of items by matches beside Bradley-Terry, and what preferences cost MPRank.

`python benchmarks/matches.py`; choix is in the dependency group `bench`.
"""

import argparse
import tracemalloc
import warnings
from collections import defaultdict

import choix
import numpy as np
from scipy import sparse
from scipy.special import expit
from scipy.stats import kendalltau, norm, skellam
from sklearn.linear_model import Ridge

from measure import in_turn, seconds, show
from peckorder import MPRank, MPRankCV, Preferences, rank_items

# Penalties of Bradley-Terry: almost none, 1/2 for strengths of variance 1, and more.
ALPHAS = (1e-6, 0.5, 5.0)
# Items and matches.
CASES = {
    "normal margins": (20, 60),
    "normal margins, more matches": (20, 400),
    "goals": (20, 190),
    "goals, more matches": (20, 760),
    "wins only": (20, 190),
    "wins only, more matches": (20, 760),
}


def played(case: str, rng: np.random.Generator) -> tuple:
    """Return strengths, and matches of two: who, and by how much the first won."""
    n_items, n_matches = CASES[case]
    strength = rng.standard_normal(n_items)
    first = np.concatenate([np.arange(n_items), rng.integers(0, n_items, n_matches - n_items)])
    second = (first + rng.integers(1, n_items, n_matches)) % n_items
    apart = strength[first] - strength[second]
    if case.startswith("normal"):
        margin = apart + 1.5 * rng.standard_normal(n_matches)
    elif case.startswith("goals"):
        goals = rng.poisson(1.4 * np.exp(0.25 * np.stack([apart, -apart])))
        margin = (goals[0] - goals[1]).astype(float)
    else:
        margin = np.where(rng.random(n_matches) < expit(apart), 1.0, -1.0)
    return strength, first, second, margin


def chances(case: str, strength: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return how likely the first wins rather than loses."""
    apart = strength[first] - strength[second]
    if case.startswith("normal"):
        return norm.cdf(apart / 1.5)
    if case.startswith("wins"):
        return expit(apart)
    rates = 1.4 * np.exp(0.25 * np.stack([apart, -apart]))
    lose, win = skellam.cdf(-1, *rates), skellam.sf(0, *rates)
    return win / (win + lose)


def preferences(first: np.ndarray, second: np.ndarray, margin: np.ndarray) -> Preferences:
    """Return matches as preferences, of which draws have size 0."""
    is_first = margin >= 0
    better, worse = np.where(is_first, first, second), np.where(is_first, second, first)
    return Preferences(better, worse, size=np.abs(margin))


def rankings(first: np.ndarray, second: np.ndarray, margin: np.ndarray, n_items: int) -> dict:
    """Return scores, and chances of the first in each of all pairs, by method."""
    found, ids = {}, np.arange(n_items)
    a, b = np.triu_indices(n_items, 1)
    by_margin, by_win = (preferences(first, second, m) for m in (margin, np.sign(margin)))
    forms = {"margins": by_margin, "wins": by_win}
    if np.all(np.abs(margin) <= 1):
        del forms["margins"]
    for name, pairs in forms.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranking = rank_items(pairs, ids)
        found[f"rank_items, {name}"] = ranking.scores, ranking.probability(a, b)
        model = MPRankCV(Cs=np.logspace(-1, 5, 13)).fit(sparse.eye_array(n_items).tocsr(), pairs)
        found[f"MPRankCV, {name}"] = model.coef_, None
    won, lost = np.where(margin >= 0, [first, second], [second, first])
    data, times = np.stack([won, lost], axis=1), 1.0
    if not margin.all():
        # A draw is won by both, once each: all other matches count twice.
        again = np.where(margin == 0, [lost, won], [won, lost])
        data, times = np.concatenate([data, again.T]), 2.0
    for alpha in ALPHAS:
        strength = choix.opt_pairwise(n_items, data.tolist(), alpha=times * alpha)
        found[f"Bradley-Terry, alpha={alpha:g}"] = strength, expit(strength[a] - strength[b])
    return found


def quality(repeats: int) -> None:
    """Show how near scores are to strengths, and chances to what they are."""
    a, b = np.triu_indices(20, 1)
    for case, (n_items, n_matches) in CASES.items():
        rows = defaultdict(list)
        for seed in range(repeats):
            strength, first, second, margin = played(case, np.random.default_rng(seed))
            truth = chances(case, strength, a, b)
            for name, (scores, said) in rankings(first, second, margin, n_items).items():
                tau = kendalltau(scores, strength).statistic
                loss = np.nan
                if said is not None:
                    p = np.clip(said, 1e-6, 1 - 1e-6)
                    loss = -np.mean(truth * np.log(p) + (1 - truth) * np.log(1 - p))
                rows[name].append((tau, loss))
        print(f"\n{case}: {n_items} items, {n_matches} matches, {repeats} seeds: tau, log loss")
        base = np.array(rows["Bradley-Terry, alpha=0.5"])
        for name, values in rows.items():
            mean = np.mean(values, axis=0)
            apart = np.array(values) - base
            half = 1.96 * apart.std(axis=0, ddof=1) / np.sqrt(repeats)
            text = f"{mean[0]:.3f} ({apart[:, 0].mean():+.3f} +- {half[0]:.3f})"
            if np.isfinite(mean[1]):
                text += f"   {mean[1]:.3f} ({apart[:, 1].mean():+.3f} +- {half[1]:.3f})"
            print(f"  {name:<28} {text}")


def random_pairs(rng: np.random.Generator, n_items: int, n_pairs: int, noise: float) -> tuple:
    """Return strengths and matches with normal margins."""
    strength = rng.standard_normal(n_items)
    first = rng.integers(0, n_items, n_pairs)
    second = (first + rng.integers(1, n_items, n_pairs)) % n_items
    margin = strength[first] - strength[second] + noise * rng.standard_normal(n_pairs)
    return strength, preferences(first, second, margin)


def speed(repeats: int) -> None:
    """Show how long items take to rank."""
    print("\nSeconds")
    for n_items, n_pairs in ((100, 2_000), (1_000, 20_000), (20_000, 200_000)):
        _, pairs = random_pairs(np.random.default_rng(0), n_items, n_pairs, 1.0)
        data = np.stack(pairs.pairs()[:2], axis=1).tolist()
        actions = {"rank_items": lambda pairs=pairs: rank_items(pairs)}
        if n_items <= 1_000:
            actions |= {
                "choix.ilsr_pairwise": lambda data=data, n=n_items: choix.ilsr_pairwise(
                    n, data, alpha=1e-3
                ),
                "choix.opt_pairwise": lambda data=data, n=n_items: choix.opt_pairwise(
                    n, data, alpha=1e-3
                ),
            }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, taken in in_turn(actions, repeats).items():
                show(f"{name}, {n_items:,} items, {n_pairs:,} matches", f"{taken:.4f}")


def rows_with_features(n_rows: int, n_pairs: int, d: int, repeats: int) -> None:
    """Show what MPRank of pairs costs beside a ridge regression on their differences."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, d))
    strength = X @ rng.standard_normal(d)
    better = rng.integers(0, n_rows, n_pairs)
    worse = (better + rng.integers(1, n_rows, n_pairs)) % n_rows
    margin = strength[better] - strength[worse] + rng.standard_normal(n_pairs)
    flip = margin < 0
    better, worse = np.where(flip, worse, better), np.where(flip, better, worse)
    pairs = Preferences(better, worse, size=np.abs(margin))
    C = 100.0
    ridge = n_pairs * n_rows / (n_rows - 1) / C

    def listed() -> Ridge:
        model = Ridge(alpha=ridge, fit_intercept=False)
        return model.fit(X[better] - X[worse], np.abs(margin))

    what = f"{n_rows:,} rows x {d}, {n_pairs:,} pairs"
    models = {"MPRank": lambda: MPRank(C=C).fit(X, pairs), "Ridge on differences": listed}
    apart = np.abs(models["MPRank"]().coef_ - listed().coef_).max()
    show(f"{what}: largest difference of coefficients", f"{apart:.1e}")
    for name, taken in in_turn(models, repeats).items():
        tracemalloc.start()
        models[name]()
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        show(f"{what}: {name}, s", f"{taken:.2f}")
        show("  beyond rows and pairs, MiB", f"{peak:.0f}")


def leaving_out(n_rows: int, n_pairs: int, d: int) -> None:
    """Show what leaving out costs beside training again."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, d))
    _, pairs = random_pairs(rng, n_rows, n_pairs, 1.0)
    model = MPRank(kernel="rbf", C=10.0)
    fit = seconds(lambda: model.fit(X, pairs))
    fit = min(fit, seconds(lambda: model.fit(X, pairs)))
    what = f"RBF, {n_rows:,} rows, {n_pairs:,} pairs"
    show(f"{what}: a fit, s", f"{fit:.2f}")
    for name in ("leave_pair_out_error", "leave_row_out_error"):
        taken = seconds(getattr(model, name))
        show(f"{what}: {name}, s", f"{taken:.2f}")
        n_models = n_pairs if "pair_out" in name else n_rows
        show(f"  training again {n_models:,} times over it", f"{n_models * fit / taken:,.0f}")
    search = MPRankCV(kernel="rbf", Cs=np.logspace(-2, 5, 20))
    show(f"{what}: MPRankCV, 20 values of C, s", f"{seconds(lambda: search.fit(X, pairs)):.2f}")


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--parts", nargs="+", default=["speed", "quality"])
    options = parser.parse_args()
    if "speed" in options.parts:
        speed(options.repeats)
        rows_with_features(100_000, 1_000_000, 50, options.repeats)
        leaving_out(1_000, 5_000, 20)
    if "quality" in options.parts:
        quality(options.seeds)


if __name__ == "__main__":
    main()
