"""Crammer and Singer (2001): PRank in a batch, beside support vector machines."""

from collections.abc import Sequence
from dataclasses import replace

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
    ITEM_MEAN,
    Viewers,
    load_few,
    load_given_few,
    stream_of,
)
from peckorder.experiments.crammer_singer_2001.online import (
    AVERAGED,
    LAST,
    RANKS,
    Config,
    load_square,
)
from peckorder.experiments.framework import Claim, Data, Measured, Part, Shown, Units, Values
from peckorder.experiments.framework.online import LEAST_LOSS, NOISE
from peckorder.experiments.framework.statistics import (
    columns,
    difference_text,
    mean_curve,
    mean_row,
)
from peckorder.reports import Chart, Table

MACHINE, REGRESSION = "multiclass SVM", "support vector regression"
MEDIAN = "median of the ranks learnt"
PEERS = (MACHINE, REGRESSION)
CLAIM = 'In a batch "PRank came first", before multiclass SVM and support vector regression ({}).'


def many_passes(name: str, n_passes: int) -> str:
    """Return the name of PRank with this number of passes."""
    return f"{name}, {n_passes} passes" if n_passes > 1 else f"{name}, 1 pass"


# The paper's method, if it is one pass over the data: it does not say.
PUBLISHED = many_passes(LAST, 1)


def most_passes(config: Config) -> tuple[str, str]:
    """Return the names of PRank's last rule and averaged one, with the most passes."""
    most = max(config.passes)
    return many_passes(LAST, most), many_passes(AVERAGED, most)


def pranks(
    config: Config, rng: Generator, n_ranks: int = len(RANKS), **settings: bool
) -> dict[str, PRank]:
    """Return PRank by name: as published and averaged, with one pass and with more."""
    seed, classes = int(rng.integers(2**31)), range(1, n_ranks + 1)
    return {
        many_passes(name, n_passes): PRank(
            rule=rule,
            max_iter=n_passes,
            shuffle=True,
            random_state=seed,
            classes=classes,
            **settings,
        )
        for name, rule in ((LAST, "last"), (AVERAGED, "averaged"))
        for n_passes in config.passes
    }


def costs_of(name: str, config: Config) -> tuple[float, ...]:
    """Return the grid of C."""
    return config.class_costs if name == MACHINE else config.regression_costs


def predicted(
    name: str,
    cost: float,
    gram: Floats,
    y: Ints,
    train: Ints,
    test: Ints,
    n_ranks: int = len(RANKS),
) -> Floats:
    """Train an SVM on rows of a Gram matrix and predict the ranks of others."""
    labels = y[train]
    if (labels == labels[0]).all():
        return np.full(len(test), float(labels[0]))
    machine = (SVC if name == MACHINE else SVR)(kernel="precomputed", C=cost)
    model = machine.fit(gram[np.ix_(train, train)], labels)
    ranks = np.asarray(model.predict(gram[np.ix_(test, train)]), dtype=float)
    return np.clip(np.floor(ranks + 0.5), 1, n_ranks)


def chosen_cost(
    name: str,
    config: Config,
    gram: Floats,
    y: Ints,
    train: Ints,
    seed: int,
    n_ranks: int = len(RANKS),
) -> float:
    """Return the first C with the lowest rank loss in cross-validation."""
    costs = costs_of(name, config)
    lost = np.zeros(len(costs))
    splits = KFold(config.folds, shuffle=True, random_state=seed)
    for inner, outer in splits.split(train):
        held_out = train[outer]
        for i, cost in enumerate(costs):
            ranks = predicted(name, cost, gram, y, train[inner], held_out, n_ranks)
            lost[i] += np.abs(ranks - y[held_out]).sum()
    return costs[int(np.argmin(lost))]


def losses_of(
    config: Config,
    X: Data,
    y: Ints,
    train: Ints,
    test: Ints,
    rng: Generator,
    n_ranks: int = len(RANKS),
) -> dict[str, float]:
    """Train every ranker on some rows, which are used as they are, and test it."""
    product = X @ X[train].T
    gram = product.toarray() if sparse.issparse(product) else product
    predictions: Values = {}
    for name, model in pranks(config, rng, n_ranks, fit_intercept=False, unit_norm=False).items():
        predictions[name] = model.fit(X[train], y[train]).predict(X[test])
    for name in PEERS:
        seed = int(rng.integers(2**31))
        cost = chosen_cost(name, config, gram, y, train, seed, n_ranks)
        predictions[name] = predicted(name, cost, gram, y, train, test, n_ranks)
    predictions[MEDIAN] = np.quantile(y[train], 0.5, method="lower")
    return {name: float(np.abs(ranks - y[test]).mean()) for name, ranks in predictions.items()}


def measure_square(config: Config, data: Values, unit: int, rng: Generator) -> Measured:
    """Train on the first points of a sample, few and many, and test on others."""
    most = max(config.sizes)
    seed = int(rng.integers(2**31))
    X, y = make_square(most + config.test_points, noise=NOISE, random_state=seed)
    test = np.arange(most, len(y))
    by_size = [losses_of(config, X, y, np.arange(n), test, rng) for n in config.sizes]
    tested = {name: [losses[name] for losses in by_size] for name in by_size[0]}
    return Measured({"tested": tested})


def show_square(config: Config, units: Units, seconds: Units) -> Shown:
    """Show the loss by the size of the sample."""
    losses = columns(units, "tested")
    rows = [mean_row(name, *values.T) for name, values in losses.items()]
    rows.append(("no rule can do better", *([f"{LEAST_LOSS:.3f}"] * len(config.sizes))))
    caption = (
        f"Mean rank loss on {config.test_points:,} new points by the number of "
        f"training points, over {len(units)} samples with 95 % intervals. "
        f"{_grids_text(config)}"
    )
    sizes = np.array(config.sizes)
    names = (PUBLISHED, *most_passes(config), *PEERS)
    chart = Chart(
        "Batches of the square",
        "training points",
        "rank loss on new points",
        tuple(mean_curve(name, sizes, losses[name]) for name in names),
        f"Means over {len(units)} samples with 95 % intervals.",
        ("no rule can do better", LEAST_LOSS),
        log_x=True,
    )
    return Shown(
        paragraphs=(
            "All rankers are trained on the same points with the features of the "
            "kernel (x.z + 1)² and tested on the same new points. The paper ran PRank "
            "on the training data as on-line, and ranked new points by the last rule; it "
            "does not say how often it went over them. It says that PRank came first, in "
            "the setting of another paper; it prints no number.",
        ),
        tables=(Table(("ranker", *(f"{s:,} points" for s in config.sizes)), tuple(rows), caption),),
        charts=(chart,),
        claims=(_claim("the square", config, losses, [f" ({s:,} points)" for s in config.sizes]),),
    )


def _grids_text(config: Config) -> str:
    grids = "; ".join(
        f"{', '.join(f'{cost:g}' for cost in costs_of(name, config))} for {name}" for name in PEERS
    )
    return (
        f"The C of the SVMs is chosen by the rank loss in {config.folds}-fold "
        f"cross-validation ({grids}). Averages are ours; the numbers of passes were "
        "chosen on other samples of the square."
    )


def _claim(where: str, config: Config, losses: dict[str, Floats], columns: Sequence[str]) -> Claim:
    """Return the differences from both SVMs; what the paper ran cannot be told."""
    gaps = []
    for ours in (PUBLISHED, *most_passes(config)):
        for name in PEERS:
            texts = [
                difference_text(paired) + label
                for paired, label in zip((losses[ours] - losses[name]).T, columns, strict=True)
            ]
            gaps.append(f"{ours}, minus {name}: {', '.join(texts)}")
    lead = (
        "How many passes over the data are meant, and which sizes, is not said: one pass and "
        "many are shown. "
    )
    return Claim(CLAIM.format(where), (), lead + "; ".join(gaps) + ".", "cannot be told")


def measure_movies(config: Config, data: Viewers, unit: int, rng: Generator) -> Measured:
    """Train on half of a viewer's ratings, and test on the other half."""
    target = int(rng.integers(data.by_viewer.shape[0]))
    stream = stream_of(data, target, rng)
    n_learnt = min(len(stream.y) // 2, config.most_learnt)
    constant = sparse.csr_array(np.ones((len(stream.y), 1)))
    X = normalize(sparse.hstack([stream.X, constant], format="csr"))
    train, test = np.arange(n_learnt), np.arange(n_learnt, len(stream.y))
    losses = losses_of(config, X, stream.y, train, test, rng, data.n_ranks)
    means = np.floor(stream.item_means[test] + 0.5)
    losses[ITEM_MEAN] = float(np.abs(means - stream.y[test]).mean())
    return Measured({"learnt": n_learnt, "tested": losses})


def show_movies(config: Config, units: Units, seconds: Units) -> Shown:
    """Show the loss on the test halves."""
    losses = columns(units, "tested")
    rows = tuple(
        (
            *mean_row(name, values),
            *("" if name == peer else difference_text(values - losses[peer]) for peer in PEERS),
        )
        for name, values in losses.items()
    )
    caption = (
        f"Mean rank loss over {len(units)} random viewers with more than "
        f"{config.more_than[1]} ratings, with 95 % intervals; half of a viewer's "
        f"ratings, {config.most_learnt} at most, are for training, the others for the "
        "test; differences are paired. Rows at unit norm with a constant. "
        f"{_grids_text(config)}"
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
        lambda config: config.samples,
        measure_square,
        show_square,
    ),
    Part(
        "batch-movies",
        "In a batch: one viewer's ratings",
        load_few,
        lambda config: config.viewers,
        measure_movies,
        show_movies,
    ),
)
GIVEN = (replace(PARTS[1], load=load_given_few),)
