"""Crammer and Singer (2001): PRank in a batch, beside support vector machines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, SVR

from peckorder import PRank
from peckorder._core.typing import Floats, Ints
from peckorder.datasets import make_square
from peckorder.experiments.crammer_singer_2001.movies import (
    Viewers,
    load_few,
    stream_of,
)
from peckorder.experiments.crammer_singer_2001.online import (
    AVERAGED,
    LAST,
    RANKS,
    Config,
)
from peckorder.experiments.framework.experiment import (
    Claim,
    Measured,
    Part,
    Shown,
    Values,
)
from peckorder.experiments.framework.online import LEAST_LOSS, NOISE, lower_than_all
from peckorder.experiments.framework.tables import column, mean_curve, mean_text
from peckorder.experiments.framework.verdicts import difference_text, verdict
from peckorder.reports import Chart, Table

MACHINE, REGRESSION = "multiclass SVM", "support vector regression"
MEDIAN, ITEM_MEAN = "median of the ranks learnt", "the movie's mean, rounded"
PEERS = (MACHINE, REGRESSION)
CLAIM = (
    "In a batch, {}: PRank comes first, before multiclass SVM and support vector "
    "regression."
)


def many_passes(name: str, n_passes: int) -> str:
    """Return what PRank with so many passes is called."""
    return f"{name}, {n_passes} passes" if n_passes > 1 else f"{name}, 1 pass"


# What the paper did: the rule that is left after going through the data once.
PUBLISHED = many_passes(LAST, 1)


def most_passes(config: Config) -> tuple[str, str]:
    """Return the names of PRank's last rule and averaged one, with the most passes."""
    most = max(config.passes)
    return many_passes(LAST, most), many_passes(AVERAGED, most)


def pranks(config: Config, rng: Generator, **settings: Any) -> dict[str, PRank]:
    """Return PRank by name: as published and averaged, with one pass and with more."""
    seed = int(rng.integers(2**31))
    return {
        many_passes(name, n_passes): PRank(
            rule=rule,
            max_iter=n_passes,
            shuffle=True,
            random_state=seed,
            classes=RANKS,
            **settings,
        )
        for name, rule in ((LAST, "last"), (AVERAGED, "averaged"))
        for n_passes in config.passes
    }


def machine(name: str, cost: float) -> Any:
    """Return a support vector machine that takes a matrix of kernels."""
    if name == MACHINE:
        return SVC(kernel="precomputed", C=cost)
    return SVR(kernel="precomputed", C=cost)


def costs_of(name: str, config: Config) -> tuple[float, ...]:
    """Return the values of C that are tried."""
    return config.class_costs if name == MACHINE else config.regression_costs


def predicted(
    name: str, cost: float, gram: Floats, y: Ints, learnt: Ints, asked: Ints
) -> Floats:
    """Learn some rows of a Gram matrix and return the ranks predicted of others."""
    known = y[learnt]
    if (known == known[0]).all():
        return np.full(len(asked), float(known[0]))
    model = machine(name, cost).fit(gram[np.ix_(learnt, learnt)], known)
    guesses = np.asarray(model.predict(gram[np.ix_(asked, learnt)]), dtype=float)
    return np.clip(np.floor(guesses + 0.5), RANKS[0], RANKS[-1])


def chosen_cost(
    name: str, config: Config, gram: Floats, y: Ints, learnt: Ints, seed: int
) -> float:
    """Return the C of the lowest rank loss in cross-validation, the first of equals."""
    costs = costs_of(name, config)
    lost = np.zeros(len(costs))
    splits = KFold(config.folds, shuffle=True, random_state=seed)
    for inner, outer in splits.split(learnt):
        for place, cost in enumerate(costs):
            asked = learnt[outer]
            guesses = predicted(name, cost, gram, y, learnt[inner], asked)
            lost[place] += np.abs(guesses - y[asked]).sum()
    return costs[int(np.argmin(lost))]


def losses_of(
    config: Config, X: Any, y: Ints, learnt: Ints, asked: Ints, rng: Generator
) -> dict[str, float]:
    """Learn some rows, and return the loss of each ranker on others.

    `X` is of rows with their constant and norm as wanted.
    """
    gram = X @ X[learnt].T
    gram = gram.toarray() if sparse.issparse(gram) else gram
    settings = {"fit_intercept": False, "unit_norm": False}
    guesses: dict[str, Any] = {}
    for name, model in pranks(config, rng, **settings).items():
        guesses[name] = model.fit(X[learnt], y[learnt]).predict(X[asked])
    for name in PEERS:
        seed = int(rng.integers(2**31))
        cost = chosen_cost(name, config, gram, y, learnt, seed)
        guesses[name] = predicted(name, cost, gram, y, learnt, asked)
    guesses[MEDIAN] = np.quantile(y[learnt], 0.5, method="lower")
    return {
        name: float(np.abs(guess - y[asked]).mean()) for name, guess in guesses.items()
    }


def load_square(config: Config, folder: Path | None) -> Values:
    """Return what the square depends on: nothing is read."""
    return {"noise": NOISE}


def count_samples(config: Config) -> int:
    """Return the number of samples of the square."""
    return config.samples


def measure_square(config: Config, data: Values, unit: int, rng: Generator) -> Measured:
    """Learn the first points of a sample, few and many, and rank other points."""
    most = max(config.sizes)
    seed = int(rng.integers(2**31))
    X, y = make_square(most + config.test_points, noise=NOISE, random_state=seed)
    asked = np.arange(most, len(y))
    found = [
        losses_of(config, X, y, np.arange(size), asked, rng) for size in config.sizes
    ]
    names = tuple(found[0])
    return Measured(
        {"tested": {name: [each[name] for each in found] for name in names}}
    )


def show_square(
    config: Config, units: Sequence[Values], seconds: Sequence[Values]
) -> Shown:
    """Lay out the loss by the size of the sample."""
    losses = {name: column(units, "tested", name) for name in units[0]["tested"]}
    rows = [
        (name, *(mean_text(each) for each in values.T))
        for name, values in losses.items()
    ]
    rows.append(("no rule can do better", *([f"{LEAST_LOSS:.3f}"] * len(config.sizes))))
    caption = (
        f"Mean rank loss on {config.test_points:,} new points by the number of points "
        f"learnt, over {len(units)} samples with 95 % intervals. {_chosen(config)}"
    )
    sizes = np.array(config.sizes)
    drawn = (PUBLISHED, *most_passes(config), *PEERS)
    chart = Chart(
        "Batches of the square",
        "points learnt",
        "rank loss on new points",
        tuple(mean_curve(name, sizes, losses[name]) for name in drawn),
        f"Means over {len(units)} samples with 95 % intervals.",
        ("no rule can do better", LEAST_LOSS),
        log_x=True,
    )
    return Shown(
        paragraphs=(
            "All learn the same points with the features of the kernel (x.z + 1)² and "
            "rank the same new points. The paper ran PRank over the data as on-line, "
            "and ranked new points by the rule that was left: here, one pass. It says "
            "that PRank came first, in the set-up of another paper; it prints no "
            "number.",
        ),
        tables=(
            Table(
                ("ranker", *(f"{s:,} points" for s in config.sizes)),
                tuple(rows),
                caption,
            ),
        ),
        charts=(chart,),
        claims=(
            _claim(
                "the square", config, losses, [f" ({s:,} points)" for s in config.sizes]
            ),
        ),
    )


def _chosen(config: Config) -> str:
    tried = "; ".join(
        f"{', '.join(f'{cost:g}' for cost in costs_of(name, config))} for {name}"
        for name in PEERS
    )
    return (
        f"The machines' C is chosen by the rank loss in {config.folds}-fold "
        f"cross-validation ({tried}). PRank with one pass is the paper's; averages "
        "and further passes are ours, of numbers that were chosen beforehand on other "
        "samples of the square."
    )


def _claim(
    where: str, config: Config, losses: dict[str, Floats], columns: Sequence[str]
) -> Claim:
    """Judge the paper's PRank against both machines at once, column by column."""
    found = []
    for ours in (PUBLISHED, *most_passes(config)):
        for name in PEERS:
            texts = [
                difference_text(paired) + label
                for paired, label in zip(
                    (losses[ours] - losses[name]).T, columns, strict=True
                )
            ]
            found.append(f"{ours}, minus {name}: {', '.join(texts)}")
    sides = [
        lower_than_all(
            losses[PUBLISHED][:, place], [losses[name][:, place] for name in PEERS]
        )
        for place in range(len(columns))
    ]
    lead = f"Judged is {PUBLISHED}; others are ours. "
    return Claim(CLAIM.format(where), verdict(sides), lead + "; ".join(found) + ".")


def count_viewers(config: Config) -> int:
    """Return the number of target viewers."""
    return config.viewers


def measure_movies(
    config: Config, data: Viewers, unit: int, rng: Generator
) -> Measured:
    """Learn half of what a viewer rated, and rank the other half."""
    target = int(rng.integers(data.by_viewer.shape[0]))
    stream = stream_of(data, target, rng)
    n_learnt = min(len(stream.y) // 2, config.most_learnt)
    constant = sparse.csr_array(np.ones((len(stream.y), 1)))
    X = normalize(sparse.hstack([stream.X, constant], format="csr"))
    learnt, asked = np.arange(n_learnt), np.arange(n_learnt, len(stream.y))
    losses = losses_of(config, X, stream.y, learnt, asked, rng)
    means = np.floor(stream.item_means[asked] + 0.5)
    losses[ITEM_MEAN] = float(np.abs(means - stream.y[asked]).mean())
    return Measured({"learnt": n_learnt, "tested": losses})


def show_movies(
    config: Config, units: Sequence[Values], seconds: Sequence[Values]
) -> Shown:
    """Lay out the loss on the half that was not learnt."""
    losses = {name: column(units, "tested", name) for name in units[0]["tested"]}
    rows = tuple(
        (
            name,
            mean_text(values),
            *(
                "" if name == peer else difference_text(values - losses[peer])
                for peer in PEERS
            ),
        )
        for name, values in losses.items()
    )
    caption = (
        f"Mean rank loss over {len(units)} random viewers with more than "
        f"{config.more_than[1]} ratings, with 95 % intervals; half of each one's "
        f"ratings are learnt, {config.most_learnt} at most, and the others ranked; "
        "differences are paired. Rows at unit norm with a constant, for all rankers. "
        f"{_chosen(config)}"
    )
    headings = ("ranker", "rank loss", *(f"minus {peer}" for peer in PEERS))
    as_columns = {name: values[:, None] for name, values in losses.items()}
    return Shown(
        tables=(Table(headings, rows, caption),),
        claims=(_claim("one viewer's ratings", config, as_columns, [""]),),
    )


PARTS = (
    Part(
        "batch-square",
        "In a batch: the square",
        load_square,
        count_samples,
        measure_square,
        show_square,
    ),
    Part(
        "batch-movies",
        "In a batch: one viewer's ratings",
        load_few,
        count_viewers,
        measure_movies,
        show_movies,
    ),
)
