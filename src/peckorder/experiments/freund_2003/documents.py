"""Freund et al. (2003): RankBoost for documents, those of OHSUMED."""

from pathlib import Path

import numpy as np
from numpy.random import Generator

from peckorder import RankBoost
from peckorder._core.data_files import read_toml
from peckorder._core.typing import Floats
from peckorder.datasets import Documents, load_ohsumed_fold, make_letor
from peckorder.experiments.framework import Measured, Part, Shown, Units
from peckorder.experiments.framework.statistics import columns
from peckorder.experiments.freund_2003.films import Config
from peckorder.metrics import average_precision
from peckorder.reports import Table

PRINTED = read_toml("peckorder.experiments.freund_2003", "paper.toml")["printed"]["ohsumed"]
CUTOFFS = (1, 3, 5, 10)
Fold = dict[str, Documents]


def load_folds(config: Config, folder: Path | None) -> list[Fold]:
    """Return five folds: train, validation and test."""
    if not config.synthetic:
        return [dict(load_ohsumed_fold(k, folder)) for k in range(1, 6)]
    parts = [make_letor(8, 15, 6, n_grades=3, random_state=k) for k in range(3)]
    names = ("train", "validation", "test")
    return [{name: parts[(i + k) % 3] for i, name in enumerate(names)} for k in range(5)]


def ndcg_and_map(documents: Documents, scores: Floats) -> Floats:
    """Return NDCG at the cut-offs and the average precision, means over queries."""
    _, y, qid = documents
    starts = np.flatnonzero(np.diff(qid, prepend=qid[0] - 1))
    lists = zip(np.split(y, starts[1:]), np.split(scores, starts[1:]), strict=True)
    gains = np.mean([_ndcg(2.0**grades - 1.0, s) for grades, s in lists], axis=0)
    return np.append(gains, _map(documents, scores))


def _map(documents: Documents, scores: Floats) -> float:
    _, y, qid = documents
    return float(average_precision(y, scores, qid=qid, undefined="zero"))


def _ndcg(gain: Floats, scores: Floats) -> Floats:
    """Return NDCG as the authors of the data define it, expected over ties.

    The first two ranks have equal weight: the discount is log2(p), and 1 for p = 1.
    """
    ideal = np.sort(gain)[::-1]
    if not ideal[0]:
        return np.zeros(len(CUTOFFS))
    order = np.argsort(-scores, kind="stable")
    group = np.unique(-scores[order], return_inverse=True)[1]
    expected = (np.bincount(group, gain[order]) / np.bincount(group))[group]
    discount = 1.0 / np.log2(np.maximum(2, np.arange(1, len(gain) + 1)))
    last = np.minimum(CUTOFFS, len(gain)) - 1
    ratio: Floats = np.cumsum(expected * discount) / np.cumsum(ideal * discount)
    return np.asarray(ratio[last])


def measure_folds(config: Config, folds: list[Fold], unit: int, rng: Generator) -> Measured:
    """Train; use 50 rounds, or the number that is best on the validation fold."""
    fold = folds[unit]
    train, validation, test = (fold[name] for name in ("train", "validation", "test"))
    model = RankBoost(n_rounds=config.letor_rounds, n_jobs=1)
    model.fit(train.X, train.y, qid=train.qid)
    values = [_map(validation, scores) for scores in model.staged_predict(validation.X)]
    best = int(np.argmax(values))
    by_feature = [_map(train, scores) for scores in np.nan_to_num(train.X).T]
    single = int(np.argmax(by_feature))
    fixed = min(config.fold_rounds, len(values)) - 1
    staged = list(model.staged_predict(test.X))
    return Measured(
        {
            "chosen": best + 1,
            "rows": {
                f"RankBoost, {config.fold_rounds} rounds": ndcg_and_map(test, staged[fixed]),
                "RankBoost, rounds chosen": ndcg_and_map(test, staged[best]),
                "best single feature": ndcg_and_map(test, test.X[:, single]),
                "constant": ndcg_and_map(test, np.zeros(len(test))),
            },
        }
    )


def show_folds(config: Config, units: Units, seconds: Units) -> Shown:
    """Show ours beside the seven published algorithms."""
    means = {name: values.mean(axis=0) for name, values in columns(units, "rows").items()}
    means |= {f"{name}, published": values for name, values in PRINTED.items()}
    rows = tuple((name, *(f"{value:.4f}" for value in row)) for name, row in means.items())
    chosen = ", ".join(str(unit["chosen"]) for unit in units)
    headings = ("ranker", *(f"NDCG@{k}" for k in CUTOFFS), "MAP")
    caption = (
        "Means over five test folds, ties by expectation, NDCG with the discount of "
        "the published figures, queries without a relevant document as 0. Rounds "
        f"chosen by MAP on the validation folds: {chosen}. This is not in the paper, "
        "which proposes retrieval as future work."
    )
    return Shown(tables=(Table(headings, rows, caption),))


LETOR = Part(
    "ohsumed",
    "OHSUMED: RankBoost for documents",
    load_folds,
    lambda config: 5,
    measure_folds,
    show_folds,
)
