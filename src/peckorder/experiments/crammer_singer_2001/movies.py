"""Crammer and Singer (2001): one viewer's taste learnt on-line from the others'."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

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
    PERCEPTRON,
    RANKS,
    Config,
    best_step,
    curves_of,
    learners,
    losses_on_the_way,
    lost_after,
    sides_below,
    stepped,
)
from peckorder.experiments.framework.experiment import (
    Claim,
    Measured,
    Part,
    Shown,
    Values,
)
from peckorder.experiments.framework.online import (
    centred,
    rounds_shown,
    running_median,
)
from peckorder.experiments.framework.tables import column, mean_curve, mean_text
from peckorder.experiments.framework.verdicts import difference_text, verdict
from peckorder.reports import Chart, Table

MIDDLE = RANKS[len(RANKS) // 2]
ITEM_MEAN = "the movie's mean, rounded"
RAW, UNIT = "as they are", "unit norm, constant"
FORMS = {
    RAW: {"fit_intercept": False, "unit_norm": False},
    UNIT: {"fit_intercept": True, "unit_norm": True},
}
BASELINES = (MEDIAN, CONSTANT, ITEM_MEAN)
CLAIM = (
    "EachMovie, viewers with more than {} movies: PRank is below Widrow-Hoff and below "
    "the multiclass perceptron over the whole run."
)


@dataclass(frozen=True, slots=True, eq=False)
class Viewers:
    """Ratings of a set of viewers, by viewer and by movie, and their lower median."""

    by_viewer: Any
    by_movie: Any
    median: int


def viewers_of(config: Config, folder: Path | None, more_than: int) -> Viewers:
    """Return the viewers with more ratings than that."""
    if config.made:
        ratings = make_ratings(160, 200, density=0.3, choice=0.5, random_state=0)
    else:
        ratings = load_movielens_1m(folder).ratings
    chosen = ratings.csr[np.flatnonzero(ratings.per_user > more_than)]
    median = int(np.quantile(chosen.data, 0.5, method="lower"))
    return Viewers(chosen, chosen.T.tocsr(), median)


# Two functions and not one with an argument: what is read is kept by function.
def load_many(config: Config, folder: Path | None) -> Viewers:
    """Return the larger set, of viewers with fewer ratings."""
    return viewers_of(config, folder, config.more_than[0])


def load_few(config: Config, folder: Path | None) -> Viewers:
    """Return the smaller set, of viewers with more ratings."""
    return viewers_of(config, folder, config.more_than[1])


def count(config: Config) -> int:
    """Return the number of targets."""
    return config.targets


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """What one viewer rated, in random order, with the others' ratings.

    `X` has a row a movie and a column a viewer: the rating minus the middle of the
    scale, zero where there is none and in the target's own column. `item_means` are
    the others' means, the middle of the scale for want of any; `middling` is the share
    of their ratings that are the middle of the scale, and so zero as well.
    """

    X: Any
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
    others = rated.indices != target
    X = centred(rated, MIDDLE)
    X.data[~others] = 0.0
    totals = X.sum(axis=1)
    raters = np.diff(rated.indptr) - 1
    middling = float(np.mean(rated.data[others] == MIDDLE))
    X.eliminate_zeros()
    return Stream(X, y, MIDDLE + damped_means(totals, raters), middling)


def steps_of(config: Config, form: str) -> tuple[float, ...]:
    """Return the steps of Widrow-Hoff that are tried with features of this form."""
    return config.raw_steps if form == RAW else config.unit_steps


def in_form(name: str, form: str) -> str:
    """Return what a ranker with features of some form is called among the values."""
    return f"{name} ({form})"


def plain(key: str, form: str) -> str:
    """Return the name of the ranker alone."""
    return key.removesuffix(f" ({form})")


def measure(
    config: Config, data: Viewers, unit: int, rng: Generator, *, place: int
) -> Measured:
    """Run all rankers over what one random viewer rated."""
    target = int(rng.integers(data.by_viewer.shape[0]))
    stream = stream_of(data, target, rng)
    X, y = stream.X, stream.y
    losses = {
        MEDIAN: np.abs(running_median(y, len(RANKS)) - y).astype(float),
        CONSTANT: np.abs(data.median - y).astype(float),
        ITEM_MEAN: np.abs(np.floor(stream.item_means + 0.5) - y),
    }
    for form, settings in FORMS.items():
        for name, learner in learners(steps_of(config, form), **settings).items():
            losses[in_form(name, form)] = losses_on_the_way(learner, X, y)
    scaled = {
        rule: [
            losses_on_the_way(PRank(rule=rule, **FORMS[RAW]), X * scale, y).mean()
            for scale in config.scales
        ]
        for rule in ("last", "averaged")
    }
    rounds = shown_after(config, place)
    return Measured(
        {
            "viewers": data.by_viewer.shape[0],
            "rounds": len(y),
            "middling": stream.middling,
            "norm": np.sqrt(X.multiply(X).sum(axis=1)).mean(),
            "lost": {key: lost_after(each, rounds) for key, each in losses.items()},
            "whole pass": {key: each.mean() for key, each in losses.items()},
            "scaled": scaled,
        }
    )


def shown_after(config: Config, place: int) -> Ints:
    """Return the rounds of the curves: every target of the set has as many."""
    return rounds_shown(config.more_than[place], 20)


def show(
    config: Config, units: Sequence[Values], seconds: Sequence[Values], *, place: int
) -> Shown:
    """Lay out curves, the effect of scale, the table and the claim."""
    rounds = shown_after(config, place)
    curves = {key: curves_of(units, key, rounds) for key in units[0]["lost"]}
    passes = {key: column(units, "whole pass", key) for key in curves}
    best = {}
    for form in FORMS:
        names = [in_form(stepped(eta), form) for eta in steps_of(config, form)]
        best[form] = best_step(passes, names)
    return Shown(
        paragraphs=_paragraphs(config, units, place),
        tables=(
            _table(config, units, curves, passes, best, place),
            _scale_table(config, units, passes),
        ),
        charts=(
            _chart(config, curves, best, place),
            _scale_chart(config, units, passes),
        ),
        claims=(_claim(config, curves, rounds, best, place),),
    )


def _paragraphs(config: Config, units: Sequence[Values], place: int) -> tuple[str, ...]:
    norm = column(units, "norm").mean()
    middling = column(units, "middling").mean()
    return (
        f"The set is of the {units[0]['viewers']:,} viewers with more than "
        f"{config.more_than[place]} ratings. One random viewer's ratings are the "
        "ranks; the features are those of all other viewers of the set, minus the "
        "middle of the scale, zero where there is none. Movies come in random order, "
        "each predicted before it is learnt. The paper gives its results as a figure "
        "only: no number is printed to set ours beside.",
        f"A row of features has a norm of {norm:.1f} in the mean. For each threshold "
        "on whose wrong side it is, the score of a row moves by its squared norm, and "
        "the threshold by one: with features as they are, thresholds hardly move. "
        "Hence the rows at unit norm with a constant, and the chart of scales. Of the "
        f"others' ratings, {middling:.0%} are in the middle of the scale and cannot be "
        "told from none.",
    )


def _table(
    config: Config,
    units: Sequence[Values],
    curves: dict[str, Floats],
    passes: dict[str, Floats],
    best: dict[str, str],
    place: int,
) -> Table:
    mean_rounds = column(units, "rounds").mean()
    labels = [(name, "", name) for name in BASELINES]
    for form in FORMS:
        labels += [
            (name, form, in_form(name, form)) for name in (LAST, AVERAGED, PERCEPTRON)
        ]
        labels.append((plain(best[form], form), form, best[form]))
    rows = tuple(
        (
            name,
            form,
            mean_text(curves[key][:, -1]),
            mean_text(passes[key]),
            "" if key == MEDIAN else difference_text(passes[key] - passes[MEDIAN]),
        )
        for name, form, key in labels
    )
    n = len(passes[MEDIAN])
    more_than = config.more_than[place]
    tried = (
        f"{', '.join(f'{eta:g}' for eta in config.raw_steps)} as they are, "
        f"{', '.join(f'{eta:g}' for eta in config.unit_steps)} at unit norm"
    )
    caption = (
        f"Mean rank loss over {n} random targets, with 95 % intervals: of the first "
        f"{more_than} predictions, of a whole pass ({mean_rounds:.0f} ratings in the "
        "mean), and how much more than the running median, paired. Of Widrow-Hoff the "
        f"step is shown that loses least in a whole pass, of {tried}. The constant is "
        "the median of all ratings."
    )
    headings = (
        "ranker",
        "features",
        f"first {more_than}",
        "whole pass",
        "minus running median",
    )
    return Table(headings, rows, caption)


def _chart(
    config: Config, curves: dict[str, Floats], best: dict[str, str], place: int
) -> Chart:
    rounds = shown_after(config, place)
    drawn = {
        f"{LAST}, raw features": in_form(LAST, RAW),
        LAST: in_form(LAST, UNIT),
        AVERAGED: in_form(AVERAGED, UNIT),
        plain(best[UNIT], UNIT): best[UNIT],
        PERCEPTRON: in_form(PERCEPTRON, UNIT),
        MEDIAN: MEDIAN,
    }
    kept = rounds > 1
    return Chart(
        "Time-averaged rank loss while one viewer's taste is learnt",
        "round",
        "time-averaged rank loss",
        tuple(
            mean_curve(label, rounds[kept], curves[key][:, kept])
            for label, key in drawn.items()
        ),
        f"Means over {len(curves[MEDIAN])} targets with 95 % intervals, over rounds "
        "that all targets have. Features at unit norm with a constant, unless raw.",
        (CONSTANT, float(curves[CONSTANT][:, -1].mean())),
    )


def _scale_chart(
    config: Config, units: Sequence[Values], passes: dict[str, Floats]
) -> Chart:
    order = np.argsort(config.scales)
    scales = np.array(config.scales)[order]
    return Chart(
        "PRank and the scale of its features",
        "what the features are multiplied by",
        "rank loss of a whole pass",
        tuple(
            mean_curve(label, scales, column(units, "scaled", rule)[:, order])
            for label, rule in ((LAST, "last"), (AVERAGED, "averaged"))
        ),
        "Features as they are, times a factor, without a constant; thresholds move by "
        f"one whatever the factor. Means over {len(units)} targets with 95 % "
        "intervals. A quarter is the scale of EachMovie's scores, from 0 to 1.",
        (MEDIAN, float(passes[MEDIAN].mean())),
        log_x=True,
    )


def _scale_table(
    config: Config, units: Sequence[Values], passes: dict[str, Floats]
) -> Table:
    last, averaged = (column(units, "scaled", rule) for rule in ("last", "averaged"))
    rows = [
        (f"{scale:g}", mean_text(last[:, place]), mean_text(averaged[:, place]))
        for place, scale in enumerate(config.scales)
    ]
    # These look at no feature: one loss, whatever the factor and the rule.
    baselines = ((name, mean_text(passes[name])) for name in BASELINES)
    rows += [(name, text, text) for name, text in baselines]
    caption = (
        "Mean rank loss of a whole pass with features as they are, times a factor, "
        f"without a constant; {len(units)} targets, with 95 % intervals. Below, what "
        "has neither a factor nor a rule."
    )
    return Table(("factor", LAST, AVERAGED), tuple(rows), caption)


def _claim(
    config: Config,
    curves: dict[str, Floats],
    rounds: Ints,
    best: dict[str, str],
    place: int,
) -> Claim:
    found: list[str] = []
    judged: list[int] = []
    for rule, form in ((LAST, RAW), (LAST, UNIT), (AVERAGED, UNIT)):
        ours = curves[in_form(rule, form)]
        texts = []
        for theirs in (best[form], in_form(PERCEPTRON, form)):
            sides = sides_below(ours, curves[theirs], rounds)
            last = difference_text(ours[:, -1] - curves[theirs][:, -1])
            share = sides.count(1) / len(sides)
            texts.append(f"minus {plain(theirs, form)} {last} ({share:.0%})")
            if rule == LAST:
                judged += sides
        found.append(f"features {form}: {rule}, {', '.join(texts)}")
    # The published rule must also be worth its while.
    for rule in (LAST, AVERAGED):
        ours = curves[in_form(rule, UNIT)][:, -1]
        texts = [
            f"minus {key} {difference_text(ours - curves[key][:, -1])}"
            for key in (MEDIAN, ITEM_MEAN)
        ]
        found.append(f"{rule}, {', '.join(texts)}")
    lead = (
        "A comparison a round shown and form of features. "
        f"After {rounds[-1]} rounds, and in brackets the share of the rounds shown, "
        f"from {FIRST_JUDGED} on, at which the interval of the difference is below "
        "zero: "
    )
    text = CLAIM.format(config.more_than[place])
    return Claim(text, verdict(judged), lead + "; ".join(found) + ".")


PARTS = tuple(
    Part(
        name,
        f"On-line: one viewer's taste, the {size} set of viewers",
        load,
        count,
        partial(measure, place=place),
        partial(show, place=place),
    )
    for place, (name, size, load) in enumerate(
        (("movies-many", "larger", load_many), ("movies-few", "smaller", load_few))
    )
)
