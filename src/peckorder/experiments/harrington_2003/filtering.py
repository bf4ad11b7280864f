"""Harrington (2003): Figure 3 and Table 2, collaborative filtering."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.random import Generator
from scipy import sparse

from peckorder._core.typing import Floats, Ints
from peckorder.datasets import load_cystic_fibrosis, load_movielens_1m, make_ratings
from peckorder.experiments.framework import Claim, Data, Measured, Part, Shown, Units, Values
from peckorder.experiments.framework.claims import below
from peckorder.experiments.framework.given import given_ranks, require
from peckorder.experiments.framework.online import centred
from peckorder.experiments.framework.statistics import columns, difference_text, mean_text
from peckorder.experiments.harrington_2003.methods import (
    AVERAGED,
    BAGGED,
    CONSTANT,
    LAST,
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
from peckorder.experiments.harrington_2003.square import (
    ALL_ETAS,
    FASTEST_AFTER,
    FIGURE,
    READINGS,
    WITH_TAU,
    Losses,
    best,
    claim_of,
    compare,
    difference_table,
    loss_chart,
    losses_at,
    slower_with_tau,
    tau_charts,
    tau_table,
)
from peckorder.feedback import Ratings
from peckorder.ordinal.learners.base import nearest_level
from peckorder.reports import Table

OTHERS = "mean of the other ratings"
TEST_SHARE = 1 / 8
FEWEST_VIEWERS = 20


@dataclass(frozen=True, slots=True)
class Judged:
    """A set of items with several ratings each, and how instances are made of it.

    Charts of all taus are drawn for the first form. `protocol` and `facts` are
    paragraphs of the report: how tasks are drawn, and what is true of the real data.
    `fastest` are the claims on the first rounds: text, method, and its rivals. If
    `n_ranks` is 0 it is that of the data.
    """

    title: str
    draw: Callable[[Data, Generator], tuple[Data, Ints]]
    lowest: int
    n_ranks: int
    forms: tuple[Form, ...]
    protocol: str
    facts: str
    fastest: tuple[tuple[str, str, tuple[str, ...]], ...]

    def measure(self, config: Config, data: Data, unit: int, rng: Generator) -> Measured:
        """Draw targets and an order of the items; run every method on every form."""
        others, target = self.draw(data, rng)
        order = rng.permutation(len(target))
        others, y = others[order], target[order] - self.lowest + 1
        means = mean_of_others(others) - self.lowest + 1
        n_ranks = self.n_ranks or int(data.data.max())
        ranks = nearest_level(means, n_ranks) + 1
        n_train = count_train(len(y))
        seed = int(rng.integers(2**31))
        middle = self.lowest + (n_ranks - 1) / 2
        values: Values = {"n_learnt": n_train, "online": {}, "test": {}}
        for form in self.forms:
            # Missing ratings in sparse rows are zero, centred or not.
            rows = centred(others, middle if form.centred else 0.0)
            race = Race(rows, y, n_train, n_ranks, curve_rounds(n_train))
            race.run(form, config.members, seed).add(OTHERS, ranks[:n_train], ranks[n_train:])
            values["online"][form.label] = race.online
            values["test"][form.label] = race.test
        return Measured(values)

    def show(self, config: Config, units: Units, seconds: Units) -> Shown:
        """Show Table 2's column and Figure 3's chart of a data set."""
        name = f"synthetic data for {self.title}" if config.synthetic else self.title
        first = self.forms[0].label
        n_train = units[0]["n_learnt"]
        rounds = curve_rounds(n_train)
        by_form = {form.label: columns(units, "test", form.label) for form in self.forms}
        trials = f"{len(units)} repetitions, means with 95 % intervals"
        caption = f"{name}, {{}}, N = {config.members}; {trials}"
        so_far = f"Mean rank loss so far: {caption}."
        chosen = (
            f" Each method with the tau or eta that is best after {rounds[-1]} "
            "rounds; means of ranks are rounded."
        )
        tables = [
            self._table(units, f"Rank loss on {name}; {trials}."),
            tau_table(
                by_form[first],
                WITH_TAU[:-1],
                f"Table 2: test rank loss on {caption.format(first)}.",
            ),
        ]
        charts = []
        for label, test in by_form.items():
            tables.append(
                difference_table(
                    test,
                    (VOTED, AVERAGED, OTHERS),
                    "OAP-BPM in the test, minus each of the others on the same items: "
                    f"{name}, {label}; {trials}.",
                )
            )
            last = losses_at(units, -1, label)
            charts.append(
                loss_chart(
                    f"Figure 3: on-line rank loss on {name}, {label}",
                    units,
                    rounds,
                    [*(best(last, method) for method in FIGURE), AVERAGED, OTHERS, RUNNING_MEDIAN],
                    so_far.format(label) + chosen,
                    label,
                )
            )
        return Shown(
            paragraphs=(
                self.protocol.format(n_train=n_train),
                *(() if config.synthetic else (self.facts,)),
                _averaged_text(by_form),
            ),
            tables=tuple(tables),
            charts=(*charts, *tau_charts(units, rounds, so_far.format(first), first)),
            claims=tuple(self._claims(units, by_form)),
        )

    def _table(self, units: Units, caption: str) -> Table:
        names = [LAST, VOTED + RAW, VOTED, AVERAGED, *ALL_ETAS]
        names += [named(method, tau) for method in (POINT, BAGGED, VOTING) for tau in TAUS]
        names += [OTHERS, RUNNING_MEDIAN, CONSTANT]
        headings, cells = ["method"], [[name] for name in names]
        for form in self.forms:
            headings += [f"on-line, {form.label}", f"test, {form.label}"]
            last = losses_at(units, -1, form.label)
            test = columns(units, "test", form.label)
            for name, row in zip(names, cells, strict=True):
                online = mean_text(last[name]) if name in last else ""
                row += [online, mean_text(test[name])]
        caption += " The printed figures are lost."
        return Table(tuple(headings), tuple(tuple(row) for row in cells), caption)

    def _claims(self, units: Units, by_form: Mapping[str, Losses]) -> Iterable[Claim]:
        """Judge who is lowest in the test, who leads early, and what tau does."""
        name = self.title
        if self in (MOVIELENS, GIVEN_RATINGS):
            name = f"EachMovie (here {self.title})"
        for label, test in by_form.items():
            for suffix, reading in READINGS:
                rivals = (BAGGED + suffix, VOTING + suffix, VOTED + suffix, LAST, REGRESSION)
                yield claim_of(
                    f'{name}: "OAP-BPM had the lowest average rank loss" in the test '
                    f"(instances {label}; {reading}).",
                    [compare(test, POINT, rivals)],
                )
        n_train = units[0]["n_learnt"]
        rounds = curve_rounds(n_train)
        position = int(np.searchsorted(rounds, n_train * FASTEST_AFTER))
        lead = f"After {rounds[position]} of {n_train} rounds on-line. "
        for label in by_form:
            losses = losses_at(units, position, label)
            for text, method, slower in self.fastest:
                found = [compare(losses, method, slower)]
                yield claim_of(f"{name}: {text} (instances {label}).", found, lead)
            yield slower_with_tau(f"{name}, instances {label}", units, rounds, n_train, label)
            yield self._better_in_test(name, label, units, by_form[label])

    def _better_in_test(self, name: str, label: str, units: Units, test: Losses) -> Claim:
        online = losses_at(units, -1, label)
        names = [named(POINT, tau) for tau in TAUS]
        gaps = [f"{method} {difference_text(test[method] - online[method])}" for method in names]
        return Claim(
            f'{name}: "the test set results for OAP-BPM are better than the training set '
            f'results" (instances {label}).',
            tuple(below(test[method], online[method]) for method in names),
            f"Test minus on-line over all rounds: {', '.join(gaps)}.",
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


def load_given(config: Config, path: Path | None) -> sparse.csr_array:
    """Return the ratings that are given, as `load_movies` does MovieLens."""
    assert path is not None
    ratings = given_ranks(path)
    count = int((ratings.per_user > config.more_than).sum())
    require(path, count, FEWEST_VIEWERS, f"users with more than {config.more_than} ratings")
    return table_of(ratings, config.more_than)


def table_of(ratings: Ratings, more_than: int) -> sparse.csr_array:
    """Return ratings by movie, at least two each, of viewers with more than that."""
    kept = ratings.filter(min_per_user=more_than + 1, repeat=False)
    return kept.filter(min_per_item=2, repeat=False).csr.T.tocsr()


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


FASTER = tuple(
    (f'OAP-VP "has a faster convergence" than {rival}', VOTING, (rival,))
    for rival in (BAGGED, POINT)
)
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
    (
        ('Widrow-Hoff "had the fastest convergence"', REGRESSION, (LAST, POINT, BAGGED, VOTING)),
        *FASTER,
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
    "For every movie one viewer's rating is drawn as the target; the ratings of the "
    "other viewers, minus 3, and 0 where there is none, are the instance. {n_train} "
    "movies are learned in random order, the others are the test set.",
    "The target is another viewer's for each movie, so that nobody's taste can be "
    "learned, only how good a movie is. The mean of the other ratings measures that "
    "without any learning; a rule has one weight per viewer to learn.",
    FASTER,
)


GIVEN_RATINGS = replace(
    MOVIELENS,
    title="the ratings given",
    n_ranks=0,
    protocol="For every movie one viewer's rating is drawn as the target; the ratings of the "
    "other viewers, minus the middle of the scale, and 0 where there is none, are the instance. "
    "{n_train} movies are learned in random order, the others are the test set.",
)


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
        'OHSUMED: in the test OAP-BPM "was close to the better" Widrow-Hoff.',
        (),
        "The available files have one grade per pair, not one per judge; the "
        "collection's file of duplicate judgements is not tried.",
        "not tried",
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
        show=CYSTIC_FIBROSIS.show,
    ),
    Part(
        name="movielens",
        title="Figure 3 (c) and Table 2: MovieLens for EachMovie",
        load=load_movies,
        count=lambda config: config.movie_trials,
        measure=MOVIELENS.measure,
        show=MOVIELENS.show,
    ),
)
GIVEN = (
    Part(
        name="ratings",
        title="Figure 3 (c) and Table 2: the ratings given, for EachMovie",
        load=load_given,
        count=lambda config: config.movie_trials,
        measure=GIVEN_RATINGS.measure,
        show=GIVEN_RATINGS.show,
    ),
)
