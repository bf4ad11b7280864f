"""Measures of predictions: one value per row, query or person."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.typing import Floats, Ints
from peckorder.metrics import evaluate, metric_by_name

# Of classes and of magnitudes, the one that decides first.
ORDINAL: Final = ("mean rank loss", "exactly right", "macro_mae", "qwk")
MAGNITUDE: Final = ("rmsd", "disagreement")
_LARGER: Final = ("exactly right", "qwk")
_ALIASES: Final = {
    "accuracy": "exactly right",
    "quadratic weighted kappa": "qwk",
    "rank loss": "mean rank loss",
    "root mean squared difference": "rmsd",
    "mean squared difference": "msd",
}
# Comparisons of pairs at a time, so that memory stays small.
_BLOCK: Final = 4_000_000
_GAINS: Final = "ndcg"
_MEANINGS: Final = {
    "mean rank loss": "steps between the predicted and the true class; less is better",
    "exactly right": "share of rows whose class is predicted; more is better",
    "macro_mae": "the mean rank loss of each class, averaged over classes, so that rare ones "
    "count as much; less is better",
    "qwk": "quadratic weighted kappa, 0 for agreement by chance and 1 at best; more is better",
    "rmsd": "root of the mean squared difference between predicted and true distances of "
    "pairs, in units of the label; less is better",
    "msd": "squared difference between predicted and true distances of pairs; less is better",
    "disagreement": "share of pairs that are ranked the wrong way; less is better",
    "ap": "average precision; more is better",
}

Values = Mapping[str, Floats]
Measuring = Callable[[Floats], Values]


class Measure(NamedTuple):
    """A measure, by the name that it has in tables."""

    name: str
    larger_is_better: bool = False

    @classmethod
    def of_lists(cls, name: str) -> "Measure":
        """Return a metric of lists, by its name."""
        if name == "rmsd":
            return cls(name)
        metric = metric_by_name(name, "metric")
        return cls(metric.name, metric.kind.larger_is_better)

    @property
    def meaning(self) -> str:
        """What it measures, in words."""
        if self.name.startswith("ndcg"):
            places = self.name.partition("@")[2]
            first = f" of the first {places} places" if places else ""
            return f"normalised discounted gain{first}; more is better"
        return _MEANINGS.get(self.name, "see peckorder.metrics")


def of_rows_by_name(metric: str | None, kind: str) -> tuple[Measure, ...]:
    """Return measures of classes or magnitudes; the one that is asked for decides."""
    usual = ORDINAL if kind == "ordinal" else MAGNITUDE
    known = usual if kind == "ordinal" else (*usual, "msd")
    word = "" if metric is None else _words(metric)
    name = {_words(name): name for name in known}.get(_words(_ALIASES.get(word, word)))
    if metric is not None and name is None:
        rule = f"be {' or '.join(map(repr, known))} for task={kind!r}"
        raise refusal("metric", rule, repr(metric))
    names = dict.fromkeys([name or usual[0], *usual])
    return tuple(Measure(name, name in _LARGER) for name in names)


def _words(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split())


def of_lists_by_name(metric: str | None, usual: Sequence[str], least: float) -> tuple[Measure, ...]:
    """Return measures of lists whose least label is `least`; the first one decides.

    `usual` are shown beside it; the first of them decides by default. Labels below
    0 are no gains: measures of gains are left out then, and refused if asked for.
    """
    if least < 0:
        if metric is not None and metric.startswith(_GAINS):
            raise refusal(
                "metric",
                "be one without gains, such as 'disagreement', where labels are below 0",
                repr(metric),
            )
        usual = [name for name in usual if not name.startswith(_GAINS)]
    first = Measure.of_lists(metric or usual[0])
    others = map(Measure.of_lists, usual)
    return (first, *(m for m in others if m.name != first.name))


def of_levels(levels: Ints) -> Measuring:
    """Return values of rows whose means are the measures of predicted levels.

    How many steps a guess is off, also with equal weight for each class, whether it is
    right, and what it adds to kappa.
    """
    counts = np.bincount(levels)
    rarity = len(levels) / (np.count_nonzero(counts) * counts[levels])

    def values(guesses: Floats) -> Values:
        steps = np.abs(guesses - levels)
        return {
            "mean rank loss": steps,
            "exactly right": (steps == 0).astype(float),
            "macro_mae": rarity * steps,
            "qwk": _row_kappa(levels.astype(float), guesses),
        }

    return values


def _row_kappa(y: Floats, guesses: Floats) -> Floats:
    """Return values whose mean is quadratic weighted kappa; NaN where it is undefined.

    With A the mean of ``(g_i - y_i)^2`` and B that of ``(g_i - y_j)^2`` over all i and j
    it is 1 - A / B. The values deviate from their mean by what a row changes in it, to
    first order, so that their standard error is that of kappa.
    """
    off = (guesses - y) ** 2
    from_guess = (guesses - y.mean()) ** 2 + y.var()
    from_truth = (y - guesses.mean()) ** 2 + guesses.var()
    by_chance = float(from_guess.mean())
    if by_chance == 0:
        return np.full(len(y), np.nan)
    change = off.mean() / by_chance * (from_guess + from_truth - 2 * by_chance)
    return np.asarray(1 + (change - off) / by_chance)


def of_lists(y: Floats, qid: Ints, names: Sequence[str]) -> Measuring:
    """Return metrics of lists, one value per query."""
    asked = list(dict.fromkeys("msd" if name == "rmsd" else name for name in names))

    def values(scores: Floats) -> Values:
        found = dict(evaluate(y, scores, asked, qid=qid, n_bootstrap=1).values)
        if "rmsd" in names:
            found["rmsd"] = np.sqrt(found["msd"])
        return found

    return values


def of_pairs(y: Floats, fold: Ints) -> Measuring:
    """Return, for each row, the mean over its pairs with other rows of its fold.

    The mean of these over the rows of a fold is that over its pairs. For disagreement,
    of pairs whose labels differ, a row that has fewer of them than others is drawn
    towards the mean of its fold as it would be by weights. Since a pair is in the
    means of two rows, the standard error of their mean is twice the usual one. A row
    without others in its fold has NaN. The values of rmsd have the root of the mean as
    their mean, and deviate from it by what a row changes in it, to first order.
    """

    def values(scores: Floats) -> Values:
        msd, wrong = np.full(len(y), np.nan), np.full(len(y), np.nan)
        for k in np.unique(fold).tolist():
            rows = np.flatnonzero(fold == k)
            msd[rows] = _row_msd(y[rows], scores[rows])
            wrong[rows] = _row_disagreement(y[rows], scores[rows])
        root = 0.0 if np.isnan(msd).all() else float(np.sqrt(np.nanmean(msd)))
        rmsd = (root + msd / root) / 2 if root > 0 else msd
        return {"rmsd": rmsd, "msd": msd, "disagreement": wrong}

    return values


def _row_msd(y: Floats, scores: Floats) -> Floats:
    """Return the mean squared difference of each row's distances to the others."""
    error = scores - y
    n = len(error)
    if n < 2:
        return np.full(n, np.nan)
    centred = error - error.mean()
    return np.asarray((n * centred**2 + float(centred @ centred)) / (n - 1))


def _row_disagreement(y: Floats, scores: Floats) -> Floats:
    """Return the share of each row's pairs that are wrong; O(n^2) time.

    With c_i pairs of row i, w_i of them wrong, and w the share of all, it is
    ``w + (w_i - w c_i) / mean(c)``, which is w_i / c_i if all rows have as many pairs:
    the mean over rows is w, and their deviations are those of a ratio of sums.
    """
    n = len(y)
    lost, counts = np.empty(n), np.empty(n)
    step = max(1, _BLOCK // n)
    for begin in range(0, n, step):
        block = slice(begin, begin + step)
        truth = np.sign(y[block, None] - y)
        predicted = np.sign(scores[block, None] - scores)
        counts[block] = (truth != 0).sum(axis=1)
        lost[block] = (0.5 * (1.0 - predicted * truth) * (truth != 0)).sum(axis=1)
    if not counts.any():
        return np.full(n, np.nan)
    share = lost.sum() / counts.sum()
    return np.asarray(share + (lost - share * counts) / counts.mean())


def of_runs(
    y: Floats, qid: Ints, unlisted: Mapping[int, Floats], names: Sequence[str]
) -> Measuring:
    """Return metrics of what is listed; what is not listed (NaN) is not found.

    Grades of judged documents that no run lists are in `unlisted`, by query. The ideal
    list, or the number of what is relevant, is that of all judged documents.
    """
    queries, sizes = np.unique(qid, return_counts=True)
    rows_of = np.split(np.argsort(qid, kind="stable"), np.cumsum(sizes)[:-1])
    grades_of = [
        np.concatenate([y[rows], unlisted.get(int(query), np.zeros(0))])
        for query, rows in zip(queries.tolist(), rows_of, strict=True)
    ]

    def measure(scores: Floats) -> Values:
        listed = ~np.isnan(scores)
        values = {name: np.zeros(len(queries)) for name in names}
        if listed.any():
            measured = evaluate(y[listed], scores[listed], names, qid=qid[listed], n_bootstrap=1)
            row = np.searchsorted(queries, np.asarray(measured.queries, dtype=np.int64))
            for name in names:
                values[name][row] = np.nan_to_num(measured.values[name])
        for name in names:
            for k, rows in enumerate(rows_of):
                best = _ideal(grades_of[k], name)
                here = _ideal(y[rows[listed[rows]]], name)
                values[name][k] *= here / best if best > 0 else np.nan
        return values

    return measure


def _ideal(grades: Floats, name: str) -> float:
    """Return what a metric divides by: the DCG of the ideal list, or what is good."""
    kind, _, cutoff = name.partition("@")
    if kind != "ndcg":
        return float((grades >= 1).sum())
    best = np.sort(grades)[::-1][: int(cutoff) if cutoff else None]
    return float((best / np.log2(np.arange(2, len(best) + 2))).sum())
