"""Tables 1 and 2: measures of one repetition, tables, and the claims about them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from peckorder._core.data_files import read_toml
from peckorder._core.typing import Floats
from peckorder.experiments.cortes_2007.data import (
    BOOKS_SUBSET,
    Config,
    Features,
    Printed,
    Problem,
    Reviews,
    draw_features,
    draw_reviewers,
    filled,
    halved,
    load_books,
    load_jester,
    load_movielens,
    load_netflix,
)
from peckorder.experiments.cortes_2007.rankers import RANKERS, all_measures, choices_text, choose
from peckorder.experiments.framework import Claim, Measured, Part, Shown, Units, Values
from peckorder.experiments.framework.claims import above_zero, all_of, within
from peckorder.experiments.framework.statistics import (
    column,
    difference_text,
    mean_curve,
    printed_text,
    signed,
)
from peckorder.reports import Cell, Chart, Table

PRINTED = read_toml("peckorder.experiments.cortes_2007", "paper.toml")["printed"]
# The values of a ranker in a measure, one per repetition (or reviewer).
ValuesOf: TypeAlias = Callable[[str, str], Floats]

# M1D within this share of SVRank's is called comparable, and so are misrankings that
# are worse than RankBoost's by less than `CLOSE`.
CLOSE_SHARE, CLOSE = 0.05, 0.02
HALF = "± half the 95 % interval"
_RATIO = (
    "The last row of a group is MPRank's MSD over the constant's; under 'printed' it "
    "is the printed MSD over our constant's."
)


def magnitude_claims(name: str, groups: Mapping[str, ValuesOf]) -> Iterable[Claim]:
    """Judge the claims about MSD and M1D."""
    text = partial(_by_group, name)

    def shares(ranker: str, measure: str) -> str:
        means = (
            (np.nanmean(of(r, measure)) for r in (ranker, "constant")) for of in groups.values()
        )
        return ", ".join(f"{mean / constant:.3f}" for mean, constant in means)

    svrank, boost = (gaps(groups, other, "msd") for other in ("SVRank", "RankBoost"))
    yield Claim(
        f'{name}: "MPRank obtains the best MSD values".',
        tuple(all_of((above_zero(-svrank[g]), above_zero(-boost[g]))) for g in groups),
        f"MPRank minus SVRank, {HALF}: {text(svrank)}; minus RankBoost: {text(boost)}. "
        f"Over a constant: MPRank {shares('MPRank', 'msd')}; SVRank "
        f"{shares('SVRank', 'msd')}.",
    )
    relative = {
        group: gap / np.nanmean(groups[group]("SVRank", "m1d"))
        for group, gap in gaps(groups, "SVRank", "m1d").items()
    }
    yield Claim(
        f'{name}: MPRank and SVRank "obtain comparable M1D values".',
        tuple(within(gap, CLOSE_SHARE) for gap in relative.values()),
        f"MPRank minus SVRank, over SVRank's mean, {HALF}: {text(relative)}; "
        f"comparable is within {CLOSE_SHARE}. Over a constant: MPRank "
        f"{shares('MPRank', 'm1d')}; SVRank {shares('SVRank', 'm1d')}.",
    )
    for measure in ("msd", "m1d"):
        behind = {r: gaps(groups, "RankBoost", measure, ours=r) for r in ("MPRank", "SVRank")}
        yield Claim(
            f'{name}: RankBoost "does not lead to competitive results" in {measure.upper()}, '
            "with respect to MPRank and SVRank.",
            tuple(above_zero(-gap) for by_group in behind.values() for gap in by_group.values()),
            f"{'; '.join(f'{r} minus RankBoost, {HALF}: {text(g)}' for r, g in behind.items())}. "
            "RankBoost's scores grow with its rounds, and are not on the scale of ratings.",
        )


def misranking_claim(name: str, groups: Mapping[str, ValuesOf]) -> Claim:
    """Judge the claim about misrankings; a lower error is comparable as well."""
    wrong, halves = (gaps(groups, "RankBoost", measure) for measure in ("misranking", "ties half"))
    return Claim(
        f'{name}: "the pairwise misranking error of MPRank is comparable to that of RankBoost".',
        tuple(above_zero(CLOSE - gap) for gap in wrong.values()),
        f"MPRank minus RankBoost, {HALF}: {_by_group(name, wrong)}; with "
        f"ties as half errors: {_by_group(name, halves)}. Judged by whether "
        f"MPRank is worse by less than {CLOSE}.",
    )


def gaps(
    groups: Mapping[str, ValuesOf], other: str, measure: str, ours: str = "MPRank"
) -> dict[str, Floats]:
    """Return one ranker minus another where both are finite, per group."""
    pairs = {group: of(ours, measure) - of(other, measure) for group, of in groups.items()}
    return {group: gap[np.isfinite(gap)] for group, gap in pairs.items()}


def _by_group(name: str, differences: Mapping[str, Floats]) -> str:
    return "; ".join(
        f"{group.removeprefix(name)} {difference_text(values)}".strip()
        for group, values in differences.items()
    )


def measure_groups(
    config: Config, data: Reviews, unit: int, rng: Generator, *, is_dense: bool = False
) -> Measured:
    """Test all rankers on the same reviewers, with references of every group."""
    n_tested, n_held_out, most_rounds = (
        (config.dense_reviewers, config.dense_held_out, config.dense_most_rounds)
        if is_dense
        else (config.reviewers, config.held_out, config.most_rounds)
    )
    drawn = draw_reviewers(data, n_tested + n_held_out, rng)
    held_out, tested = drawn[:n_held_out], drawn[n_held_out:]
    spread = float(data.ratings.csr.data.std())
    values: Values = {"reviewers": len(tested), "groups": {}}
    for group in data.groups:
        table = draw_features(data, group, drawn, config.references, rng)
        features = Features.of(data.ratings, table)
        problems = [features.problem(reviewer) for reviewer in held_out]
        values["groups"][group.name] = of_rankers(
            problems, map(features.problem, tested), config, spread, most_rounds
        )
    return Measured(values)


def of_rankers(
    held_out: Sequence[Problem],
    tested: Iterable[Problem],
    config: Config,
    spread: float,
    most_rounds: int,
) -> Values:
    """Choose parameters on some reviewers; return mean measures on the others."""
    chosen = choose(held_out, config, spread, most_rounds)
    means = {
        ranker: {key: float(np.nanmean(of)) for key, of in by_measure.items()}
        for ranker, by_measure in all_measures(tested, chosen).items()
    }
    return {"chosen": asdict(chosen), **means}


def spread_text(values: Floats) -> str:
    """Format the mean and the standard deviation over repetitions, as printed."""
    mean = f"{values.mean():.3f}"
    return mean if len(values) < 2 else f"{mean} ± {values.std(ddof=1):.3f}"


def show_groups(config: Config, units: Units, seconds: Units, *, name: str, title: str) -> Shown:
    """Show the repetitions on one set of ratings."""
    groups = {group: partial(column, units, "groups", group) for group in units[0]["groups"]}
    caption = (
        f"{title}{' (synthetic ratings in its place)' if config.synthetic else ''}: "
        f"{len(units)} repetitions of {units[0]['reviewers']} test reviewers; mean ± "
        "standard deviation over repetitions, as printed."
    )
    choices = (
        f"{group}: {choices_text(config, [unit['groups'][group]['chosen'] for unit in units])}"
        for group in groups
    )
    return Shown(
        (f"Chosen on held-out reviewers (medians). {'. '.join(choices)}.",),
        tuple(_tables(groups, caption)),
        (_ratio_chart(groups, caption),),
        (*magnitude_claims(name, groups), misranking_claim(name, groups)),
    )


def ratio(of: ValuesOf, ranker: str) -> Floats:
    """Return the MSD over that of a constant, one value per repetition."""
    return np.asarray(of(ranker, "msd") / of("constant", "msd"))


def _tables(groups: Mapping[str, ValuesOf], caption: str) -> Iterable[Table]:
    headings = ("group", "ranker", "ours", "printed", "gap")
    for measure, printed, title in (
        ("msd", PRINTED["msd"], f"Table 1, MSD. {caption} {_RATIO}"),
        ("m1d", PRINTED["m1d"], f"Table 1, M1D. {caption}"),
    ):
        rows: list[tuple[Cell, ...]] = []
        for group, of in groups.items():
            figures = printed.get(group, {})
            rows += ((group, *row) for row in _rows(of, measure, figures))
            if measure == "msd":
                rows.append((group, *_ratio_row(of, figures.get("MPRank"))))
        yield Table(headings, tuple(rows), title)
    rows = []
    for group, of in groups.items():
        by_ranker = _rows(of, "misranking", PRINTED["misranking"].get(group, {}), 3)
        rows += ((group, *row, spread_text(of(str(row[0]), "ties half"))) for row in by_ranker)
    yield Table(
        (*headings, "ties half"),
        tuple(rows),
        f"Table 2, pairwise misrankings, ties being errors. {caption} In the last "
        "column ties count as half an error.",
    )


def _rows(
    of: ValuesOf, measure: str, printed: Mapping[str, Printed], decimals: int = 2
) -> Iterable[tuple[Cell, ...]]:
    """Yield the cells of every ranker: ours, printed, and the gap between the means."""
    for ranker in RANKERS:
        values, figure = of(ranker, measure), printed.get(ranker)
        gap = "" if figure is None else signed(values.mean() - figure[0], 3)
        yield ranker, spread_text(values), printed_text(figure, decimals), gap


def _ratio_row(of: ValuesOf, printed: Printed | None) -> tuple[Cell, ...]:
    ours, share_text, gap = ratio(of, "MPRank"), "", ""
    if printed is not None:
        share = printed[0] / of("constant", "msd").mean()
        share_text, gap = f"{share:.3f}", signed(ours.mean() - share, 3)
    return "MPRank / constant", spread_text(ours), share_text, gap


def _ratio_chart(groups: Mapping[str, ValuesOf], caption: str) -> Chart:
    x = np.arange(1, len(groups) + 1)
    curves = tuple(
        mean_curve(r, x, np.stack([ratio(of, r) for of in groups.values()], axis=1))
        for r in RANKERS
        if r not in ("RankBoost", "constant")
    )
    names = ", ".join(f"{i} {group}" for i, group in enumerate(groups, start=1))
    return Chart(
        "MSD over that of a constant",
        f"group of reference reviewers ({names})",
        "MSD / MSD of a constant",
        curves,
        f"{caption} Bands are 95 % intervals of the mean. RankBoost's scores are not "
        "on the scale of ratings, and are left out.",
        reference=("constant", 1.0),
    )


def others(reviews: Reviews, row: int) -> Floats:
    """Return the filled ratings of all reviewers except one."""
    csr = reviews.ratings.csr
    return filled(csr[np.delete(np.arange(csr.shape[0]), row)])


def measure_books(config: Config, data: Reviews, unit: int, rng: Generator) -> Measured:
    """Leave each reviewer out in turn; choose parameters on the training halves."""
    ratings = data.ratings
    rows = np.flatnonzero(ratings.per_user >= data.low)
    problems = []
    for reviewer in [halved(ratings, int(row), rng) for row in rows]:
        features = Features.of(ratings, others(data, reviewer.row))
        problems.append(features.problem(reviewer))
    inner = [problem.training_half() for problem in problems if problem.n_train >= 4]
    chosen = choose(inner, config, float(ratings.csr.data.std()), config.most_rounds)
    measures = {
        ranker: {key: values.round(6) for key, values in by_measure.items()}
        for ranker, by_measure in all_measures(problems, chosen).items()
    }
    return Measured(
        {
            "group": data.groups[0].name,
            "reviewers": ratings.n_users,
            "books": ratings.n_items,
            "ratings": len(ratings),
            "chosen": asdict(chosen),
            **measures,
        }
    )


def show_books(config: Config, units: Units, seconds: Units) -> Shown:
    """Show means and standard deviations over reviewers, as printed."""
    unit = units[0]
    if config.synthetic:
        text = "Synthetic ratings."
    elif unit["group"] != BOOKS_SUBSET:
        text = "Reviewers of at least 200 books, books with at least 10 reviews."
    else:
        text = (
            "This is not the paper's set, which needs the whole Book-Crossing file "
            "(BX-Book-Ratings.csv, 1,149,780 lines): the available file is a subset, "
            "in which almost no book has ten reviews by reviewers of 200 books. Here "
            "reviewers have at least 100 books, and books at least 10 reviews. Printed "
            "figures are shown for orientation only."
        )

    def values(ranker: str, measure: str) -> Floats:
        of_all = column(units, ranker, measure)[0]
        return np.asarray(of_all[np.isfinite(of_all)])

    caption = (
        f"{unit['reviewers']} reviewers, {unit['books']} books, {unit['ratings']} "
        f"ratings; {len(unit['MPRank']['msd'])} leave-one-reviewer-out runs, of those "
        "with at least 4 ratings. Mean ± standard deviation over runs, as printed."
    )
    tables = []
    for measure, title, printed in (
        ("msd", "Table 1, MSD", PRINTED["msd"]["Books"]),
        ("m1d", "Table 1, M1D", PRINTED["m1d"]["Books"]),
        ("misranking", "Misrankings, ties being errors", {}),
    ):
        rows = list(_rows(values, measure, printed))
        if measure == "msd":
            share = values("MPRank", "msd").mean() / values("constant", "msd").mean()
            rows.append(("MPRank / constant", f"{share:.3f}", "", ""))
        headings = ("ranker", "ours", "printed", "gap")
        tables.append(Table(headings, tuple(rows), f"{title}. {caption}"))
    chosen = f"Chosen on the training halves alone: {choices_text(config, [unit['chosen']])}."
    return Shown((text, chosen), tuple(tables), claims=tuple(_book_claims(unit)))


def _book_claims(unit: Values) -> Iterable[Claim]:
    """Judge over reviewers; a subset of the paper's data decides nothing."""
    for claim in magnitude_claims("Books", {"Books": lambda *keys: column([unit], *keys)[0]}):
        if unit["group"] == BOOKS_SUBSET:
            text = f"On other reviewers than the paper's: {claim.found}"
            yield replace(claim, comparisons=(), holds="not tried", found=text)
        else:
            yield claim


TABLES = (
    Part(
        "movielens",
        "Tables 1 and 2: MovieLens",
        load_movielens,
        lambda config: config.repetitions,
        measure_groups,
        partial(show_groups, name="MovieLens", title="MovieLens 1M"),
    ),
    Part(
        "jester",
        "Tables 1 and 2: Jester",
        load_jester,
        lambda config: config.repetitions,
        measure_groups,
        partial(show_groups, name="Jester", title="Jester data set 1"),
    ),
    Part(
        "netflix",
        "Tables 1 and 2: Netflix",
        load_netflix,
        lambda config: config.dense_repetitions,
        partial(measure_groups, is_dense=True),
        partial(show_groups, name="Netflix", title="A matrix of 1200 x 1200, 77 % filled"),
    ),
    Part("books", "Table 1: Books", load_books, lambda config: 1, measure_books, show_books),
)
