"""Harrington (2003): how losses are compared and shown; Figure 2 and Table 1."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy import stats

from peckorder._core.typing import Floats, Ints
from peckorder.datasets import make_square, square_features, square_labels
from peckorder.experiments.framework import Claim, Comparison, Measured, Part, Shown, Units
from peckorder.experiments.framework.claims import below, below_all
from peckorder.experiments.framework.online import LEAST_LOSS, NOISE, lowest
from peckorder.experiments.framework.statistics import (
    beside_printed,
    columns,
    difference_text,
    mean_curve,
    mean_row,
    side,
)
from peckorder.experiments.harrington_2003.methods import (
    AVERAGED,
    BAGGED,
    CONSTANT,
    ETAS,
    LAST,
    MEDIAN_OF,
    POINT,
    RAW,
    REGRESSION,
    RUNNING_MEDIAN,
    TAUS,
    VOTED,
    VOTING,
    Config,
    Form,
    Race,
    curve_rounds,
    named,
)
from peckorder.reports import Chart, Table

# The methods with a tau.
WITH_TAU = (POINT, BAGGED + RAW, BAGGED, VOTING + RAW, VOTING, MEDIAN_OF)
# The methods of Figures 2 and 3, with means of ranks rounded.
FIGURE = (LAST, REGRESSION, POINT, BAGGED, VOTING)
# Suffixes of names, and how the texts call these readings of the paper.
READINGS = ((RAW, "means not rounded, as printed"), ("", "means rounded"))
FASTEST_AFTER = 1 / 8  # of the rounds: the leader then "converges fastest"
Losses: TypeAlias = Mapping[str, Floats]


def with_tau(method: str, tau: float) -> str:
    """Return the name of a method of `WITH_TAU` with this tau."""
    stem = method.removesuffix(RAW)
    return named(stem, tau) + method[len(stem) :]


def losses_at(units: Units, position: int, *keys: str) -> dict[str, Floats]:
    """Return every method's on-line losses at one position of the curves."""
    losses_of = columns(units, "online", *keys)
    return {name: losses[:, position] for name, losses in losses_of.items()}


def best(losses: Losses, method: str) -> str:
    """Return the name of a method with its best tau or eta, in hindsight."""
    if method == REGRESSION:
        return lowest(losses, [named(method, eta) for eta in ETAS])
    if method in WITH_TAU:
        return lowest(losses, [with_tau(method, tau) for tau in TAUS])
    return method


def compare(losses: Losses, method: str, others: Sequence[str]) -> tuple[Comparison, str]:
    """Return whether a method is below all others, and the differences as text.

    Each has its best tau or eta, unless its name has one.
    """
    name, rivals = best(losses, method), [best(losses, other) for other in others]
    gaps = {rival: losses[name] - losses[rival] for rival in rivals}
    sides = {rival: side(gap) for rival, gap in gaps.items()}

    def text_of(rival: str) -> str:
        return f"{rival} ({difference_text(gaps[rival])})"

    texts = []
    if lower := [rival for rival in rivals if sides[rival] < 0]:
        nearest = text_of(max(lower, key=lambda rival: float(gaps[rival].mean())))
        texts.append(f"lower than {len(lower)} of {len(gaps)}, the nearest {nearest}")
    for relation, sign in (("level with", 0), ("higher than", 1)):
        if alike := [text_of(rival) for rival in rivals if sides[rival] == sign]:
            texts.append(f"{relation} {', '.join(alike)}")
    text = f"{name} at {losses[name].mean():.3f} is {'; '.join(texts)}."
    return below_all(losses[name], [losses[rival] for rival in rivals]), text


def claim_of(text: str, found: Iterable[tuple[Comparison, str]], lead: str = "") -> Claim:
    """Make a claim of comparisons, each with its evidence."""
    comparisons, texts = zip(*found, strict=True)
    return Claim(text, comparisons, lead + " ".join(texts))


def difference_table(losses: Losses, others: Sequence[str], caption: str) -> Table:
    """Return paired differences between OAP-BPM and others, one column per tau."""
    regression = best(losses, REGRESSION)
    rivals = (BAGGED + RAW, VOTING + RAW, VOTED + RAW, LAST, regression, BAGGED, VOTING, *others)
    rows = []
    for rival in rivals:
        cells = []
        for tau in TAUS:
            theirs = with_tau(rival, tau) if rival in WITH_TAU else rival
            cells.append(difference_text(losses[named(POINT, tau)] - losses[theirs]))
        rows.append((f"{POINT} minus {rival}", *cells))
    headings = ("difference", *(f"tau = {tau}" for tau in TAUS))
    caption += " Below zero OAP-BPM is better."
    return Table(headings, tuple(rows), caption)


def tau_table(losses: Losses, methods: Sequence[str], caption: str) -> Table:
    """Return the paper's table: one row per method, one column per tau."""
    rows = [
        mean_row(method, *(losses[with_tau(method, tau)] for tau in TAUS)) for method in methods
    ]
    rows += [mean_row(name, *[losses[name]] * len(TAUS)) for name in (CONSTANT, RUNNING_MEDIAN)]
    caption += " The best constant, in hindsight, and the running median have no tau."
    return Table(("method", *(f"tau = {tau}" for tau in TAUS)), tuple(rows), caption)


def loss_chart(
    title: str,
    units: Units,
    rounds: Ints,
    names: Iterable[str],
    caption: str,
    *keys: str,
    **how: Any,
) -> Chart:
    """Return the mean on-line curves of some methods, with their intervals."""
    losses = columns(units, "online", *keys)
    curves = tuple(mean_curve(name, rounds, losses[name]) for name in names)
    return Chart(title, "rounds", "mean rank loss so far", curves, caption, log_x=True, **how)


def tau_charts(units: Units, rounds: Ints, caption: str, *keys: str) -> tuple[Chart, ...]:
    """Return one chart per ensemble, with all its taus."""
    return tuple(
        loss_chart(
            f"{method}: every tau",
            units,
            rounds,
            [with_tau(method, tau) for tau in TAUS],
            caption,
            *keys,
        )
        for method in (POINT, BAGGED, VOTING)
    )


# The square problem.

BAYES = "rank without the noise"
FORM = Form("features of (x.z + 1)^2", False, False, False)
# Section 4.1; the figures of Table 1, for each tau, are lost. "0.30 ± 0.2" is printed.
PRINTED: dict[str, tuple[float, float]] = {
    LAST: (0.37, 0.07),
    VOTED + RAW: (0.31, 0.00),
    named(REGRESSION, 0.1): (0.30, 0.2),
}
MARKS = (100, 200, 500, 1000, 2000)
ALL_ETAS = tuple(named(REGRESSION, eta) for eta in ETAS)
WITHOUT_TAU = (*(LAST, VOTED + RAW, VOTED, AVERAGED), *ALL_ETAS, *(CONSTANT, RUNNING_MEDIAN, BAYES))


def load(config: Config, folder: Path | None) -> None:
    """Load nothing: every trial draws its own points."""


def stream(
    n_train: int, n_test: int, rng: Generator, rounds: Ints | None = None
) -> tuple[Race, Floats]:
    """Draw a stream and its test set; return the points of the test set as well."""
    n, seed = n_train + n_test, int(rng.integers(2**31))
    points, y = make_square(n, noise=NOISE, degree=1, random_state=seed)
    return Race(square_features(points), y, n_train, 5, rounds), points[n_train:]


def square_rounds(config: Config) -> Ints:
    """Return the rounds at which losses are stored."""
    return curve_rounds(config.rounds, *MARKS)


def measure(config: Config, data: None, unit: int, rng: Generator) -> Measured:
    """Run one trial: on-line losses and the test, then the test of a longer stream."""
    short, points = stream(config.rounds, config.test_size, rng, square_rounds(config))
    seed = int(rng.integers(2**31))
    long, long_points = stream(config.long_rounds, config.test_size, rng)
    for race, where in ((short, points), (long, long_points)):
        race.run(FORM, config.members, seed).add(BAYES, None, square_labels(where))
    return Measured({"online": short.online, "test": short.test, "long": long.test})


def show(config: Config, units: Units, seconds: Units) -> Shown:
    """Show the test losses beside the printed ones, and the on-line losses."""
    test, long = columns(units, "test"), columns(units, "long")
    trials = f"{len(units)} trials, means with 95 % intervals"
    members = f"N = {config.members}"
    tables = (
        beside_printed(
            "method",
            [(name, test[name], PRINTED.get(name)) for name in WITHOUT_TAU],
            f"Rank loss on {config.test_size} test points after {config.rounds} "
            f"rounds; {trials}. The printed intervals are of 20 trials.",
        ),
        tau_table(
            test,
            WITH_TAU,
            f"Table 1: rank loss on the test points after {config.rounds} rounds, "
            f"{members}; {trials}. The printed table is lost except for what the text "
            "says about it.",
        ),
        difference_table(
            test,
            (MEDIAN_OF, VOTED, AVERAGED),
            f"OAP-BPM in the test, minus each of the others on the same points; {trials}.",
        ),
        _long_table(config, test, long, trials),
        _online_table(config, units),
    )
    return Shown(
        paragraphs=(_rounding_text(config, test),),
        tables=tables,
        charts=_charts(config, units, members),
        claims=tuple(_claims(config, units, test)),
    )


def _long_table(config: Config, test: Losses, long: Losses, trials: str) -> Table:
    names = [*WITHOUT_TAU, *(named(method, tau) for method in (POINT, VOTING) for tau in TAUS)]
    rows = tuple(mean_row(name, test[name], long[name]) for name in names)
    return Table(
        ("method", f"{config.rounds} rounds", f"{config.long_rounds} rounds"),
        rows,
        f"Test rank loss after few rounds and many; {trials}. The paper mentions 50000 "
        "training examples, and 5000.",
    )


def _online_table(config: Config, units: Units) -> Table:
    marks = [*(n for n in MARKS if n < config.rounds), config.rounds]
    at = [losses_at(units, i) for i in np.searchsorted(square_rounds(config), marks)]
    methods = (POINT, BAGGED + RAW, VOTING + RAW, BAGGED, VOTING)
    names = [
        *(LAST, AVERAGED, VOTED, *ALL_ETAS),
        *(with_tau(method, tau) for method in methods for tau in TAUS),
        *(CONSTANT, RUNNING_MEDIAN),
    ]
    return Table(
        ("method", *map(str, marks)),
        tuple(mean_row(name, *(losses[name] for losses in at)) for name in names),
        "Figure 2 in numbers: mean rank loss of the first t predictions, made before "
        f"their rows were learned; {len(units)} trials, means with 95 % intervals.",
    )


def _charts(config: Config, units: Units, members: str) -> tuple[Chart, ...]:
    rounds = square_rounds(config)
    last = losses_at(units, -1)
    caption = f"Mean rank loss so far, {len(units)} trials with 95 % intervals, {members}"
    as_printed = (LAST, REGRESSION, POINT, BAGGED + RAW, VOTING + RAW)
    return (
        loss_chart(
            "Figure 2: on-line rank loss",
            units,
            rounds,
            [*(best(last, method) for method in FIGURE), AVERAGED, RUNNING_MEDIAN],
            f"{caption}; each method with the tau or eta that is best after "
            f"{config.rounds} rounds. Means of ranks are rounded.",
            reference=("least possible", LEAST_LOSS),
        ),
        loss_chart(
            "Figure 2 with means of ranks not rounded",
            units,
            rounds,
            [best(last, method) for method in as_printed],
            f"{caption}; the paper's reading of OAP-Bagg and OAP-VP.",
        ),
        *tau_charts(units, rounds, f"{caption}."),
    )


def _rounding_text(config: Config, test: Losses) -> str:
    def gaps(ours: str, theirs: str, suffix: str = "") -> str:
        texts = []
        for tau in TAUS:
            name = ours if ours in test else named(ours, tau)
            gap = difference_text(test[name] - test[named(theirs, tau) + suffix])
            texts.append(f"{gap} (tau = {tau})")
        return ", ".join(texts)

    return (
        "The paper's OAP-Bagg, OAP-VP and voted PRank predict a mean of ranks, a real "
        "number, which can be rounded to a rank. OAP-BPM minus OAP-Bagg in the test, "
        f"not rounded: {gaps(POINT, BAGGED, RAW)}; rounded: {gaps(POINT, BAGGED)}. "
        f"PRank with the averaged rule is one learner, not {config.members}; its test "
        f"loss minus that of OAP-BPM: {gaps(AVERAGED, POINT)}."
    )


def _claims(config: Config, units: Units, test: Losses) -> Iterable[Claim]:
    for suffix, reading in READINGS:
        yield claim_of(
            'Square: in the test "OAP-BPM had the lowest averaged rank loss over the three '
            f'choices of tau" ({reading}).',
            [
                compare(
                    test,
                    named(POINT, tau),
                    [
                        *(named(method, tau) + suffix for method in (BAGGED, VOTING)),
                        *(VOTED + suffix, LAST, REGRESSION),
                    ],
                )
                for tau in TAUS
            ],
        )
    yield _narrower_with_tau(test)
    rounds = square_rounds(config)
    end = losses_at(units, -1)
    upto = int(np.searchsorted(rounds, min(1000, config.rounds // 5)))
    shown = range(min(int(np.searchsorted(rounds, MARKS[0])), upto), upto + 1)
    for suffix, reading in READINGS:
        bagged, voting = BAGGED + suffix, VOTING + suffix
        yield claim_of(
            f'Square, on-line: OAP-BPM "had the lowest averaged rank loss" after the 5000 '
            f"examples ({reading}).",
            [compare(end, POINT, (LAST, REGRESSION, bagged, voting))],
        )
        rivals = (LAST, REGRESSION, POINT, bagged)
        found = [compare(losses_at(units, position), voting, rivals) for position in shown]
        yield Claim(
            f'Square, on-line: "OAP-VP was the lowest until 1000 examples" ({reading}).',
            tuple(comparison for comparison, _ in found),
            f"One comparison for each round shown from {rounds[shown[0]]} to "
            f"{rounds[shown[-1]]}; after the last {found[-1][1]}",
        )
    yield claim_of(
        "Square, on-line: Widrow-Hoff with eta = 0.1 has a slightly better average rank loss "
        "than PRank after 5000 examples.",
        [compare(end, named(REGRESSION, 0.1), [LAST])],
    )
    yield slower_with_tau("Square", units, rounds, config.rounds)


def slower_with_tau(where: str, units: Units, rounds: Ints, n_train: int, *keys: str) -> Claim:
    """Judge by the loss of OAP-BPM so far, after an eighth of the rounds."""
    position = int(np.searchsorted(rounds, n_train * FASTEST_AFTER))
    losses = losses_at(units, position, *keys)
    by_tau = [losses[named(POINT, tau)] for tau in TAUS]
    comparisons = [below(more, fewer) for fewer, more in pairwise(by_tau)]
    gaps = [difference_text(fewer - more) for fewer, more in pairwise(by_tau)]
    steps = [f"tau = {fewer} minus {more} {{}}" for fewer, more in pairwise(TAUS)]
    found = ", ".join(text.format(gap) for text, gap in zip(steps, gaps, strict=True))
    return Claim(
        f'{where}: the smaller tau, "the slower the convergence".',
        tuple(comparisons),
        f"Loss of OAP-BPM so far after {rounds[position]} of {n_train} rounds: {found}.",
    )


def _narrower_with_tau(test: Losses) -> Claim:
    comparisons, texts = [], []
    for method in (POINT, BAGGED, VOTING):
        by_tau = [test[named(method, tau)] for tau in TAUS]
        spreads = ", ".join(f"{losses.std(ddof=1):.3f}" for losses in by_tau)
        comparisons.append(less_spread(by_tau[0], by_tau[-1]))
        texts.append(f"{method}: {spreads}")
    return Claim(
        'Square: "as tau is made smaller so is the confidence interval".',
        tuple(comparisons),
        "Standard deviations of test losses over the trials for tau = 0.3, 0.6, 0.9. "
        f"{'. '.join(texts)}. Judged is the first against the last (test of Pitman and Morgan).",
    )


def less_spread(ours: Floats, theirs: Floats) -> Comparison:
    """Return whether paired values have a smaller standard deviation.

    By the test of Pitman and Morgan: the sum and the difference of two values are
    correlated if their variances differ.
    """
    total, difference = theirs + ours, theirs - ours
    if len(ours) < 3 or np.ptp(total) == 0.0 or np.ptp(difference) == 0.0:
        return Comparison(0, 1.0)
    found = stats.pearsonr(total, difference)
    return Comparison(int(np.sign(found.statistic)), float(found.pvalue))


SQUARE = Part(
    "square",
    "Figure 2 and Table 1: the square problem",
    load,
    lambda config: config.trials,
    measure,
    show,
)
