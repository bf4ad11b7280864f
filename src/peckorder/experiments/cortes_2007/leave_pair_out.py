"""Cortes, Mohri and Rastogi (2007): leave-pair-out against held-out error."""

import numpy as np
from numpy.random import Generator

from peckorder._core.typing import Floats
from peckorder.estimators import MPRankCV
from peckorder.experiments.cortes_2007.data import (
    Config,
    Features,
    Problem,
    Reviews,
    draw_features,
    draw_reviewers,
    load_movielens,
)
from peckorder.experiments.cortes_2007.rankers import judge, mprank_path
from peckorder.experiments.cortes_2007.tables import HALF
from peckorder.experiments.framework import Claim, Measured, Part, Shown, Units
from peckorder.experiments.framework.claims import above_zero, within
from peckorder.experiments.framework.statistics import (
    columns,
    difference_text,
    mean_curve,
    mean_row,
    mean_text,
    signed,
)
from peckorder.reports import Chart, Curve, Table

# The largest relative error of the estimate, and its least correlation with the error.
_NEAR, _LINEAR = 0.05, 0.9


def measure_left_out(config: Config, data: Reviews, unit: int, rng: Generator) -> Measured:
    """Estimate the error of every gamma and C in both ways, for some reviewers."""
    drawn = draw_reviewers(data, config.left_out_reviewers, rng)
    table = draw_features(data, data.groups[-1], drawn, config.references, rng)
    features = Features.of(data.ratings, table)
    problems = [features.problem(reviewer) for reviewer in drawn]
    estimates = np.stack(
        [estimated(config, p.rows[: p.n_train], p.train, features.scale) for p in problems]
    )
    errors = np.stack([held_out(problem, config) for problem in problems])
    flat = errors.reshape(len(problems), -1)
    own = estimates.reshape(flat.shape).argmin(axis=1)
    one = int(estimates.mean(axis=0).argmin())
    tests = [problem.test for problem in problems]
    share = np.array([pairs_share(len(test)) for test in tests])
    constant = share * judge(tests, [np.zeros(len(test)) for test in tests], "msd")
    popular = [problem.popular[problem.n_train :] for problem in problems]
    return Measured(
        {
            "estimate": estimates.mean(axis=0),
            "error": errors.mean(axis=0),
            "own": float(flat[np.arange(len(flat)), own].mean()),
            "one": float(flat[:, one].mean()),
            "best": float(flat.mean(axis=0).min()),
            "best of each": float(flat.min(axis=1).mean()),
            "item mean": float((share * judge(tests, popular, "msd")).mean()),
            "constant": float(constant.mean()),
        }
    )


def pairs_share(n: int) -> float:
    """Return the factor from a mean over n^2 pairs to one over pairs of two rows."""
    return n / (n - 1.0)


def estimated(
    config: Config, rows: Floats, y: Floats, scale: float, method: str = "exact"
) -> Floats:
    """Return (n_gammas, n_Cs) leave-pair-out errors; gammas in units of 1 / scale."""
    gammas = [gamma / scale for gamma in config.gammas]
    model = MPRankCV(Cs=config.Cs, gammas=gammas, kernel="rbf", method=method)
    errors: Floats = model.fit(rows, y).errors_
    return errors


def held_out(problem: Problem, config: Config) -> Floats:
    """Return (n_gammas, n_Cs) errors of pairs of two rows on the test half."""
    paths = [mprank_path(problem, gamma, config) for gamma in config.gammas]
    errors = np.array([2.0 * (path - problem.test[:, None]).var(axis=0) for path in paths])
    return np.asarray(errors * pairs_share(len(problem.test)))


def show_left_out(config: Config, units: Units, seconds: Units) -> Shown:
    """Show both errors over C, one against the other, and the cost of the choice."""
    measured = columns(units)
    estimate, error, constant = (measured[key] for key in ("estimate", "error", "constant"))
    caption = (
        f"{'Synthetic ratings' if config.synthetic else 'MovieLens 1M'}, references of "
        f"60-80 ratings: {len(units)} repetitions of {config.left_out_reviewers} "
        "reviewers. Errors are mean squared differences over pairs of two films."
    )
    mean = error.mean(axis=0)
    best = int(np.unravel_index(mean.argmin(), mean.shape)[0])
    x, y = estimate.mean(axis=0).ravel(), mean.ravel()
    order = np.argsort(x, kind="stable")
    ends = np.array([x.min(), x.max()])
    charts = (
        Chart(
            "Leave-pair-out and held-out error over C",
            "C",
            "mean squared difference",
            (
                mean_curve("leave-pair-out", config.Cs, estimate[:, best]),
                mean_curve("the other half", config.Cs, error[:, best]),
            ),
            f"{caption} Gamma is {config.gammas[best]:g}, the best on the other half. "
            "Bands are 95 % intervals of the mean.",
            reference=("constant", float(constant.mean())),
            log_x=True,
        ),
        Chart(
            "Held-out error against the leave-pair-out estimate",
            "leave-pair-out estimate",
            "error on the other half",
            (
                Curve("all gamma and C, in order of the estimate", x[order], y[order]),
                Curve("equal", ends, ends),
            ),
            caption,
        ),
    )
    labels = {
        "best": "the best one gamma and C (by the other half itself)",
        "one": "one gamma and C, by leave-pair-out of all training halves",
        "own": "each reviewer's own, by leave-pair-out",
        "best of each": "the best of each reviewer (by the other half itself)",
        "item mean": "item mean",
        "constant": "constant",
    }
    rows = tuple(
        (
            *mean_row(label, measured[key], measured[key] / constant),
            difference_text(measured[key] - measured["best"], 4),
        )
        for key, label in labels.items()
    )
    table = Table(
        ("gamma and C", "error on the other half", "over a constant", "minus the best"),
        rows,
        f"{caption} Mean ± half the 95 % interval.",
    )
    return Shown((), (table,), charts, (_claim(units),))


def _claim(units: Units) -> Claim:
    """Judge by the relative error of the estimate, and by its correlation."""
    measured = columns(units)
    estimate, error = measured["estimate"], measured["error"]
    relative = (estimate / error - 1.0).reshape(len(units), -1)
    off = relative.mean(axis=1)
    linear = np.array(
        [
            np.corrcoef(one.ravel(), other.ravel())[0, 1]
            for one, other in zip(estimate, error, strict=True)
        ]
    )
    cost, own = measured["one"] - measured["best"], measured["own"] - measured["one"]
    low, high = relative.mean(axis=0).min(), relative.mean(axis=0).max()
    return Claim(
        "The leave-one-out error of MPRank can be computed, and estimates its error.",
        (within(off, _NEAR), above_zero(linear - _LINEAR)),
        f"Over all gamma and C the estimate is {difference_text(100 * off, 1)} % "
        "from the error on the other half "
        f"({signed(100 * low, 1)} to {signed(100 * high, 1)} %), with a "
        f"correlation of {mean_text(linear)} in a repetition. One choice for all by it "
        f"costs {difference_text(cost, 4)} against the best; a choice per reviewer "
        f"costs {difference_text(own, 4)} more; {HALF}. Judged by whether it "
        f"is within {_NEAR:.0%} in the mean, and by a correlation above {_LINEAR}.",
    )


LEFT_OUT = Part(
    "left-out",
    "Leave-pair-out against held-out error",
    load_movielens,
    lambda config: config.left_out_repetitions,
    measure_left_out,
    show_left_out,
)
