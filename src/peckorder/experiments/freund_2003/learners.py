"""Freund et al. (2003): other learners on films: Figure 4, and the paper's ideas."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator
from scipy import sparse
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from peckorder import RankBoost
from peckorder._core.typing import Floats, Ints
from peckorder.experiments.framework import Claim, Data, Measured, Part, Shown, Units, Values
from peckorder.experiments.framework.statistics import (
    column,
    columns,
    difference_text,
    mean_curve,
    mean_row,
    mean_text,
    side,
    verdict,
    within,
)
from peckorder.experiments.freund_2003.figures import INTERVALS, drawn, gain, measures_at
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
from peckorder.metrics import disagreement
from peckorder.reports import Chart, Table

# The second and third method of choosing alpha; .cum: positive sums of alphas.
LEARNERS: dict[str, Values] = {
    "WeakLearn.2": {"alpha": "analytic", "cumulative": False},
    "WeakLearn.3": {"alpha": "approximate", "cumulative": False},
    "WeakLearn.2.cum": {"alpha": "analytic", "cumulative": True},
    "WeakLearn.3.cum": {"alpha": "approximate", "cumulative": True},
}
_POINTS = 40
# Test errors that differ by no more are called alike.
_ALIKE = 0.002


def rounds_of(config: Config) -> Ints:
    """Return the rounds at which errors are measured, dense at the beginning."""
    points = np.rint(np.geomspace(1, config.rounds_shown, _POINTS)).astype(int)
    return np.unique([*points, *_tabled(config)])


def _tabled(config: Config) -> tuple[int, int]:
    """Return the rounds of the table: 50, or half of fewer, and the last."""
    return min(50, max(config.rounds_shown // 2, 1)), config.rounds_shown


def stages(model: RankBoost, X: Data, rounds: Ints) -> list[Floats]:
    """Return the scores after some rounds, or after the last if it stopped before."""
    scores = [np.zeros(X.shape[0]), *model.staged_predict(X)]
    return [scores[min(n_rounds, len(scores) - 1)] for n_rounds in rounds]


def errors(truths: Sequence[Floats], staged: Sequence[Sequence[Floats]]) -> list[float]:
    """Return the mean disagreement after each of the rounds."""
    truth = np.concatenate(truths)
    person = np.repeat(np.arange(len(truths)), [len(truth) for truth in truths])
    columns = zip(*staged, strict=True)
    return [float(disagreement(truth, np.concatenate(scores), qid=person)) for scores in columns]


def measure_learners(config: Config, films: Ratings, unit: int, rng: Generator) -> Measured:
    """Boost for some targets with each weak learner; measure errors on both halves."""
    rounds = rounds_of(config)
    viewers, targets = draw(films, config.learner_features, config.learner_targets, rng)
    given = [target.given for target in targets]
    truths = [target.truth for target in targets]
    curves = {}
    for name, settings in LEARNERS.items():
        learnt, tested = [], []
        for target in targets:
            X = viewers.by_item[target.learnt]
            model = RankBoost(
                n_rounds=config.rounds_shown, missing="abstain", n_jobs=1, **settings
            ).fit(X, target.given)
            learnt.append(stages(model, X, rounds))
            tested.append(stages(model, viewers.by_item[target.tested], rounds))
        curves[name] = {"train": errors(given, learnt), "test": errors(truths, tested)}
    means = [[Tables.of(viewers, target).item_mean(len(viewers))] for target in targets]
    return Measured(
        {
            "targets": len(targets),
            "learners": curves,
            "others": {MEAN: errors(truths, means)[0], CONSTANT: 0.5},
        }
    )


def learner_table(config: Config, units: Units, caption: str) -> Table:
    """Return the errors of the weak learners after some rounds, and of baselines."""
    rounds = rounds_of(config)
    tabled = _tabled(config)
    positions = np.searchsorted(rounds, tabled)
    headings = [f"{half}, {n_rounds} rounds" for half in ("train", "test") for n_rounds in tabled]
    rows = []
    for name in units[0]["learners"]:
        train, test = (column(units, "learners", name, h)[:, positions] for h in ("train", "test"))
        rows.append(mean_row(name, *train.T, *test.T, decimals=4))
    for name, values in columns(units, "others").items():
        text = mean_text(values, 4)
        rows.append((name, "", "", text, text))
    return Table(("disagreement", *headings), tuple(rows), caption)


def learner_charts(config: Config, units: Units, title: str) -> tuple[Chart, ...]:
    """Return the two panels of figure 4."""
    return tuple(
        Chart(
            f"Figure 4 on {title}: {half} error",
            "round",
            "disagreement",
            tuple(
                mean_curve(name, rounds_of(config), column(units, "learners", name, half))
                for name in LEARNERS
            ),
            f"Means over {len(units)} repetitions; bands are their 95 % intervals.",
        )
        for half in ("train", "test")
    )


def learner_claims(units: Units, title: str) -> tuple[Claim, ...]:
    """Judge the claims about figure 4."""

    def last(name: str, half: str) -> Floats:
        return column(units, "learners", name, half)[:, -1]

    two, three = last("WeakLearn.2", "train"), last("WeakLearn.3", "train")
    cum = [last(f"WeakLearn.{n}.cum", "train") for n in (2, 3)]
    hampered = [side(errors - three) for errors in cum]
    gains = [last(f"WeakLearn.{n}", "test") - last(f"WeakLearn.{n}.cum", "test") for n in (2, 3)]
    difference = last("WeakLearn.2.cum", "test") - last("WeakLearn.3.cum", "test")
    overfit = []
    for n in ("3", "3.cum"):
        errors_ = column(units, "learners", f"WeakLearn.{n}", "test")
        overfit.append(errors_[:, -1] - errors_[:, errors_.mean(axis=0).argmin()])
    return (
        Claim(
            f"WeakLearn.2 has the lowest train error, then WeakLearn.3, then .cum ({title}).",
            verdict([side(three - two), *hampered]),
            f"After the last round {two.mean():.4f}, {three.mean():.4f}; .2.cum "
            f"{cum[0].mean():.4f}, .3.cum {cum[1].mean():.4f}.",
        ),
        Claim(
            f"Positive cumulative weights lower the test error and resist overfitting ({title}).",
            verdict([*map(side, gains), side(overfit[0] - overfit[1])]),
            f"Gain of .cum: second method {difference_text(gains[0], 4)}, third "
            f"{difference_text(gains[1], 4)}; rise from the best round to the last: "
            f"WeakLearn.3 {overfit[0].mean():.4f}, WeakLearn.3.cum "
            f"{overfit[1].mean():.4f}.",
        ),
        Claim(
            f"With .cum there is no difference between the second and the third method ({title}).",
            verdict([within(difference, _ALIKE)]),
            "Test error of .2.cum minus that of .3.cum: "
            f"{difference_text(difference, 4)}; no difference is within {_ALIKE}.",
        ),
    )


def show_learners(config: Config, units: Units, seconds: Units) -> Shown:
    """Show figure 4 on films."""
    caption = (
        f"{drawn(units)}, {config.learner_features:,} features; ties count one half. {INTERVALS}"
    )
    return Shown(
        paragraphs=(
            "The paper draws figure 4 for its web searches, and says of films that "
            ".cum has the lower test error. Ranked lists are shown with table 1.",
        ),
        tables=(learner_table(config, units, caption),),
        charts=learner_charts(config, units, "films"),
        claims=learner_claims(units, "films"),
    )


FIGURE_4 = Part(
    "figure-4",
    "Figure 4: four weak learners, on films",
    load_films,
    lambda config: config.learner_splits,
    measure_learners,
    show_learners,
)


# What the paper proposes.

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
        claims=_claims(units, two),
    )


def _table(units: Units, base: str, caption: str) -> Table:
    rows = []
    for name in units[0]["rankers"]:
        lead = difference_text(gain(units, name, base, "disagreement")[:, 0])
        rows.append((*measures_at(units, name, 0), "" if name == base else lead))
    return Table(("ranker", *MEASURES, f"gain on {base}"), tuple(rows), caption)


def _claims(units: Units, two: Units) -> tuple[Claim, ...]:
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
            verdict(side(gains) for gains in averaged.values()),
            f"RankBoost's gain in disagreement over {over}.",
        ),
        Claim(
            "Proposed: regression on normalised scores would separate relative "
            "preferences from boosting. (RankBoost stays ahead?)",
            verdict([side(normalised)]),
            "Normalising gains "
            f"{difference_text(lead(NORMALISED, REGRESSION))} in disagreement; "
            f"RankBoost's gain over it is {difference_text(normalised)}, over plain "
            f"nearest neighbour {difference_text(lead(BOOST, NEAREST))}.",
        ),
        Claim(
            "Proposed: with vector similarity among its weak rankings RankBoost takes "
            "the best from each. (Better than both?)",
            verdict([side(one), side(other)]),
            f"Gain in disagreement over RankBoost {difference_text(one)}, over vector "
            f"similarity {difference_text(other)}; it was chosen in {chosen:.1%} of "
            "the rounds.",
        ),
        Claim(
            "Proposed: on bipartite feedback, compare with AdaBoost's ordering. "
            "(Is minimising ranking loss superior?)",
            verdict(side(gains) for gains in ada.values()),
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
