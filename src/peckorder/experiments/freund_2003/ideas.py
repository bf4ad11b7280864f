"""Freund et al. (2003): what the paper proposes to try, on films."""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from scipy import sparse
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from peckorder._core.typing import Floats
from peckorder.experiments.framework import Claim, Data, Measured, Part, Shown, Units
from peckorder.experiments.framework.claims import above_zero
from peckorder.experiments.framework.statistics import column, difference_text
from peckorder.experiments.freund_2003.figures import INTERVALS, drawn, measures_at
from peckorder.experiments.freund_2003.film_claims import gain
from peckorder.experiments.freund_2003.films import (
    BOOST,
    CONSTANT,
    MEAN,
    MEASURES,
    NEAREST,
    PLAIN,
    REGRESSION,
    SIMILARITY,
    Config,
    Tables,
    Target,
    Viewers,
    boosted,
    compared,
    draw,
    load_films,
    tabulated,
)
from peckorder.feedback import Ratings
from peckorder.reports import Table

NORMALISED = "regression on normalised scores"
HYBRID = "RankBoost, vector similarity among the weak rankings"
COUNTS = (5, 20, 50)
SHRINKAGE = 10.0
SHRUNK = "20 nearest, with shrinkage for few common films"
ADABOOST = "AdaBoost with stumps"
BIPARTITE, BIPARTITE_PLAIN = "RankBoost.B", "RankBoost.B, WeakLearn.3"


def similarity_learner(
    tables: Tables, size: int
) -> Callable[[Data, Floats], Callable[[Data], Floats]]:
    """Return a weak learner with the best threshold on vector similarity.

    With potentials p, ``r = sum p h`` is largest for the h of one of the thresholds.
    """
    weights, means = tables.similarities(size), tables.viewers.means[:size]

    def similarity(X: Data) -> Floats:
        above = sparse.csr_array(X, copy=True)
        above.data -= means[above.indices]
        return np.asarray(above @ weights)

    def learner(X: Data, potentials: Floats) -> Callable[[Data], Floats]:
        values, index = np.unique(similarity(X), return_inverse=True)
        at_most = np.cumsum(np.bincount(index, potentials))
        threshold = values[np.argmin(at_most)]
        return lambda rows: (similarity(rows) > threshold).astype(float)

    return learner


def ideas(viewers: Viewers, target: Target) -> tuple[dict[str, list[Floats]], float]:
    """Return the scores by the paper's rankers and by those that it proposes.

    The second value is the share of rounds with vector similarity as weak ranking.
    """
    size = len(viewers)
    tables = Tables.of(viewers, target)
    nearest = tables.neighbors()
    shrunk = tables.neighbors(shrinkage=SHRINKAGE)
    weak = ["threshold", similarity_learner(tables, size)]
    hybrid, model = boosted(viewers, target, size, weak=weak)
    scores = compared(tables, [size], nearest)
    new = {
        PLAIN: boosted(viewers, target, size, cumulative=False)[0],
        HYBRID: hybrid,
        NORMALISED: tables.regression(size, normalize=True),
        **{f"{k} nearest": tables.nearest(nearest, size, k) for k in COUNTS},
        SHRUNK: tables.nearest(shrunk, size, 20, by_rated=True),
    }
    share = len(model.own_rankings_) / max(model.n_rounds_, 1)
    return scores | {name: [values] for name, values in new.items()}, share


def stump_table(table: Floats) -> Floats:
    """Return two columns per viewer: unrated below all ratings, and above them.

    So a stump can choose the side of unrated films, as a weak ranking its default.
    """
    low, high = (np.nan_to_num(table, nan=gap) for gap in (0.0, 6.0))
    return np.concatenate([low, high], axis=1)


def bipartite(viewers: Viewers, target: Target, size: int) -> dict[str, list[Floats]]:
    """Return scores learned from whether a film has the highest rating."""
    tables = Tables.of(viewers, target)
    loved = (target.given == target.given.max()).astype(float)
    rounds = 40 + size // 10
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    forest = AdaBoostClassifier(stump, n_estimators=rounds, random_state=0)
    forest.fit(stump_table(tables.learnt[:, :size]), loved)
    with_two_grades = Target(target.learnt, target.tested, loved, target.truth)
    return {
        ADABOOST: [forest.decision_function(stump_table(tables.tested[:, :size]))],
        BIPARTITE: [boosted(viewers, with_two_grades, size)[0]],
        BIPARTITE_PLAIN: [boosted(viewers, with_two_grades, size, cumulative=False)[0]],
        MEAN: [tables.item_mean(size)],
        CONSTANT: [np.zeros(len(target.truth))],
    }


def only_best(target: Target) -> Target:
    """Return the target with two grades in the test half as well."""
    loved = (target.truth == target.truth.max()).astype(float)
    return Target(target.learnt, target.tested, target.given, loved)


def measure_ideas(config: Config, films: Ratings, unit: int, rng: Generator) -> Measured:
    """Compare for some targets, by all ratings and by the highest alone."""
    viewers, targets = draw(films, config.idea_features, config.idea_targets, rng)
    scored, shares = zip(*(ideas(viewers, target) for target in targets), strict=True)
    of_two = [bipartite(viewers, target, config.bipartite_features) for target in targets]
    two_grades = [only_best(target) for target in targets]
    return Measured(
        {
            "targets": len(targets),
            "chosen": np.mean(shares),
            "rankers": tabulated(targets, scored),
            "bipartite": {"rankers": tabulated(two_grades, of_two)},
        }
    )


def show_ideas(config: Config, units: Units, seconds: Units) -> Shown:
    """Show both comparisons."""
    draws = drawn(units)
    two = [unit["bipartite"] for unit in units]
    return Shown(
        tables=(
            _table(
                units,
                BOOST,
                f"{config.idea_features:,} features, means over {draws}. Last column: "
                "RankBoost's disagreement minus that of the row, paired over draws; "
                f"above zero the row is better. {INTERVALS}",
            ),
            _table(
                two,
                BIPARTITE,
                f"Bipartite feedback: films with the target's highest rating above all "
                f"others, in both halves. {config.bipartite_features:,} features, the "
                f"same number of rounds for all; {draws}. Last column: the "
                f"disagreement of RankBoost.B minus that of the row. {INTERVALS}",
            ),
        ),
        claims=claims_on_ideas(units, two),
    )


def _table(units: Units, base: str, caption: str) -> Table:
    rows = []
    for name in units[0]["rankers"]:
        lead = difference_text(gain(units, name, base, "disagreement")[:, 0])
        rows.append((*measures_at(units, name, 0), "" if name == base else lead))
    return Table(("ranker", *MEASURES, f"gain on {base}"), tuple(rows), caption)


def claims_on_ideas(units: Units, two: Units) -> tuple[Claim, ...]:
    """Judge what the paper proposes to try."""

    def lead(name: str, other: str, among: Units = units) -> Floats:
        return np.asarray(gain(among, name, other, "disagreement")[:, 0])

    averaged = {k: lead(BOOST, f"{k} nearest") for k in COUNTS}
    normalised = lead(BOOST, NORMALISED)
    one, other = lead(HYBRID, BOOST), lead(HYBRID, SIMILARITY)
    ada = {name: lead(name, ADABOOST, two) for name in (BIPARTITE, BIPARTITE_PLAIN)}
    chosen = column(units, "chosen").mean()
    over = "; ".join(f"{k} nearest {difference_text(gains)}" for k, gains in averaged.items())
    return (
        Claim(
            "Proposed: averaging k nearest neighbours would show whether relative "
            "preferences are more informative than scores. (RankBoost stays ahead?)",
            tuple(map(above_zero, averaged.values())),
            f"RankBoost's gain in disagreement over {over}.",
        ),
        Claim(
            "Proposed: regression on scores of equal mean and variance for every viewer would "
            "separate relative preferences from boosting. (RankBoost stays ahead?)",
            (above_zero(normalised),),
            "Viewers' scores have mean 0 and variance 1 over all of their films, missing ones "
            "are 0; the target's have them over the training half. That gains "
            f"{difference_text(lead(NORMALISED, REGRESSION))} in disagreement; "
            f"RankBoost's gain over it is {difference_text(normalised)}, over plain "
            f"nearest neighbour {difference_text(lead(BOOST, NEAREST))}.",
        ),
        Claim(
            "Proposed: with vector similarity among its weak rankings RankBoost takes "
            "the best from each. (Better than both?)",
            (above_zero(one), above_zero(other)),
            "The weak ranking is the best threshold on vector similarity. Gain in disagreement "
            f"over RankBoost {difference_text(one)}, over vector "
            f"similarity {difference_text(other)}; it was chosen in {chosen:.1%} of "
            "the rounds.",
        ),
        Claim(
            "Proposed: on bipartite feedback, compare with AdaBoost's ordering. "
            "(Is minimising ranking loss superior?)",
            tuple(map(above_zero, ada.values())),
            "Gain in disagreement over AdaBoost: RankBoost.B "
            f"{difference_text(ada[BIPARTITE])}, without positive sums "
            f"{difference_text(ada[BIPARTITE_PLAIN])}.",
        ),
    )


IDEAS = Part(
    "ideas",
    "What the paper proposes to try",
    load_films,
    lambda config: config.idea_splits,
    measure_ideas,
    show_ideas,
)
