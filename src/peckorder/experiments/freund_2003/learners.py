"""Freund et al. (2003): Figure 4, four weak learners; on films."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from peckorder import RankBoost
from peckorder._core.typing import Floats, Ints
from peckorder.experiments.framework import Claim, Data, Measured, Part, Shown, Units, Values
from peckorder.experiments.framework.claims import above_zero, below, below_all, within
from peckorder.experiments.framework.statistics import (
    column,
    columns,
    difference_text,
    mean_curve,
    mean_row,
    mean_text,
)
from peckorder.experiments.freund_2003.figures import INTERVALS, drawn
from peckorder.experiments.freund_2003.films import CONSTANT, MEAN, Config, Tables, draw, load_films
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
_FLAT_AFTER, _FIGURE_ENDS = (40, 50), 200
# Test errors that differ by no more are called alike.
_ALIKE = 0.002
_FLAT = 0.1
# The weak learner that the paper chooses.
CHOSEN = "WeakLearn.3.cum"
# Errors of a weak learner, in the train or test half, after the i-th of `judged_rounds`.
AfterRounds: TypeAlias = Callable[[str, str, int], Floats]


def rounds_of(n_rounds: int) -> Ints:
    """Return the rounds at which errors are measured, dense at the beginning."""
    points = np.rint(np.geomspace(1, n_rounds, _POINTS)).astype(int)
    return np.unique([*points, *judged_rounds(n_rounds)])


def judged_rounds(n_rounds: int) -> Ints:
    """Return the rounds that claims are about, or such shares of fewer: 40, 50, 200.

    After 40 and 50 the paper saw the training error decrease no more; its figure ends
    at 200. The last round is the last of these.
    """
    figure = min(n_rounds, _FIGURE_ENDS)
    early = [max(figure * n // _FIGURE_ENDS, 1) for n in _FLAT_AFTER]
    return np.array([*early, figure, n_rounds])


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
    rounds = rounds_of(config.film_rounds)
    viewers, targets = draw(films, config.learner_features, config.learner_targets, rng)
    given = [target.given for target in targets]
    truths = [target.truth for target in targets]
    curves = {}
    for name, settings in LEARNERS.items():
        learnt, tested = [], []
        for target in targets:
            X = viewers.by_item[target.learnt]
            model = RankBoost(
                n_rounds=config.film_rounds, missing="abstain", n_jobs=1, **settings
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


def learner_table(n_rounds: int, units: Units, caption: str) -> Table:
    """Return the errors of the weak learners after some rounds, and of baselines."""
    rounds = rounds_of(n_rounds)
    tabled = np.unique(judged_rounds(n_rounds)[1:])
    positions = np.searchsorted(rounds, tabled)
    headings = [f"{half}, {n} rounds" for half in ("train", "test") for n in tabled]
    rows = []
    for name in units[0]["learners"]:
        train, test = (column(units, "learners", name, h)[:, positions] for h in ("train", "test"))
        rows.append(mean_row(name, *train.T, *test.T, decimals=4))
    for name, values in columns(units, "others").items():
        text = mean_text(values, 4)
        rows.append((name, *[""] * len(tabled), *[text] * len(tabled)))
    return Table(("disagreement", *headings), tuple(rows), caption)


def learner_charts(n_rounds: int, units: Units, title: str) -> tuple[Chart, ...]:
    """Return the two panels of figure 4."""
    return tuple(
        Chart(
            f"Figure 4 on {title}: {half} error",
            "round",
            "disagreement",
            tuple(
                mean_curve(name, rounds_of(n_rounds), column(units, "learners", name, half))
                for name in LEARNERS
            ),
            f"Means over {len(units)} repetitions; bands are their 95 % intervals.",
        )
        for half in ("train", "test")
    )


def learner_claims(after: AfterRounds, title: str) -> Iterator[Claim]:
    """Judge what the paper says of figure 4, where it ends.

    ``after(name, half, i)`` are the errors, one per draw or query, after the i-th of the
    `judged_rounds`.
    """

    def last(name: str, half: str) -> Floats:
        return after(name, half, 2)

    def means(half: str) -> str:
        return ", ".join(f"{name} {last(name, half).mean():.4f}" for name in LEARNERS)

    two, three, two_cum, three_cum = LEARNERS
    cum = (two_cum, three_cum)
    train = {name: last(name, "train") for name in LEARNERS}
    test = {name: last(name, "test") for name in LEARNERS}
    yield Claim(
        f'Figure 4, {title}: "WeakLearn.2 achieved the lowest train error, followed by '
        'WeakLearn.3".',
        (
            below_all(train[two], [train[name] for name in (three, *cum)]),
            below_all(train[three], [train[name] for name in cum]),
        ),
        f"Train error {means('train')}.",
    )
    yield Claim(
        f'Figure 4, {title}: "WeakLearn.2.cum and WeakLearn.3.cum produced the lowest test error".',
        tuple(below_all(test[name], [test[two], test[three]]) for name in cum),
        f"Test error {means('test')}; {two} minus {two_cum} "
        f"{difference_text(test[two] - test[two_cum], 4)}, {three} minus {three_cum} "
        f"{difference_text(test[three] - test[three_cum], 4)}.",
    )
    rises = {name: test[name] - after(name, "test", 1) for name in LEARNERS}
    yield Claim(
        f'Figure 4, {title}: with .cum they "resisted overfitting, unlike their counterparts".',
        tuple(below(rises[f"{name}.cum"], rises[name]) for name in (two, three)),
        "Rise of the test error from round 50 to 200, where the figure ends: "
        + ", ".join(f"{name} {difference_text(rises[name], 4)}" for name in LEARNERS)
        + ".",
    )
    apart = {half: last(two_cum, half) - last(three_cum, half) for half in ("train", "test")}
    yield Claim(
        f'Figure 4, {title}: the performance of WeakLearn.2.cum and WeakLearn.3.cum "was nearly '
        'identical".',
        tuple(within(values, _ALIKE) for values in apart.values()),
        f"{two_cum} minus {three_cum}: "
        + ", ".join(f"{half} {difference_text(values, 4)}" for half, values in apart.items())
        + f"; nearly identical is within {_ALIKE}.",
    )


def flat_claims(after: AfterRounds, title: str) -> Iterator[Claim]:
    """Judge whether the training error is flat after the rounds that the paper names."""
    end = after(CHOSEN, "train", 2)
    for i, n_rounds in enumerate(_FLAT_AFTER):
        then = after(CHOSEN, "train", i)
        yield Claim(
            f'Figure 4, {title}: the training error "did not decrease significantly after '
            f'{n_rounds} rounds".',
            (above_zero(_FLAT * (0.5 - then) - (then - end)),),
            f"{CHOSEN}: {then.mean():.4f} then, lower by {difference_text(then - end, 4)} after "
            "200, where the figure ends. Not significantly is by less than a tenth of the fall "
            "from 0.5.",
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
        tables=(learner_table(config.film_rounds, units, caption),),
        charts=learner_charts(config.film_rounds, units, "films"),
        claims=tuple(learner_claims(partial(_after, config, units), "films")),
    )


def _after(config: Config, units: Units, name: str, half: str, i: int) -> Floats:
    position = np.searchsorted(rounds_of(config.film_rounds), judged_rounds(config.film_rounds)[i])
    return column(units, "learners", name, half)[:, position]


FIGURE_4 = Part(
    "figure-4",
    "Figure 4: four weak learners, on films",
    load_films,
    lambda config: config.learner_splits,
    measure_learners,
    show_learners,
)
