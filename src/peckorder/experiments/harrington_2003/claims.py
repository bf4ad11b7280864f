"""Harrington (2003): which method is lowest, and by how much."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from peckorder._core.typing import Floats, Ints
from peckorder.experiments.framework.experiment import Values
from peckorder.experiments.framework.online import lower_than_all
from peckorder.experiments.framework.tables import column, mean_curve, mean_text
from peckorder.experiments.framework.verdicts import difference_text, side
from peckorder.experiments.harrington_2003.methods import (
    BAGGED,
    CONSTANT,
    ETAS,
    MEDIAN_OF,
    POINT,
    RAW,
    REGRESSION,
    RUNNING_MEDIAN,
    TAUS,
    VOTING,
    named,
)
from peckorder.reports import Chart, Curve, Table

# What is added to names, and what is said of it.
READINGS = ((RAW, "Means not rounded, as printed"), ("", "Means rounded"))
# Names of the methods that have a tau, with what is not rounded beside what is.
WITH_TAU = (POINT, BAGGED + RAW, BAGGED, VOTING + RAW, VOTING, MEDIAN_OF)


def with_tau(method: str, tau: float) -> str:
    """Return what a method of `WITH_TAU` is called with this tau."""
    stem = method.removesuffix(RAW)
    return named(stem, tau) + method[len(stem) :]


def losses_of(units: Sequence[Values], *keys: str) -> dict[str, Floats]:
    """Return the losses under `keys`, one a repetition, of every method."""
    first: Any = units[0]
    for key in keys:
        first = first[key]
    return {name: column(units, *keys, name) for name in first}


def lowest(losses: Mapping[str, Floats], names: Iterable[str]) -> str:
    """Return which of `names` has the lowest mean; one with a gap is passed over."""
    kept = [name for name in names if np.isfinite(losses[name]).all()]
    return min(kept, key=lambda name: float(losses[name].mean()))


def best(losses: Mapping[str, Floats], method: str) -> str:
    """Return the name of a method with its best tau or eta, in hindsight."""
    if method == REGRESSION:
        return lowest(losses, [named(method, eta) for eta in ETAS])
    if method in WITH_TAU:
        return lowest(losses, [with_tau(method, tau) for tau in TAUS])
    return method


def compare(
    losses: Mapping[str, Floats], name: str, rivals: Sequence[str]
) -> tuple[int, str]:
    """Return the side of `name` against all its rivals, and say by how much.

    1 if it loses less than all of them for sure, -1 if more than one of them, else 0.
    """
    gaps = {rival: losses[name] - losses[rival] for rival in rivals}
    sides = {rival: side(gap) for rival, gap in gaps.items()}

    def told(rival: str) -> str:
        return f"{rival} ({difference_text(gaps[rival])})"

    found = []
    if lower := [rival for rival in rivals if sides[rival] < 0]:
        nearest = told(max(lower, key=lambda rival: float(gaps[rival].mean())))
        found.append(f"lower than {len(lower)} of {len(gaps)}, the nearest {nearest}")
    for how, sign in (("level with", 0), ("higher than", 1)):
        if those := [told(rival) for rival in rivals if sides[rival] == sign]:
            found.append(f"{how} {', '.join(those)}")
    text = f"{name} at {losses[name].mean():.3f} is {'; '.join(found)}"
    return lower_than_all(losses[name], [losses[rival] for rival in rivals]), text


def difference_table(
    losses: Mapping[str, Floats], name: str, rivals: Sequence[str], caption: str
) -> Table:
    """Return paired differences between a method and others, a column a tau.

    A rival without a tau has all its differences in one row as well.
    """
    rows = []
    for rival in rivals:
        cells = []
        for tau in TAUS:
            theirs = with_tau(rival, tau) if rival in WITH_TAU else rival
            cells.append(difference_text(losses[named(name, tau)] - losses[theirs]))
        rows.append((f"{name} less {rival}", *cells))
    return Table(
        ("difference", *(f"tau = {tau}" for tau in TAUS)), tuple(rows), caption
    )


def tau_table(losses: Mapping[str, Floats], methods: Sequence[str], note: str) -> Table:
    """Return the paper's table: a row a method, a column a tau, and what has none."""
    rows = [
        (method, *(mean_text(losses[with_tau(method, tau)]) for tau in TAUS))
        for method in methods
    ]
    rows += [
        (name, *[mean_text(losses[name])] * len(TAUS))
        for name in (CONSTANT, RUNNING_MEDIAN)
    ]
    note += " The best constant, in hindsight, and the running median have no tau."
    return Table(("method", *(f"tau = {tau}" for tau in TAUS)), tuple(rows), note)


def curves(
    units: Sequence[Values], rounds: Ints, names: Iterable[str], *keys: str
) -> tuple[Curve, ...]:
    """Return the mean on-line curves of some methods, with their intervals."""
    return tuple(
        mean_curve(name, rounds, column(units, "online", *keys, name)) for name in names
    )


def tau_charts(
    units: Sequence[Values], rounds: Ints, caption: str, *keys: str
) -> tuple[Chart, ...]:
    """Return a chart for each ensemble, of all its taus."""
    return tuple(
        Chart(
            f"{method}: every tau",
            "rounds",
            "mean rank loss so far",
            curves(units, rounds, [with_tau(method, tau) for tau in TAUS], *keys),
            caption,
            log_x=True,
        )
        for method in (POINT, BAGGED, VOTING)
    )


def after(units: Sequence[Values], place: int, *keys: str) -> dict[str, Floats]:
    """Return every method's on-line losses at one place of the curves."""
    found = losses_of(units, "online", *keys)
    return {name: losses[:, place] for name, losses in found.items()}


def spread_interval(fewer: Floats, more: Floats) -> tuple[float, float]:
    """Return a 95 % interval of sd(more) - sd(fewer), of paired values.

    By 2000 resamples of the pairs, from a fixed seed.
    """
    n = len(fewer)
    drawn = np.random.default_rng(0).integers(n, size=(2000, n))
    gaps = more[drawn].std(axis=1, ddof=1) - fewer[drawn].std(axis=1, ddof=1)
    low, high = np.quantile(gaps, [0.025, 0.975])
    return float(low), float(high)
