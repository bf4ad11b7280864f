"""What the paper says of tables 1 and 2, judged by paired differences."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace

import numpy as np
from numpy.random import Generator

from peckorder._core.typing import Floats
from peckorder.experiments.cortes_2007.data import (
    PART,
    PRINTED_M1D,
    PRINTED_MISRANKING,
    PRINTED_MSD,
    Config,
    Features,
    Problem,
    Reviewer,
    Reviews,
    draw_features,
    draw_reviewers,
    filled,
    halved,
)
from peckorder.experiments.cortes_2007.rankers import RANKERS, all_measures, choose
from peckorder.experiments.framework.experiment import (
    Claim,
    Measured,
    Shown,
    Units,
    Values,
)
from peckorder.experiments.framework.statistics import (
    column,
    difference_text,
    mean_curve,
    printed_text,
    side,
    verdict,
    within,
)
from peckorder.reports import Cell, Chart, Table

# M1D within so much of SVRank's is called comparable, and misrankings that are worse
# than RankBoost's by no more.
CLOSE_SHARE, CLOSE = 0.05, 0.02
HALF = "± half the 95 % interval"

# Of a ranker in a measure: the values of every repetition (or reviewer), a group each.
Found = Callable[[str, str], Sequence[Floats]]


def magnitude_claims(name: str, groups: Sequence[str], found: Found) -> Iterable[Claim]:
    """Judge what is said of MSD and M1D."""

    def text(differences: Sequence[Floats]) -> str:
        return _by_group(name, groups, differences)

    def shares(ranker: str, measure: str) -> str:
        pairs = zip(found(ranker, measure), found("constant", measure), strict=True)
        return ", ".join(
            f"{np.nanmean(one) / np.nanmean(other):.3f}" for one, other in pairs
        )

    svrank, boost = (gaps(found, other, "msd") for other in ("SVRank", "RankBoost"))
    yield Claim(
        f"{name}: MPRank obtains the best MSD values.",
        verdict(side(-gap) for gap in (*svrank, *boost)),
        f"MPRank minus SVRank, {HALF}: {text(svrank)}; minus RankBoost: {text(boost)}. "
        f"Over a constant: MPRank {shares('MPRank', 'msd')}; SVRank "
        f"{shares('SVRank', 'msd')}.",
    )
    relative = [
        gap / np.nanmean(other)
        for gap, other in zip(
            gaps(found, "SVRank", "m1d"), found("SVRank", "m1d"), strict=True
        )
    ]
    yield Claim(
        f"{name}: MPRank and SVRank obtain comparable M1D values.",
        verdict(within(gap, CLOSE_SHARE) for gap in relative),
        f"MPRank minus SVRank, over SVRank's mean, {HALF}: {text(relative)}; "
        f"comparable is within {CLOSE_SHARE}. Over a constant: MPRank "
        f"{shares('MPRank', 'm1d')}; SVRank {shares('SVRank', 'm1d')}.",
    )
    m1d = gaps(found, "RankBoost", "m1d")
    yield Claim(
        f"{name}: RankBoost is not competitive in MSD and M1D.",
        verdict(side(-gap) for gap in (*boost, *m1d)),
        f"MPRank minus RankBoost in M1D, {HALF}: {text(m1d)}; in MSD as above. "
        "RankBoost's scores grow with its rounds, and are on no scale of ratings.",
    )


def misranking_claim(name: str, groups: Sequence[str], found: Found) -> Claim:
    """Judge what is said of misrankings: to be better is comparable as well."""
    misrank = gaps(found, "RankBoost", "misranking")
    halves = gaps(found, "RankBoost", "ties half")
    return Claim(
        f"{name}: the pairwise misranking error of MPRank is comparable to that of "
        "RankBoost.",
        verdict(side(CLOSE - gap) for gap in misrank),
        f"MPRank minus RankBoost, {HALF}: {_by_group(name, groups, misrank)}; with "
        f"ties as half errors: {_by_group(name, groups, halves)}. Judged by whether "
        f"MPRank is worse by less than {CLOSE}.",
    )


def gaps(found: Found, other: str, measure: str) -> list[Floats]:
    """Return MPRank minus another, what is NaN left out; a group each."""
    pairs = zip(found("MPRank", measure), found(other, measure), strict=True)
    return [(one - two)[np.isfinite(one - two)] for one, two in pairs]


def _by_group(name: str, groups: Sequence[str], differences: Sequence[Floats]) -> str:
    return "; ".join(
        f"{group.removeprefix(name)} {difference_text(values)}".strip()
        for group, values in zip(groups, differences, strict=True)
    )


MINUS = "\N{MINUS SIGN}"


def measure_groups(
    reviews: Reviews,
    rng: Generator,
    config: Config,
    n_reviewers: int,
    n_held_out: int,
    most_rounds: int,
) -> Measured:
    """Test all rankers on the same reviewers, with references of every group."""
    drawn = draw_reviewers(reviews, n_reviewers + n_held_out, rng)
    held_out, tested = drawn[:n_held_out], drawn[n_held_out:]
    unit = float(reviews.ratings.csr.data.std())
    values: Values = {"reviewers": len(tested), "groups": {}}
    for group in reviews.groups:
        table = draw_features(reviews, group, drawn, config.references, rng)
        features = Features.of(reviews.ratings, table)
        problems = [features.problem(reviewer) for reviewer in held_out]
        chosen = choose(problems, config, unit, most_rounds)
        found = all_measures(map(features.problem, tested), chosen)
        values["groups"][group.name] = {
            "chosen": asdict(chosen),
            **{
                name: {key: float(np.nanmean(values)) for key, values in of.items()}
                for name, of in found.items()
            },
        }
    return Measured(values)


def measure_sparse(
    config: Config, data: Reviews, unit: int, rng: Generator
) -> Measured:
    """Do one repetition on MovieLens or Jester."""
    return measure_groups(
        data, rng, config, config.reviewers, config.held_out, config.most_rounds
    )


def measure_dense(config: Config, data: Reviews, unit: int, rng: Generator) -> Measured:
    """Do one repetition on the dense matrix."""
    return measure_groups(
        data,
        rng,
        config,
        config.dense_reviewers,
        config.dense_held_out,
        config.dense_most_rounds,
    )


def spread_text(values: Floats, decimals: int) -> str:
    """Write the mean and the standard deviation over repetitions, as the paper does."""
    mean = f"{values.mean():.{decimals}f}"
    if len(values) < 2:
        return mean
    return f"{mean} ± {values.std(ddof=1):.{decimals}f}"


def signed(value: float, decimals: int) -> str:
    """Write a number with its sign."""
    return f"{value:+.{decimals}f}".replace("-", MINUS)


def show_groups(
    config: Config, units: Units, seconds: Units, *, name: str, where: str
) -> Shown:
    """Show the repetitions on one set of ratings."""
    groups = list(units[0]["groups"])
    caption = (
        f"{where}{' (made ratings in its place)' if config.synthetic else ''}: {len(units)} "
        f"repetitions of {units[0]['reviewers']} test reviewers; mean ± standard "
        "deviation over repetitions, as printed."
    )

    def found(ranker: str, measure: str) -> list[Floats]:
        return [of(units, group, ranker, measure) for group in groups]

    return Shown(
        (_choices(config, units, groups),),
        tuple(_tables(units, groups, caption)),
        (_ratio_chart(units, groups, caption),),
        (*magnitude_claims(name, groups, found), misranking_claim(name, groups, found)),
    )


def of(units: Units, group: str, ranker: str, measure: str) -> Floats:
    """Return a measure in every repetition."""
    return column(units, "groups", group, ranker, measure)


def ratio(units: Units, group: str, ranker: str) -> Floats:
    """Return the MSD over that of a constant in every repetition."""
    constant = of(units, group, "constant", "msd")
    quotient: Floats = of(units, group, ranker, "msd") / constant
    return quotient


def _tables(units: Units, groups: Sequence[str], caption: str) -> Iterable[Table]:
    yield _table("msd", units, groups, PRINTED_MSD, f"Table 1, MSD. {caption} {_RATIO}")
    yield _table("m1d", units, groups, PRINTED_M1D, f"Table 1, M1D. {caption}")
    yield _table(
        "misranking",
        units,
        groups,
        PRINTED_MISRANKING,
        f"Table 2, pairwise misrankings, ties being errors. {caption} In the last "
        "column ties count as half an error.",
    )


_RATIO = (
    "The last row of a group is MPRank's MSD over the constant's; under 'printed' it "
    "is the printed MSD over our constant's."
)


def _table(
    measure: str,
    units: Units,
    groups: Sequence[str],
    printed: dict[str, dict[str, tuple[float, float]]],
    caption: str,
) -> Table:
    has_ties = measure == "misranking"
    decimals = 3
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        for ranker in RANKERS:
            ours = of(units, group, ranker, measure)
            known = printed.get(group, {}).get(ranker)
            gap = "" if known is None else signed(ours.mean() - known[0], decimals)
            row: list[Cell] = [
                group,
                ranker,
                spread_text(ours, decimals),
                printed_text(known, 3 if has_ties else 2),
                gap,
            ]
            if has_ties:
                row.append(spread_text(of(units, group, ranker, "ties half"), 3))
            rows.append(tuple(row))
        if measure == "msd":
            ours = ratio(units, group, "MPRank")
            known = printed.get(group, {}).get("MPRank")
            there, gap = "", ""
            if known is not None:
                share = known[0] / of(units, group, "constant", "msd").mean()
                there, gap = f"{share:.3f}", signed(ours.mean() - share, 3)
            rows.append((group, "MPRank / constant", spread_text(ours, 3), there, gap))
    columns = ("group", "ranker", "ours", "printed", "gap")
    return Table((*columns, "ties half") if has_ties else columns, tuple(rows), caption)


def _ratio_chart(units: Units, groups: Sequence[str], caption: str) -> Chart:
    x = np.arange(1, len(groups) + 1)
    curves = tuple(
        mean_curve(
            ranker,
            x,
            np.stack([ratio(units, group, ranker) for group in groups], axis=1),
        )
        for ranker in RANKERS
        if ranker not in ("RankBoost", "constant")
    )
    names = ", ".join(f"{i} {group}" for i, group in enumerate(groups, start=1))
    return Chart(
        "MSD over that of a constant",
        f"group of reference reviewers ({names})",
        "MSD / MSD of a constant",
        curves,
        f"{caption} Bands are 95 % intervals of the mean. RankBoost's scores are on no "
        "scale of ratings, and are left out.",
        reference=("constant", 1.0),
    )


def _choices(config: Config, units: Units, groups: Sequence[str]) -> str:
    """Say what was chosen on held-out reviewers, in the middle of all repetitions."""
    parts = []
    for group in groups:
        chosen = [unit["groups"][group]["chosen"] for unit in units]
        parts.append(f"{group}: {choices_text(config, chosen)}")
    return f"Chosen on held-out reviewers (medians). {'. '.join(parts)}."


def choices_text(config: Config, chosen: Units) -> str:
    """Write the medians of what was chosen, and how often at an end of what is tried.

    Beyond an end there may be better values.
    """
    middle = {
        key: float(np.median([parameters[key] for parameters in chosen]))
        for key in chosen[0]
        if key != "is_cumulative"
    }
    plain = sum(not parameters["is_cumulative"] for parameters in chosen)
    text = (
        f"MPRank gamma {middle['gamma']:g}, C {middle['C']:g}; SVRank gamma "
        f"{middle['svrank_gamma']:g}, C {middle['svrank_weight']:g}, epsilon "
        f"{middle['epsilon']:g}; RankBoost {middle['n_rounds']:g} rounds, plain in "
        f"{plain} of {len(chosen)} and cumulative in the others"
    )
    at_ends = list(_at_ends(config, chosen))
    return f"{text}; at an end of the grid: {', '.join(at_ends)}" if at_ends else text


def _at_ends(config: Config, chosen: Units) -> Iterable[str]:
    """Name what was chosen at the least or the greatest value there was to choose."""
    grids = {
        "gamma": ("MPRank's gamma", config.gammas),
        "C": ("MPRank's C", config.Cs),
        "ridge": ("the ridge", config.ridges),
        "svrank_gamma": ("SVRank's gamma", config.gammas),
        "svrank_weight": ("SVRank's C", config.svrank_weights),
    }
    for key, (label, grid) in grids.items():
        values = [parameters[key] for parameters in chosen]
        for end, at in (("least", min(grid)), ("greatest", max(grid))):
            if count := values.count(at):
                yield f"{label}, {end} ({at:g}), {count} of {len(values)}"
    if count := sum(
        parameters["n_rounds"] == parameters["most_rounds"] for parameters in chosen
    ):
        most = chosen[0]["most_rounds"]
        yield f"RankBoost's rounds, most ({most}), {count} of {len(chosen)}"


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
    inner = [_halved_again(problem) for problem in problems if problem.n_train >= 4]
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
                name: {key: values.round(6) for key, values in measures.items()}
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


def show_books(config: Config, units: Units, seconds: Units) -> Shown:
    """Show means and standard deviations over reviewers, as printed."""
    unit = units[0]
    said = (
        "Made ratings."
        if config.synthetic
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
