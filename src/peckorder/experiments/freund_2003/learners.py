"""Freund et al. (2003): Figure 4, the four weak learners, round by round."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from peckorder import RankBoost
from peckorder._core.typing import Floats, Ints
from peckorder.experiments.framework.experiment import (
    Claim,
    Data,
    Measured,
    Part,
    Shown,
    Units,
    Values,
)
from peckorder.experiments.framework.statistics import (
    column,
    difference_text,
    mean_curve,
    mean_text,
    side,
    verdict,
    within,
)
from peckorder.experiments.freund_2003.figures import INTERVALS, drawn
from peckorder.experiments.freund_2003.films import (
    CONSTANT,
    MEAN,
    Config,
    Tables,
    Viewers,
    draw_targets,
    load_films,
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
    order = rng.permutation(films.n_users)
    size, rounds = config.learner_features, rounds_of(config)
    viewers = Viewers(films.csr[order[:size]])
    targets = draw_targets(films.csr, order[size:], config.learner_targets, rng)
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
        given = [target.given for target in targets]
        curves[name] = {"train": errors(given, learnt), "test": errors(truths, tested)}
    means = [[Tables.of(viewers, target).item_mean(size)] for target in targets]
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
        cells = [
            mean_text(column(units, "learners", name, half)[:, position], 4)
            for half in ("train", "test")
            for position in positions
        ]
        rows.append((name, *cells))
    for name in units[0].get("others", {}):
        text = mean_text(column(units, "others", name), 4)
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
