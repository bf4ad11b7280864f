"""Tables 1 and 2, Books: every reviewer in turn, all others being the features."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

import numpy as np
from numpy.random import Generator

from peckorder._core.typing import Floats
from peckorder.experiments.cortes_2007.claims import magnitude_claims
from peckorder.experiments.cortes_2007.config import PRINTED_M1D, PRINTED_MSD, Config
from peckorder.experiments.cortes_2007.data import (
    PART,
    Features,
    Problem,
    Reviewer,
    Reviews,
    filled,
    halved,
)
from peckorder.experiments.cortes_2007.rankers import RANKERS, all_measures, choose
from peckorder.experiments.cortes_2007.tables import choices_text, signed, spread_text
from peckorder.experiments.framework.experiment import Claim, Measured, Shown, Values
from peckorder.experiments.framework.tables import printed_text
from peckorder.reports import Cell, Table


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
    chosen = choose(inner, config, scale, config.most_rounds)
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
    said = (
        "Made ratings."
        if config.made
        else "Reviewers of at least 200 books, books with at least 10 reviews."
        if unit["group"] != PART
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
    chosen = (
        f"Chosen by training halves alone: {choices_text(config, [unit['chosen']])}."
    )
    return Shown((said, chosen), tuple(tables), claims=tuple(_claims(unit)))


def _values(unit: Values, ranker: str, measure: str) -> Floats:
    found: Floats = np.array(unit[ranker][measure], dtype=float)
    kept: Floats = found[np.isfinite(found)]
    return kept


def _claims(unit: Values) -> Iterable[Claim]:
    """Judge over reviewers; what is said cannot be judged by a part of the set."""

    def found(ranker: str, measure: str) -> list[Floats]:
        return [np.array(unit[ranker][measure], dtype=float)]

    for claim in magnitude_claims("Books", ["Books"], found):
        if unit["group"] == PART:
            said = f"On other reviewers than the paper's: {claim.found}"
            yield replace(claim, holds="not tried", found=said)
        else:
            yield claim
