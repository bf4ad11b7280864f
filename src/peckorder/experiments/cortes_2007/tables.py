"""Tables 1 and 2: what one repetition measures, and how all are shown."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

import numpy as np
from numpy.random import Generator

from peckorder._core.typing import Floats
from peckorder.experiments.cortes_2007.claims import magnitude_claims, misranking_claim
from peckorder.experiments.cortes_2007.config import (
    PRINTED_M1D,
    PRINTED_MISRANKING,
    PRINTED_MSD,
    Config,
)
from peckorder.experiments.cortes_2007.data import (
    Features,
    Reviews,
    draw_features,
    draw_reviewers,
)
from peckorder.experiments.cortes_2007.rankers import (
    RANKERS,
    all_measures,
    choose,
)
from peckorder.experiments.framework.experiment import Measured, Shown, Values
from peckorder.experiments.framework.tables import (
    column,
    mean_curve,
    printed_text,
)
from peckorder.reports import Cell, Chart, Table

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
                name: {key: float(np.nanmean(each)) for key, each in of.items()}
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
    config: Config,
    units: Sequence[Values],
    seconds: Sequence[Values],
    *,
    name: str,
    where: str,
) -> Shown:
    """Show the repetitions on one set of ratings."""
    groups = list(units[0]["groups"])
    caption = (
        f"{where}{' (made ratings in its place)' if config.made else ''}: {len(units)} "
        f"repetitions of {units[0]['reviewers']} test reviewers; mean ± standard "
        "deviation over repetitions, as printed."
    )

    def found(ranker: str, measure: str) -> list[Floats]:
        return [of(units, group, ranker, measure) for group in groups]

    return Shown(
        (_choices(config, units, groups),),
        tuple(_tables(units, groups, caption)),
        (_ratio_chart(units, groups, caption),),
        (
            *magnitude_claims(name, groups, found),
            misranking_claim(name, groups, found),
        ),
    )


def of(units: Sequence[Values], group: str, ranker: str, measure: str) -> Floats:
    """Return a measure in every repetition."""
    return column(units, "groups", group, ranker, measure)


def ratio(units: Sequence[Values], group: str, ranker: str) -> Floats:
    """Return the MSD over that of a constant in every repetition."""
    constant = of(units, group, "constant", "msd")
    quotient: Floats = of(units, group, ranker, "msd") / constant
    return quotient


def _tables(
    units: Sequence[Values], groups: Sequence[str], caption: str
) -> Iterable[Table]:
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
    units: Sequence[Values],
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


def _ratio_chart(units: Sequence[Values], groups: Sequence[str], caption: str) -> Chart:
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


def _choices(config: Config, units: Sequence[Values], groups: Sequence[str]) -> str:
    """Say what was chosen on held-out reviewers, in the middle of all repetitions."""
    parts = []
    for group in groups:
        chosen = [unit["groups"][group]["chosen"] for unit in units]
        parts.append(f"{group}: {choices_text(config, chosen)}")
    return f"Chosen on held-out reviewers (medians). {'. '.join(parts)}."


def choices_text(config: Config, chosen: Sequence[Values]) -> str:
    """Write the medians of what was chosen, and how often at an end of what is tried.

    Beyond an end there may be better values.
    """
    middle = {
        key: float(np.median([each[key] for each in chosen]))
        for key in chosen[0]
        if key != "is_cumulative"
    }
    plain = sum(not each["is_cumulative"] for each in chosen)
    text = (
        f"MPRank gamma {middle['gamma']:g}, C {middle['C']:g}; SVRank gamma "
        f"{middle['svrank_gamma']:g}, C {middle['svrank_weight']:g}, epsilon "
        f"{middle['epsilon']:g}; RankBoost {middle['n_rounds']:g} rounds, plain in "
        f"{plain} of {len(chosen)} and cumulative in the others"
    )
    at_ends = list(_at_ends(config, chosen))
    return f"{text}; at an end of the grid: {', '.join(at_ends)}" if at_ends else text


def _at_ends(config: Config, chosen: Sequence[Values]) -> Iterable[str]:
    """Name what was chosen at the least or the greatest value there was to choose."""
    grids = {
        "gamma": ("MPRank's gamma", config.gammas),
        "C": ("MPRank's C", config.Cs),
        "ridge": ("the ridge", config.ridges),
        "svrank_gamma": ("SVRank's gamma", config.gammas),
        "svrank_weight": ("SVRank's C", config.svrank_weights),
    }
    for key, (label, grid) in grids.items():
        values = [each[key] for each in chosen]
        for end, at in (("least", min(grid)), ("greatest", max(grid))):
            if count := values.count(at):
                yield f"{label}, {end} ({at:g}), {count} of {len(values)}"
    if count := sum(each["n_rounds"] == each["most_rounds"] for each in chosen):
        most = chosen[0]["most_rounds"]
        yield f"RankBoost's rounds, most ({most}), {count} of {len(chosen)}"
