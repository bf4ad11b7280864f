"""Tables 1 and 2, Books: every reviewer in turn, all others being the features."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
from numpy.random import Generator

from peckorder._typing import Floats
from peckorder.experiments._cortes_config import PRINTED_M1D, PRINTED_MSD, Config
from peckorder.experiments._cortes_data import (
    Features,
    Problem,
    Reviewer,
    Reviews,
    filled,
    halved,
)
from peckorder.experiments._cortes_rankers import RANKERS, all_measures, choose
from peckorder.experiments._cortes_tables import is_below, signed, spread_text
from peckorder.experiments._experiment import Claim, Measured, Shown, Values
from peckorder.experiments._tables import printed_text
from peckorder.reports import Cell, Table

_MOST_ROUNDS = 160


def others(reviews: Reviews, row: int) -> Floats:
    """Return the filled ratings of all reviewers but one."""
    csr = reviews.ratings.csr
    rows = np.delete(np.arange(csr.shape[0]), row)
    chosen = csr[rows]
    column = np.repeat(np.arange(len(rows)), np.diff(chosen.indptr))
    shape = csr.shape[1], len(rows)
    return filled(chosen.indices, column, chosen.data, shape)


def measure_books(config: Config, data: Reviews, unit: int, rng: Generator) -> Measured:
    """Leave each reviewer out in turn; parameters by their training halves alone."""
    sizes = data.ratings.per_user
    rows = np.flatnonzero(sizes >= data.low)
    reviewers = [halved(data.ratings, int(row), rng) for row in rows]
    problems = [_problem(data, reviewer) for reviewer in reviewers]
    inner = [_halved_again(each) for each in problems if each.n_train >= 4]
    scale = float(data.ratings.csr.data.std())
    chosen = choose(inner, config, scale, min(_MOST_ROUNDS, config.most_rounds))
    found = all_measures(problems, chosen)
    return Measured(
        {
            "group": data.groups[0].name,
            "reviewers": data.ratings.n_users,
            "books": data.ratings.n_items,
            "ratings": len(data.ratings),
            "chosen": asdict(chosen),
            **{
                name: {key: each.round(6) for key, each in measures.items()}
                for name, measures in found.items()
            },
        }
    )


def _problem(reviews: Reviews, reviewer: Reviewer) -> Problem:
    table = others(reviews, reviewer.row)
    return Features.of(reviews.ratings, table).problem(reviewer)


def _halved_again(problem: Problem) -> Problem:
    n = problem.n_train
    return replace(
        problem,
        rows=problem.rows[:n],
        distances=problem.distances[:n, :n],
        y=problem.y[:n],
        n_train=n // 2,
        popular=problem.popular[:n],
    )


def show_books(
    config: Config, units: Sequence[Values], seconds: Sequence[Values]
) -> Shown:
    """Show means and standard deviations over reviewers, as printed."""
    unit = units[0]
    is_whole = unit["group"] == "Books" and not config.made
    said = (
        "Reviewers of at least 200 books, books with at least 10 reviews."
        if is_whole
        else "Made ratings."
        if config.made
        else "This is not the paper's set, for which the whole Book-Crossing file is "
        "needed (BX-Book-Ratings.csv, 1,149,780 lines): the file at hand is a part, in "
        "which next to no book has ten reviews by reviewers of 200 books. Here "
        "reviewers have at least 100 books, and books at least 10 reviews. Printed "
        "figures stand beside for the size of things only."
    )
    tested = len(unit["MPRank"]["msd"])
    caption = (
        f"{unit['reviewers']} reviewers, {unit['books']} books, {unit['ratings']} "
        f"ratings; {tested} leave-one-reviewer-out runs, of those with at least 4 "
        "ratings. Mean ± standard deviation over runs, as printed."
    )
    tables = []
    for measure, title, printed in (
        ("msd", "Table 1, MSD", PRINTED_MSD["Books"]),
        ("m1d", "Table 1, M1D", PRINTED_M1D["Books"]),
        ("misranking", "Misrankings, ties being errors", {}),
    ):
        rows: list[tuple[Cell, ...]] = []
        for ranker in RANKERS:
            ours = _values(unit, ranker, measure)
            known = printed.get(ranker)
            gap = "" if known is None else signed(ours.mean() - known[0], 3)
            there = printed_text(known)
            rows.append((ranker, spread_text(ours, 3), there, gap))
        if measure == "msd":
            share = _values(unit, "MPRank", "msd").mean()
            share /= _values(unit, "constant", "msd").mean()
            rows.append(("MPRank / constant", f"{share:.3f}", "", ""))
        columns = ("ranker", "ours", "printed", "gap")
        tables.append(Table(columns, tuple(rows), f"{title}. {caption}"))
    return Shown((said,), tuple(tables), claims=(_claim(unit, is_whole=is_whole),))


def _values(unit: Values, ranker: str, measure: str) -> Floats:
    found: Floats = np.array(unit[ranker][measure], dtype=float)
    kept: Floats = found[np.isfinite(found)]
    return kept


def _claim(unit: Values, *, is_whole: bool) -> Claim:
    def difference(measure: str, other: str) -> Floats:
        ours, theirs = (
            np.array(unit[name][measure], dtype=float) for name in ("MPRank", other)
        )
        kept: Floats = (ours - theirs)[np.isfinite(ours - theirs)]
        return kept

    def text(values: Floats) -> str:
        half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
        return f"{signed(float(values.mean()), 3)} ± {half:.3f}"

    constant = difference("msd", "constant")
    below = is_below(constant)
    word = "open" if below is None else "a gain" if below else "a loss"
    found = (
        f"MPRank minus SVRank in MSD: {text(difference('msd', 'SVRank'))}; minus "
        f"RankBoost: {text(difference('msd', 'RankBoost'))}; minus the item mean: "
        f"{text(difference('msd', 'item mean'))}; minus a constant: {text(constant)}, "
        f"which is {word}."
    )
    prefix = "" if is_whole else "On other reviewers than the paper's: "
    return Claim(
        "Books: the low density of ratings makes predictions very noisy.",
        "no" if below else "yes",
        prefix + found,
    )
