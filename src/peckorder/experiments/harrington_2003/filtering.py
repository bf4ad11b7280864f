"""Harrington (2003): Figure 3 and Table 2, collaborative filtering."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator
from scipy import sparse

from peckorder._core.typing import Floats, Ints
from peckorder.datasets import load_cystic_fibrosis, load_movielens_1m, make_ratings
from peckorder.experiments.framework.experiment import (
    Claim,
    Data,
    Measured,
    Part,
    Shown,
    Units,
    Values,
)
from peckorder.experiments.framework.online import centred
from peckorder.experiments.framework.statistics import difference_text, mean_text, verdict
from peckorder.experiments.harrington_2003.methods import (
    AVERAGED,
    BAGGED,
    CONSTANT,
    ETAS,
    FIGURE,
    LAST,
    POINT,
    RAW,
    READINGS,
    REGRESSION,
    RUNNING_MEDIAN,
    TAUS,
    VOTED,
    VOTING,
    WITH_TAU,
    Config,
    Form,
    Losses,
    Task,
    best,
    compare,
    curve_rounds,
    curves,
    difference_table,
    losses_at,
    losses_of,
    named,
    race,
    tau_charts,
    tau_table,
)
from peckorder.feedback import Ratings
from peckorder.ordinal.learners.base import nearest_level
from peckorder.reports import Chart, Table

OTHERS = "mean of the other ratings"
TEST_SHARE = 1 / 8


@dataclass(frozen=True, slots=True)
class Judged:
    """A set of items with several ratings each, and how instances are made of it.

    Charts of all taus are drawn for the first form. `protocol` and `facts` are
    paragraphs of the report: how tasks are drawn, and what is true of the real data.
    """

    title: str
    draw: Callable[[Data, Generator], tuple[Data, Ints]]
    lowest: int
    n_ranks: int
    forms: tuple[Form, ...]
    protocol: str
    facts: str

    def named(self, config: Config) -> str:
        """Return the name of the data in captions."""
        return f"synthetic data for {self.title}" if config.synthetic else self.title

    def measure(self, config: Config, data: Data, unit: int, rng: Generator) -> Measured:
        """Draw targets and an order of the items; run every method on every form."""
        others, target = self.draw(data, rng)
        order = rng.permutation(len(target))
        others, y = others[order], target[order] - self.lowest + 1
        means = mean_of_others(others) - self.lowest + 1
        ranks = nearest_level(means, self.n_ranks) + 1
        n_train = count_train(len(y))
        seed = int(rng.integers(2**31))
        middle = self.lowest + (self.n_ranks - 1) / 2
        values: Values = {"n_learnt": n_train, "online": {}, "test": {}}
        for form in self.forms:
            rows = instances(others, form, middle)
            task = Task(rows, y, n_train, self.n_ranks)
            rounds = curve_rounds(n_train)
            result = race(task, form, rounds, config.members, seed, online=True)
            result.add(OTHERS, ranks[:n_train], ranks[n_train:])
            values["online"][form.label] = result.online
            values["test"][form.label] = result.test
        return Measured(values)


def count_train(n: int) -> int:
    """Return how many of `n` items are for training; the others are for the test."""
    return n - round(n * TEST_SHARE)


def load_judged(config: Config, folder: Path | None) -> Ints:
    """Return the judges' scores (n_pairs, 4), from 0 to 2."""
    if config.synthetic:
        ratings = make_ratings(4, 250, levels=3, min_per_user=250, random_state=0)
        return np.asarray(ratings.matrix().T - 1, dtype=np.int64)
    return np.asarray(load_cystic_fibrosis(folder).scores, dtype=np.int64)


def load_movies(config: Config, folder: Path | None) -> sparse.csr_array:
    """Return ratings (n_movies, n_viewers), sparse, of movies with at least two."""
    if config.synthetic:
        ratings = make_ratings(60, 200, density=0.3, random_state=0)
    else:
        ratings = load_movielens_1m(folder).ratings
    return table_of(ratings, config.more_than)


def table_of(ratings: Ratings, more_than: int) -> sparse.csr_array:
    """Return ratings by movie, at least two each, of viewers with more than that."""
    viewers = np.flatnonzero(ratings.per_user > more_than)
    table = ratings.csr[viewers].T.tocsr()
    return table[np.flatnonzero(np.diff(table.indptr) >= 2)]


def draw_judged(scores: Ints, rng: Generator) -> tuple[Ints, Ints]:
    """Draw one judge's score per pair; the others, in order, are the instance."""
    n, n_judges = scores.shape
    is_target = np.arange(n_judges) == rng.integers(n_judges, size=(n, 1))
    return scores[~is_target].reshape(n, n_judges - 1), scores[is_target]


def draw_movies(table: sparse.csr_array, rng: Generator) -> tuple[Data, Ints]:
    """Draw one viewer's rating per movie; the others' are the instance, by viewer."""
    n = table.shape[0]
    targets = table.indptr[:-1] + rng.integers(0, np.diff(table.indptr), size=n)
    is_other = np.ones(table.nnz, dtype=bool)
    is_other[targets] = False
    starts = table.indptr - np.arange(n + 1)
    others = (table.data[is_other], table.indices[is_other], starts)
    y = table.data[targets].astype(np.int64)
    return sparse.csr_array(others, shape=table.shape), y


def mean_of_others(X: Data) -> Floats:
    """Return the mean rating of every row; of a sparse one, of its stored entries."""
    if not sparse.issparse(X):
        return np.asarray(X.mean(axis=1))
    return np.asarray(X.sum(axis=1).ravel() / np.diff(X.indptr))


def instances(X: Data, form: Form, middle: float) -> Data:
    """Return ratings in a form: minus the middle of the scale, or as they are.

    Entries that are not stored in a sparse row are zero in either case.
    """
    return centred(X, middle) if form.centred else X.astype(float)


CYSTIC_FIBROSIS = Judged(
    "cystic fibrosis",
    draw_judged,
    0,
    3,
    (Form("centred, with a constant", True, True, False), Form("as given", False, False, False)),
    "Four judges gave each pair of a query and a document 0, 1 or 2. For every pair "
    "one score is drawn as the target; the other three, in the order of the judges, "
    "are the instance. {n_train} pairs are learned in random order, the others are the "
    "test set. The paper does not say whether ratings are centred or a constant is "
    "added.",
    # Of the data alone: results are in the tables.
    "A pair is in this collection because one of the four judges found it relevant. So "
    "where the other three say 0, the target never does, although a 0 is evidence for "
    "a 0 elsewhere; no rule that is linear in the ratings can follow both. As given "
    "these instances are zero vectors, from which Widrow-Hoff learns nothing.",
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
    "For every movie one viewer's rating is drawn as the target; the ratings of the "
    "other viewers, minus 3, and 0 where there is none, are the instance. {n_train} "
    "movies are learned in random order, the others are the test set.",
    "The target is another viewer's for each movie, so that nobody's taste can be "
    "learned, only how good a movie is. The mean of the other ratings measures that "
    "without any learning; a rule has one weight per viewer to learn.",
)
FASTEST_AFTER = 1 / 8  # of the rounds: the leader then "converges fastest"
# The text of a claim, the method, and its rivals.
EarlyClaim = tuple[str, str, tuple[str, ...]]


def show(
    judged: Judged, claims: Sequence[EarlyClaim], config: Config, units: Units, seconds: Units
) -> Shown:
    """Show Table 2's column and Figure 3's chart of a data set."""
    name, form = judged.named(config), judged.forms[0].label
    n_train = units[0]["n_learnt"]
    rounds = curve_rounds(n_train)
    by_form = {f.label: losses_of(units, "test", f.label) for f in judged.forms}
    trials = f"{len(units)} repetitions, means with 95 % intervals"
    caption = f"{name}, {{}}, N = {config.members}; {trials}"
    so_far = f"Mean rank loss so far: {caption}."
    tables = (
        _table(judged, units, f"Rank loss on {name}; {trials}."),
        tau_table(
            by_form[form], WITH_TAU[:-1], f"Table 2: test rank loss on {caption.format(form)}."
        ),
        *(_differences(test, f"{name}, {label}; {trials}") for label, test in by_form.items()),
    )
    charts = (
        *(
            _chart(units, rounds, f"{name}, {label}", so_far.format(label), label)
            for label in by_form
        ),
        *tau_charts(units, rounds, so_far.format(form), form),
    )
    return Shown(
        paragraphs=(
            judged.protocol.format(n_train=n_train),
            *(() if config.synthetic else (judged.facts,)),
            _averaged_text(by_form),
        ),
        tables=tables,
        charts=charts,
        claims=(
            _point_claim(by_form, judged),
            *(_early_claim(judged, units, *claim) for claim in claims),
        ),
    )


def _chart(units: Units, rounds: Ints, name: str, caption: str, form: str) -> Chart:
    last = losses_at(units, -1, form)
    names = [best(last, method) for method in FIGURE]
    return Chart(
        f"Figure 3: on-line rank loss on {name}",
        "rounds",
        "mean rank loss so far",
        curves(units, rounds, [*names, AVERAGED, OTHERS, RUNNING_MEDIAN], form),
        f"{caption} Each method with the tau or eta that is best after {rounds[-1]} "
        "rounds; means of ranks are rounded.",
        log_x=True,
    )


def _table(judged: Judged, units: Units, caption: str) -> Table:
    names = [LAST, VOTED + RAW, VOTED, AVERAGED]
    names += [named(REGRESSION, eta) for eta in ETAS]
    names += [named(method, tau) for method in (POINT, BAGGED, VOTING) for tau in TAUS]
    names += [OTHERS, RUNNING_MEDIAN, CONSTANT]
    headings, cells = ["method"], [[name] for name in names]
    for form in judged.forms:
        headings += [f"on-line, {form.label}", f"test, {form.label}"]
        last = losses_at(units, -1, form.label)
        test = losses_of(units, "test", form.label)
        for name, row in zip(names, cells, strict=True):
            online = mean_text(last[name]) if name in last else ""
            row += [online, mean_text(test[name])]
    caption += " The printed figures are lost."
    return Table(tuple(headings), tuple(tuple(row) for row in cells), caption)


def _differences(test: Losses, name: str) -> Table:
    rivals = (BAGGED + RAW, VOTING + RAW, VOTED + RAW, LAST, best(test, REGRESSION))
    return difference_table(
        test,
        (*rivals, BAGGED, VOTING, VOTED, AVERAGED, OTHERS),
        f"OAP-BPM in the test, minus each of the others on the same items: {name}.",
    )


def _averaged_text(by_form: Mapping[str, Losses]) -> str:
    texts = []
    for label, test in by_form.items():
        point = best(test, POINT)
        gap = difference_text(test[AVERAGED] - test[point])
        texts.append(f"{gap} ({label}, against {point})")
    return (
        "Averaged PRank, which is not in the paper, minus OAP-BPM with its best tau, "
        f"in the test: {', '.join(texts)}."
    )


def _point_claim(by_form: Mapping[str, Losses], judged: Judged) -> Claim:
    """Judge whether OAP-BPM has the lowest test loss, in both readings, all forms."""
    texts, sides = [], []
    for label, test in by_form.items():
        for suffix, reading in READINGS:
            means = [method + suffix for method in (BAGGED, VOTING, VOTED)]
            names = [best(test, rival) for rival in (*means, LAST, REGRESSION)]
            is_lowest, text = compare(test, best(test, POINT), names)
            sides.append(is_lowest)
            texts.append(f"{reading}; instances {label}: {text}.")
    name = "EachMovie (here MovieLens 1M)" if judged is MOVIELENS else judged.title
    text = f"OAP-BPM has the lowest test rank loss on {name}."
    return Claim(text, verdict(sides), " ".join(texts))


def _early_claim(
    judged: Judged, units: Units, claim: str, method: str, rivals: Sequence[str]
) -> Claim:
    """Judge which method leads after an eighth of the rounds, on all forms."""
    n_train = units[0]["n_learnt"]
    rounds = curve_rounds(n_train)
    position = int(np.searchsorted(rounds, n_train * FASTEST_AFTER))
    texts, sides = [], []
    for form in judged.forms:
        losses = losses_at(units, position, form.label)
        names = [best(losses, rival) for rival in rivals]
        leads, text = compare(losses, best(losses, method), names)
        sides.append(leads)
        texts.append(f"Instances {form.label}: {text}.")
    lead = f"After {rounds[position]} of {n_train} rounds on-line. "
    return Claim(claim, verdict(sides), lead + " ".join(texts))


def show_ohsumed(config: Config, units: Units, seconds: Units) -> Shown:
    """Explain why nothing is shown."""
    why = (
        "The paper had several judges' ratings of a query and a document, drew one of "
        "them as the target and used the others as a two-dimensional instance. The "
        "available files, of TREC-9 and of LETOR, have one grade per pair: there are "
        "no other ratings to predict it from. The collection itself has a file "
        "`judged` in which more than a tenth of the pairs were judged in duplicate, "
        "mostly by two judges. These are not the several ratings per pair that the "
        "paper describes, and they are not tried."
    )
    claim = Claim(
        "On OHSUMED Widrow-Hoff is slightly better than OAP-BPM in the test.",
        "not tried",
        "The available files have one grade per pair, not one per judge; the "
        "collection's file of duplicate judgements is not tried.",
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
            (
                (
                    "Widrow-Hoff converges fastest on cystic fibrosis.",
                    REGRESSION,
                    (LAST, POINT, BAGGED, VOTING),
                ),
                (
                    "OAP-VP converges faster than OAP-Bagg and OAP-BPM on cystic fibrosis.",
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
