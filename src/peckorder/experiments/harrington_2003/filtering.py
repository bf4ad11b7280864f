"""Harrington (2003): one rating of an item from the others, on-line and in a test."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

from peckorder._core.typing import Floats, Ints
from peckorder.datasets import load_cystic_fibrosis, load_movielens_1m, make_ratings
from peckorder.experiments.framework.experiment import (
    Claim,
    Measured,
    Part,
    Shown,
    Units,
    Values,
)
from peckorder.experiments.framework.online import centred
from peckorder.experiments.framework.statistics import (
    difference_text,
    mean_text,
    verdict,
)
from peckorder.experiments.harrington_2003.methods import (
    AVERAGED,
    BAGGED,
    CONSTANT,
    ETAS,
    LAST,
    POINT,
    RAW,
    READINGS,
    REGRESSION,
    RUNNING_MEDIAN,
    TAUS,
    VOTED,
    VOTING,
    Config,
    Form,
    Task,
    after,
    best,
    compare,
    curves,
    difference_table,
    losses_of,
    named,
    places_on_the_way,
    race,
    tau_charts,
    tau_table,
    with_tau,
)
from peckorder.feedback import Ratings
from peckorder.ordinal.learners.base import nearest_level
from peckorder.reports import Chart, Table

OTHERS = "mean of the other ratings"
TEST_SHARE = 1 / 8


@dataclass(frozen=True, slots=True)
class Judged:
    """A set of items with several ratings each, and how instances are made of it.

    The first form is the one whose taus are all drawn.
    """

    what: str
    draw: Callable[[Any, Generator], tuple[Any, Ints]]
    lowest: int
    n_ranks: int
    forms: tuple[Form, ...]

    def named(self, config: Config) -> str:
        """Return what the data are called in captions."""
        return f"made data for {self.what}" if config.synthetic else self.what

    def measure(self, config: Config, data: Any, unit: int, rng: Generator) -> Measured:
        """Draw targets and an order of the items; try every method on every form."""
        others, target = self.draw(data, rng)
        order = rng.permutation(len(target))
        others, y = others[order], target[order] - self.lowest + 1
        means = mean_of_others(others) - self.lowest + 1
        whole = nearest_level(means, self.n_ranks) + 1
        n_learnt = count_learnt(len(y))
        seed = int(rng.integers(2**31))
        middle = self.lowest + (self.n_ranks - 1) / 2
        values: Values = {"n_learnt": n_learnt, "online": {}, "test": {}}
        for form in self.forms:
            rows = instances(others, form, middle)
            task = Task(rows, y, n_learnt, self.n_ranks)
            rounds = places_on_the_way(n_learnt)
            found = race(task, form, rounds, config.members, seed, online=True)
            found.add(OTHERS, whole[:n_learnt], whole[n_learnt:])
            values["online"][form.label] = found.online
            values["test"][form.label] = found.test
        return Measured(values)


def count_learnt(n: int) -> int:
    """Return how many of `n` items are learnt; the others are for the test."""
    return n - round(n * TEST_SHARE)


def load_judged(config: Config, folder: Path | None) -> Ints:
    """Return the judges' scores (n_pairs, 4), from 0 to 2."""
    if config.synthetic:
        made = make_ratings(4, 250, levels=3, min_per_user=250, random_state=0)
        return np.asarray(made.matrix().T - 1, dtype=np.int64)
    return np.asarray(load_cystic_fibrosis(folder).scores, dtype=np.int64)


def load_movies(config: Config, folder: Path | None) -> Any:
    """Return the ratings (n_movies, n_viewers), sparse, of movies with two or more."""
    if config.synthetic:
        ratings = make_ratings(60, 200, density=0.3, random_state=0)
    else:
        ratings = load_movielens_1m(folder).ratings
    return table_of(ratings, config.more_than)


def table_of(ratings: Ratings, more_than: int) -> Any:
    """Return ratings by movie, of viewers with more than so many, two at least each."""
    viewers = np.flatnonzero(ratings.per_user > more_than)
    table = ratings.csr[viewers].T.tocsr()
    return table[np.flatnonzero(np.diff(table.indptr) >= 2)]


def draw_judged(scores: Ints, rng: Generator) -> tuple[Ints, Ints]:
    """Draw one judge's score a pair; the others', in their order, are the instance."""
    n, n_judges = scores.shape
    is_target = np.arange(n_judges) == rng.integers(n_judges, size=(n, 1))
    return scores[~is_target].reshape(n, n_judges - 1), scores[is_target]


def draw_movies(table: Any, rng: Generator) -> tuple[Any, Ints]:
    """Draw one viewer's rating a movie; the others' are the instance, by viewer."""
    n = table.shape[0]
    counts = np.diff(table.indptr)
    place = table.indptr[:-1] + rng.integers(0, counts, size=n)
    is_other = np.ones(table.nnz, dtype=bool)
    is_other[place] = False
    parts = (
        table.data[is_other],
        table.indices[is_other],
        table.indptr - np.arange(n + 1),
    )
    return sparse.csr_array(parts, shape=table.shape), table.data[place].astype(
        np.int64
    )


def mean_of_others(X: Any) -> Floats:
    """Return the mean rating in every row; of a sparse one, of what is stored."""
    if not sparse.issparse(X):
        return np.asarray(X.mean(axis=1))
    return np.asarray(X.sum(axis=1).ravel() / np.diff(X.indptr))


def instances(X: Any, form: Form, middle: float) -> Any:
    """Return ratings as a form has them: moved so that the middle is zero, or not.

    What is not stored in a sparse row is zero in either case.
    """
    return centred(X, middle) if form.centred else X.astype(float)


CYSTIC_FIBROSIS = Judged(
    "cystic fibrosis",
    draw_judged,
    0,
    3,
    (
        Form("centred, with a constant", True, True, False),
        Form("as given", False, False, False),
    ),
)
MOVIELENS = Judged(
    "MovieLens 1M",
    draw_movies,
    1,
    5,
    (
        Form("centred, with a constant, unit norm", True, True, True),
        Form("centred, with a constant", True, True, False, "normalized"),
    ),
)


FIGURE = (LAST, REGRESSION, POINT, BAGGED, VOTING)
JUDGED_TOLD = (
    "Four judges gave each pair of a query and a document 0, 1 or 2. For every pair "
    "one score is drawn as the target; the other three, in the order of the judges, "
    "are the instance. {n_learnt} pairs are learnt in random order, the others are the "
    "test. What is taken from the ratings, and whether a constant goes with them, the "
    "paper does not say."
)
# Of the data alone: what a run finds of them is in its tables.
JUDGED_FACTS = (
    "A pair is in this collection because one of the four judges found it relevant. So "
    "where the other three say 0, the target never is, although a 0 speaks for a 0 "
    "elsewhere; no rule that is linear in the ratings can follow both. As given these "
    "instances are zero vectors, from which Widrow-Hoff learns nothing."
)
MOVIES_TOLD = (
    "For every movie one viewer's rating is drawn as the target; the ratings of the "
    "other viewers, less 3, and 0 where there is none, are the instance. {n_learnt} "
    "movies are learnt in random order, the others are the test."
)
MOVIES_FACTS = (
    "The target is another viewer's for each movie, so that nobody's taste can be "
    "learnt, only how good a movie is. The mean of the other ratings says that without "
    "any learning; a rule has a weight for each viewer to learn."
)
FASTEST_AFTER = 1 / 8  # of the rounds: who is ahead then "converges fastest"


def show(
    judged: Judged,
    told: str,
    facts: str,
    claims: Sequence[tuple[str, str, tuple[str, ...]]],
    config: Config,
    units: Units,
    seconds: Units,
) -> Shown:
    """Show Table 2's column and Figure 3's chart of a data set."""
    what, form = judged.named(config), judged.forms[0].label
    n_learnt = units[0]["n_learnt"]
    rounds = places_on_the_way(n_learnt)
    by_form = {
        form.label: losses_of(units, "test", form.label) for form in judged.forms
    }
    trials = f"{len(units)} repetitions, means with 95 % intervals"
    how = f"{what}, {{}}, N = {config.members}; {trials}"
    tables = (
        _table(
            judged,
            units,
            f"Rank loss on {what}; {trials}. The printed figures are lost.",
        ),
        tau_table(
            by_form[form],
            (POINT, BAGGED + RAW, BAGGED, VOTING + RAW, VOTING),
            f"Table 2: test rank loss on {how.format(form)}.",
        ),
        *(
            _differences(test, f"{what}, {label}; {trials}")
            for label, test in by_form.items()
        ),
    )
    charts = [
        *(_chart(units, rounds, what, label, how.format(label)) for label in by_form),
        *tau_charts(units, rounds, f"Mean rank loss so far: {how.format(form)}.", form),
    ]
    return Shown(
        paragraphs=(
            told.format(n_learnt=n_learnt),
            *(() if config.synthetic else (facts,)),
            _averaged(by_form),
        ),
        tables=tables,
        charts=tuple(charts),
        claims=(
            _point_claim(by_form, judged),
            *(_early_claim(judged, units, *claim) for claim in claims),
        ),
    )


def _chart(units: Units, rounds: Ints, what: str, form: str, how: str) -> Chart:
    last = after(units, -1, form)
    names = [best(last, method) for method in FIGURE]
    return Chart(
        f"Figure 3: on-line rank loss on {what}, {form}",
        "rounds",
        "mean rank loss so far",
        curves(units, rounds, [*names, AVERAGED, OTHERS, RUNNING_MEDIAN], form),
        f"Mean rank loss so far: {how}. Each method with the tau or eta that is best "
        f"after {rounds[-1]} rounds; means of ranks are rounded.",
        log_x=True,
    )


def _table(judged: Judged, units: Units, caption: str) -> Table:
    names = [LAST, VOTED + RAW, VOTED, AVERAGED]
    names += [named(REGRESSION, eta) for eta in ETAS]
    names += [
        with_tau(method, tau) for method in (POINT, BAGGED, VOTING) for tau in TAUS
    ]
    names += [OTHERS, RUNNING_MEDIAN, CONSTANT]
    columns, cells = ["method"], [[name] for name in names]
    for form in judged.forms:
        columns += [f"on-line, {form.label}", f"test, {form.label}"]
        end = after(units, -1, form.label)
        test = losses_of(units, "test", form.label)
        for name, row in zip(names, cells, strict=True):
            row += [mean_text(end[name]) if name in end else "", mean_text(test[name])]
    return Table(tuple(columns), tuple(tuple(row) for row in cells), caption)


def _differences(test: Mapping[str, Floats], how: str) -> Table:
    rivals = (BAGGED + RAW, VOTING + RAW, VOTED + RAW, LAST, best(test, REGRESSION))
    return difference_table(
        test,
        POINT,
        (*rivals, BAGGED, VOTING, VOTED, AVERAGED, OTHERS),
        f"OAP-BPM in the test, less each of the others on the same items: {how}. "
        "Below zero OAP-BPM is better.",
    )


def _averaged(by_form: Mapping[str, Mapping[str, Floats]]) -> str:
    found = []
    for label, test in by_form.items():
        point = best(test, POINT)
        gap = difference_text(test[AVERAGED] - test[point])
        found.append(f"{gap} ({label}, against {point})")
    return (
        "Averaged PRank, which the paper does not have, less OAP-BPM with its best "
        f"tau, in the test: {', '.join(found)}."
    )


def _point_claim(by_form: Mapping[str, Mapping[str, Floats]], judged: Judged) -> Claim:
    """Judge whether OAP-BPM has the lowest test loss, in both readings, all forms."""
    found, sides = [], []
    for label, test in by_form.items():
        for end, reading in READINGS:
            rivals = (BAGGED + end, VOTING + end, VOTED + end, LAST, REGRESSION)
            names = [best(test, rival) for rival in rivals]
            lowest_here, said = compare(test, best(test, POINT), names)
            sides.append(lowest_here)
            found.append(f"{reading}; instances {label}: {said}.")
    where = "EachMovie (here MovieLens 1M)" if judged is MOVIELENS else judged.what
    return Claim(
        f"OAP-BPM has the lowest test rank loss on {where}.",
        verdict(sides),
        " ".join(found),
    )


def _early_claim(
    judged: Judged, units: Units, text: str, method: str, rivals: Sequence[str]
) -> Claim:
    """Judge who is ahead after an eighth of the rounds, on all forms."""
    n_learnt = units[0]["n_learnt"]
    rounds = places_on_the_way(n_learnt)
    place = int(np.searchsorted(rounds, n_learnt * FASTEST_AFTER))
    found, sides = [], []
    for label in (form.label for form in judged.forms):
        losses = after(units, place, label)
        names = [best(losses, rival) for rival in rivals]
        ahead, said = compare(losses, best(losses, method), names)
        sides.append(ahead)
        found.append(f"Instances {label}: {said}.")
    lead = f"After {rounds[place]} of {n_learnt} rounds on-line. "
    return Claim(text, verdict(sides), lead + " ".join(found))


def show_ohsumed(config: Config, units: Units, seconds: Units) -> Shown:
    """Say why there is nothing to show."""
    why = (
        "The paper had several judges' ratings of a query and a document, of which it "
        "drew one as the target and took the others as a two-dimensional instance. The "
        "files of TREC-9 and of LETOR, which are at hand, have one grade a pair: there "
        "are no other ratings to predict it from. The collection itself has a file "
        "`judged` in which more than a tenth of the pairs were judged in duplicate, "
        "mostly by two judges. That is not the several ratings a pair that the paper "
        "describes, and it is not tried."
    )
    claim = Claim(
        "On OHSUMED Widrow-Hoff is slightly better than OAP-BPM in the test.",
        "not tried",
        "The files at hand have one grade a pair, not one a judge; the collection's "
        "file of duplicate judgements is not tried.",
    )
    return Shown(paragraphs=(why,), claims=(claim,))


PARTS = (
    Part(
        name="ohsumed",
        title="Figure 3 (a) and Table 2: OHSUMED",
        load=lambda config, folder: None,
        count=lambda config: 0,
        measure=lambda config, data, unit, rng: Measured({}),
        show=show_ohsumed,
    ),
    Part(
        name="cystic-fibrosis",
        title="Figure 3 (b) and Table 2: cystic fibrosis",
        load=load_judged,
        count=lambda config: config.judged_trials,
        measure=CYSTIC_FIBROSIS.measure,
        show=partial(
            show,
            CYSTIC_FIBROSIS,
            JUDGED_TOLD,
            JUDGED_FACTS,
            (
                (
                    "Widrow-Hoff converges fastest on cystic fibrosis.",
                    REGRESSION,
                    (LAST, POINT, BAGGED, VOTING),
                ),
                (
                    "OAP-VP converges faster than OAP-Bagg and OAP-BPM on cystic "
                    "fibrosis.",
                    VOTING,
                    (BAGGED, POINT),
                ),
            ),
        ),
    ),
    Part(
        name="movielens",
        title="Figure 3 (c) and Table 2: MovieLens for EachMovie",
        load=load_movies,
        count=lambda config: config.movie_trials,
        measure=MOVIELENS.measure,
        show=partial(
            show,
            MOVIELENS,
            MOVIES_TOLD,
            MOVIES_FACTS,
            (
                (
                    "OAP-VP converges faster than OAP-Bagg and OAP-BPM on EachMovie "
                    "(here MovieLens 1M).",
                    VOTING,
                    (BAGGED, POINT),
                ),
            ),
        ),
    ),
)
