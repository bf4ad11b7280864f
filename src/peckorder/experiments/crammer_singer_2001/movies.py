"""Crammer and Singer (2001): one viewer's ratings learned on-line from the others'."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from scipy import sparse

from peckorder import PRank
from peckorder._core.typing import Floats, Ints
from peckorder.collaborative import damped_means
from peckorder.datasets import load_movielens_1m, make_ratings
from peckorder.experiments.crammer_singer_2001.online import (
    AVERAGED,
    CONSTANT,
    FIRST_JUDGED,
    LAST,
    MEDIAN,
    NORMALISED,
    PERCEPTRON,
    RANKS,
    Config,
    Curves,
    comparisons_below,
    curves_of,
    learners,
    lost_after,
    progressive_losses,
    stepped,
)
from peckorder.experiments.framework import Claim, Measured, Part, Shown, Units
from peckorder.experiments.framework.given import given_ranks, require
from peckorder.experiments.framework.online import centred, lowest, rounds_shown, running_median
from peckorder.experiments.framework.statistics import (
    column,
    columns,
    difference_text,
    mean_curve,
    mean_row,
)
from peckorder.feedback import Ratings
from peckorder.reports import Chart, Table

ITEM_MEAN = "the movie's mean, rounded"
RAW, UNIT = "as they are", "unit norm, constant"
FORMS = {
    RAW: {"fit_intercept": False, "unit_norm": False},
    UNIT: {"fit_intercept": True, "unit_norm": True},
}
BASELINES = (MEDIAN, CONSTANT, ITEM_MEAN)
FEWEST_VIEWERS = 20
RULES = ((LAST, "last"), (AVERAGED, "averaged"))
# The paper's sets; the limits of a preset may be others.
SETS = ("EachMovie, viewers of more than 100 movies", "EachMovie, viewers of more than 200 movies")


@dataclass(frozen=True, slots=True, eq=False)
class Viewers:
    """Ratings of a set of viewers, by viewer and by movie, and their lower median.

    They are ranks from 1 to `n_ranks`.
    """

    by_viewer: sparse.csr_array
    by_movie: sparse.csr_array
    median: int
    n_ranks: int = len(RANKS)

    @property
    def middle(self) -> float:
        """The middle of the scale."""
        return (1 + self.n_ranks) / 2


def load_viewers(config: Config, folder: Path | None, more_than: int) -> Viewers:
    """Return the viewers with more than this number of ratings."""
    if config.synthetic:
        ratings = make_ratings(160, 200, density=0.3, choice=0.5, random_state=0)
    else:
        ratings = load_movielens_1m(folder).ratings
    return viewers_of(ratings, more_than, len(RANKS))


def viewers_of(ratings: Ratings, more_than: int, n_ranks: int) -> Viewers:
    """Return the viewers with more than this number of ratings."""
    chosen = ratings.csr[np.flatnonzero(ratings.per_user > more_than)]
    median = int(np.quantile(chosen.data, 0.5, method="lower"))
    return Viewers(chosen, chosen.T.tocsr(), median, n_ranks)


def load_given(config: Config, path: Path | None, more_than: int) -> Viewers:
    """Return the viewers of the ratings that are given."""
    assert path is not None
    ratings = given_ranks(path)
    count = int((ratings.per_user > more_than).sum())
    require(path, count, FEWEST_VIEWERS, f"users with more than {more_than} ratings")
    return viewers_of(ratings, more_than, int(ratings.csr.data.max()))


# Two functions and not one with an argument: loaded data are cached by function.
def load_many(config: Config, folder: Path | None) -> Viewers:
    """Return the larger set, of viewers with fewer ratings."""
    return load_viewers(config, folder, config.more_than[0])


def load_few(config: Config, folder: Path | None) -> Viewers:
    """Return the smaller set, of viewers with more ratings."""
    return load_viewers(config, folder, config.more_than[1])


def load_given_many(config: Config, folder: Path | None) -> Viewers:
    """Return the larger set of the ratings that are given."""
    return load_given(config, folder, config.more_than[0])


def load_given_few(config: Config, folder: Path | None) -> Viewers:
    """Return the smaller set of the ratings that are given."""
    return load_given(config, folder, config.more_than[1])


Load: TypeAlias = Callable[[Config, Path | None], Viewers]


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """The movies one viewer rated, in random order, with the others' ratings.

    `X` has one row per movie and one column per viewer: the rating minus the middle of
    the scale, zero where there is none and in the target's own column. `item_means` are
    the others' means, the middle of the scale if there are none; `middling` is the
    share of their ratings that are the middle of the scale, and therefore zero too.
    """

    X: sparse.csr_array
    y: Ints
    item_means: Floats
    middling: float


def stream_of(viewers: Viewers, target: int, rng: Generator) -> Stream:
    """Return the stream of a viewer."""
    start, stop = viewers.by_viewer.indptr[target : target + 2]
    order = start + rng.permutation(stop - start)
    movies = viewers.by_viewer.indices[order]
    y = viewers.by_viewer.data[order].astype(np.int64)
    rated = viewers.by_movie[movies]
    is_other = rated.indices != target
    X = sparse.csr_array(centred(rated, viewers.middle))
    X.data[~is_other] = 0.0
    totals = X.sum(axis=1)
    raters = np.diff(rated.indptr) - 1
    middling = float(np.mean(rated.data[is_other] == viewers.middle))
    X.eliminate_zeros()
    return Stream(X, y, viewers.middle + damped_means(totals, raters), middling)


def steps_of(config: Config, form: str) -> tuple[float, ...]:
    """Return the steps of Widrow-Hoff that are tried with features of this form."""
    return config.raw_steps if form == RAW else config.unit_steps


def in_form(name: str, form: str) -> str:
    """Return the key of a ranker with features of a form among the values."""
    return f"{name} ({form})"


def plain(key: str, form: str) -> str:
    """Return the name of the ranker alone."""
    return key.removesuffix(f" ({form})")


def measure(config: Config, data: Viewers, unit: int, rng: Generator, *, which: int) -> Measured:
    """Run all rankers over the ratings of one random viewer."""
    target = int(rng.integers(data.by_viewer.shape[0]))
    stream = stream_of(data, target, rng)
    X, y = stream.X, stream.y
    losses = {
        MEDIAN: np.abs(running_median(y, data.n_ranks) - y).astype(float),
        CONSTANT: np.abs(data.median - y).astype(float),
        ITEM_MEAN: np.abs(np.floor(stream.item_means + 0.5) - y),
    }
    for form, settings in FORMS.items():
        for name, learner in learners(steps_of(config, form), **settings).items():
            losses[in_form(name, form)] = progressive_losses(learner, X, y, data.n_ranks)
    scaled = {
        rule: [
            progressive_losses(PRank(rule=rule, **FORMS[RAW]), X * scale, y, data.n_ranks).mean()
            for scale in config.scales
        ]
        for _, rule in RULES
    }
    rounds = curve_rounds(config, which)
    return Measured(
        {
            "viewers": data.by_viewer.shape[0],
            "rounds": len(y),
            "middling": stream.middling,
            "norm": np.sqrt(X.multiply(X).sum(axis=1)).mean(),
            "lost": {key: lost_after(values, rounds) for key, values in losses.items()},
            "whole pass": {key: values.mean() for key, values in losses.items()},
            "scaled": scaled,
        }
    )


def curve_rounds(config: Config, which: int) -> Ints:
    """Return the rounds of the curves, which every target of the set reaches."""
    return rounds_shown(config.more_than[which], 20)


def show(config: Config, units: Units, seconds: Units, *, which: int) -> Shown:
    """Show the curves, the effect of scale, the table and the claim."""
    rounds = curve_rounds(config, which)
    curves, passes = curves_of(units, rounds), columns(units, "whole pass")
    best = {}
    for form in FORMS:
        steps = (NORMALISED, *(stepped(eta) for eta in steps_of(config, form)))
        names = [in_form(step, form) for step in steps]
        best[form] = lowest(passes, names)
    more_than = config.more_than[which]
    return Shown(
        paragraphs=_paragraphs(units, more_than),
        tables=(
            _table(config, units, curves, passes, best, more_than),
            _scale_table(config, units, passes),
        ),
        charts=(_chart(rounds, curves, best), _scale_chart(config, units, passes)),
        claims=tuple(_claims(curves, rounds, best, SETS[which])),
    )


def _paragraphs(units: Units, more_than: int) -> tuple[str, ...]:
    norm = column(units, "norm").mean()
    middling = column(units, "middling").mean()
    return (
        f"The set has the {units[0]['viewers']:,} viewers with more than {more_than} "
        "ratings. One random viewer's ratings are the ranks; the features are those "
        "of all other viewers of the set, minus the middle of the scale, zero where "
        "there is none. Movies come in random order and are predicted before they are "
        "learned. The paper gives its results as a figure only: no number is printed "
        "to compare with.",
        f"The mean norm of a row of features is {norm:.1f}. For each threshold on "
        "whose wrong side it is, the score of a row moves by its squared norm, and "
        "the threshold by one: with features as they are, thresholds hardly move. "
        "This is why rows at unit norm with a constant and a chart of scales are "
        f"added. Of the others' ratings, {middling:.0%} are in the middle of the scale "
        "and cannot be distinguished from missing ones.",
    )


def _table(
    config: Config,
    units: Units,
    curves: Curves,
    passes: Curves,
    best: dict[str, str],
    more_than: int,
) -> Table:
    labels = [(name, "", name) for name in BASELINES]
    for form in FORMS:
        labels += [(name, form, in_form(name, form)) for name in (LAST, AVERAGED, PERCEPTRON)]
        steps = dict.fromkeys((in_form(NORMALISED, form), best[form]))
        labels += [(plain(step, form), form, step) for step in steps]
    rows = tuple(
        (
            name,
            *mean_row(form, curves[key][:, -1], passes[key]),
            "" if key == MEDIAN else difference_text(passes[key] - passes[MEDIAN]),
        )
        for name, form, key in labels
    )
    raw, unit = (", ".join(f"{eta:g}" for eta in steps_of(config, f)) for f in FORMS)
    caption = (
        f"Mean rank loss over {len(units)} random targets, with 95 % intervals: of the "
        f"first {more_than} predictions, of a whole pass (on average "
        f"{column(units, 'rounds').mean():.0f} ratings), and minus that of the running "
        "median, paired. Widrow-Hoff is shown with the paper's step, normalised, and with "
        f"the constant one that has the lowest loss of a whole pass, of {raw} as they are, "
        f"{unit} at unit norm. The constant is the "
        "median of all ratings."
    )
    first = f"first {more_than}"
    headings = ("ranker", "features", first, "whole pass", "minus running median")
    return Table(headings, rows, caption)


def _chart(rounds: Ints, curves: Curves, best: dict[str, str]) -> Chart:
    keys = {
        f"{LAST}, raw features": in_form(LAST, RAW),
        LAST: in_form(LAST, UNIT),
        AVERAGED: in_form(AVERAGED, UNIT),
        NORMALISED: in_form(NORMALISED, UNIT),
        plain(best[UNIT], UNIT): best[UNIT],
        PERCEPTRON: in_form(PERCEPTRON, UNIT),
        MEDIAN: MEDIAN,
    }
    after_first = rounds > 1
    return Chart(
        "Time-averaged rank loss while one viewer's ratings are learned",
        "round",
        "time-averaged rank loss",
        tuple(
            mean_curve(label, rounds[after_first], curves[key][:, after_first])
            for label, key in keys.items()
        ),
        f"Means over {len(curves[MEDIAN])} targets with 95 % intervals, over rounds "
        "that all targets reach. Features at unit norm with a constant, unless raw.",
        (CONSTANT, float(curves[CONSTANT][:, -1].mean())),
    )


def _scale_chart(config: Config, units: Units, passes: Curves) -> Chart:
    order = np.argsort(config.scales)
    scales = np.array(config.scales)[order]
    return Chart(
        "PRank and the scale of its features",
        "factor of the features",
        "rank loss of a whole pass",
        tuple(
            mean_curve(label, scales, column(units, "scaled", rule)[:, order])
            for label, rule in RULES
        ),
        "Features as they are, times a factor, without a constant; thresholds move by "
        f"one whatever the factor. Means over {len(units)} targets with 95 % "
        "intervals. A quarter is the scale of EachMovie's scores, from 0 to 1.",
        (MEDIAN, float(passes[MEDIAN].mean())),
        log_x=True,
    )


def _scale_table(config: Config, units: Units, passes: Curves) -> Table:
    last, averaged = (column(units, "scaled", rule).T for _, rule in RULES)
    rows = [
        mean_row(f"{scale:g}", one, other)
        for scale, one, other in zip(config.scales, last, averaged, strict=True)
    ]
    # These use no feature: one loss, whatever the factor and the rule.
    rows += [mean_row(name, passes[name], passes[name]) for name in BASELINES]
    caption = (
        "Mean rank loss of a whole pass with features as they are, times a factor, "
        f"without a constant; {len(units)} targets, with 95 % intervals. The last rows "
        "depend on neither factor nor rule."
    )
    return Table(("factor", LAST, AVERAGED), tuple(rows), caption)


def _claims(curves: Curves, rounds: Ints, best: dict[str, str], where: str) -> Iterator[Claim]:
    for form in FORMS:
        rivals = (
            ("Widrow-Hoff", '"significantly better" than', NORMALISED, plain(best[form], form)),
            ("perceptron", '"consistently better" than the multiclass', PERCEPTRON, ""),
        )
        for short, relation, name, other in rivals:
            ours, theirs = curves[in_form(LAST, form)], curves[in_form(name, form)]
            found = [_gap_text(curves, LAST, name, form)]
            if other not in ("", name):
                found.append(_gap_text(curves, LAST, other, form) + " (best step in hindsight)")
            found.append(_gap_text(curves, AVERAGED, name, form))
            yield Claim(
                f"{where}: over the entire run PRank is {relation} {short} (features {form}).",
                comparisons_below(ours, theirs, rounds),
                f"One comparison for each round shown from {FIRST_JUDGED} on. After "
                f"{rounds[-1]} rounds {', '.join(found)}.",
            )


def _gap_text(curves: Curves, ours: str, theirs: str, form: str) -> str:
    gap = curves[in_form(ours, form)][:, -1] - curves[in_form(theirs, form)][:, -1]
    return f"{ours} minus {theirs} {difference_text(gap)}"


def _parts(loads: tuple[Load, Load]) -> tuple[Part, ...]:
    return tuple(
        Part(
            name,
            f"On-line: one viewer's ratings, the {size} set of viewers",
            load,
            lambda config: config.targets,
            partial(measure, which=which),
            partial(show, which=which),
        )
        for which, (name, size, load) in enumerate(
            zip(("movies-many", "movies-few"), ("larger", "smaller"), loads, strict=True)
        )
    )


PARTS = _parts((load_many, load_few))
GIVEN = _parts((load_given_many, load_given_few))
