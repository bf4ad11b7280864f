"""Tables as cases of a contest: rows with labels, in folds."""

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Bools, Floats, Ints, Predictor
from peckorder.comparison.candidates import CANDIDATES, Candidate, TaskInfo, TrainingRows
from peckorder.comparison.contest import Case, Plan, Result, Trial
from peckorder.comparison.measures import (
    Measure,
    Measuring,
    of_levels,
    of_lists,
    of_lists_by_name,
    of_pairs,
    of_rows_by_name,
    of_runs,
)
from peckorder.comparison.tuning import Loss, layers, list_loss, pair_loss, step_loss
from peckorder.metrics import disagreement
from peckorder.model_selection import QueryKFold
from peckorder.tables.answers import Cuts
from peckorder.tables.coders import ByTarget, Coder, Dates, OneHot
from peckorder.tables.columns import Columns, counted, cut_out, drawn, is_empty, numeric
from peckorder.tables.features import Coding
from peckorder.tables.roles import ColumnRole
from peckorder.tables.task import Task
from peckorder.tables.text_cells import with_amounts

FEWEST_ROWS: Final = 10
# More are compared on a sample: rankers of many rows differ little from those of some.
MOST_ROWS: Final = 50_000
# Losses of pairs are summed pair by pair up to so many: some milliseconds a round.
_FEW_PAIRS: Final = 5_000_000
# Rows that are looked at for leaks, and how many of them are needed.
_LEAK_ROWS: Final = 2000
_FEWEST_LEAK_ROWS: Final = 20
# A feature that has so many pairs wrong, or right the other way round, says too much.
_TOO_GOOD: Final = 0.005


@dataclass(frozen=True, slots=True, eq=False)
class TableCase(Case):
    """Rows with labels, in folds of rows or of whole queries or people.

    `y` are levels from 0 on in an ordinal task, else numbers; `qid` numbers of queries;
    `people` those of people, whose rows are kept whole where there are no queries.
    `X` are the rows of `coding`, which has not learnt yet what depends on `y`. `is_sample`:
    rows were drawn from those of the file. `unlisted` are, for runs, the grades of
    judged documents that no run lists, by query.
    """

    kind: str
    source: str
    X: Floats
    y: Floats
    features: tuple[str, ...]
    measures: tuple[Measure, ...]
    candidates: tuple[Candidate, ...]
    loss: Loss
    qid: Ints | None = None
    people: Ints | None = None
    classes: tuple[Hashable, ...] | None = None
    target: str = ""
    column_roles: tuple[ColumnRole, ...] = ()
    notes: tuple[str, ...] = ()
    unit: str = "rows"
    spread: float = 1.0
    unlisted: Mapping[int, Floats] = field(default_factory=dict)
    coding: Coding = field(default_factory=lambda: Coding({}))
    is_sample: bool = False

    @property
    def groups(self) -> Ints | None:
        """The queries, or else people, of rows: no fold divides them."""
        return self.people if self.qid is None else self.qid

    def info(self, seed: int) -> TaskInfo:
        """Return what candidates are made for."""
        n_levels = len(self.classes) if self.classes else 2
        sizes = np.zeros(1) if self.qid is None else np.bincount(self.qid).astype(float)
        few = bool(0.5 * sizes @ sizes <= _FEW_PAIRS)
        return TaskInfo(seed, len(self.features), n_levels, self.loss, has_few_pairs=few)

    def training_rows(self, rows: Ints | slice = slice(None)) -> TrainingRows:
        """Return rows to learn from; by default all."""
        qid = None if self.qid is None else self.qid[rows]
        groups = None if self.groups is None else self.groups[rows]
        coding, X = self.coding.with_codes(self.X[rows], self.y[rows], qid, groups)
        return TrainingRows(X, self.y[rows], qid, groups, coding.coders, self.X[rows])

    def plan(self, n_splits: int, seed: int) -> Plan:
        """Return the folds."""
        fold = self.folds(n_splits, seed)
        n_folds = int(fold.max()) + 1
        groups = self.groups if self.unit == "rows" else None
        group_name = "people" if self.qid is None else "queries"
        return Plan(
            n_folds,
            (self._trial(fold, k, seed) for k in range(n_folds)),
            lambda rows: self.measuring(fold, rows),
            int(len(fold) - np.bincount(fold).max()),
            groups,
            "" if groups is None else group_name,
        )

    def _trial(self, fold: Ints, k: int, seed: int) -> Trial:
        """Return one fold: the other rows to learn from, and its rows, left out."""
        test, info = np.flatnonzero(fold == k), self.info(seed)
        train = self.training_rows(np.flatnonzero(fold != k))

        def run(candidate: Candidate, result: Result) -> None:
            """Fit one candidate, and keep its answers and what describes its model."""
            fitted = candidate.fit(info, train)
            scores = fitted.scores(self.X[test])
            result.record(test, len(fold), scores, fitted.answers(scores))
            result.seconds.append(fitted.seconds)
            _describe(fitted.model, info.n_features, result)

        return Trial(f"fold {k + 1}", run)

    def folds(self, n_folds: int, seed: int) -> Ints:
        """Return the fold of each row: whole groups, or classes evenly divided.

        Distances are of two rows, so that a fold of them has two at least.
        """
        if self.qid is None and self.kind == "magnitude":
            n_folds = min(n_folds, len(self.y) // 2)
        if self.groups is not None:
            unit = "queries" if self.qid is not None else "people"
            return folds_of_queries(self.source, self.groups, n_folds, seed, unit)
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(self.y))
        if self.kind == "ordinal":
            order = order[np.argsort(self.y[order], kind="stable")]
        fold = np.empty(len(self.y), dtype=np.int64)
        fold[order] = np.arange(len(self.y)) % n_folds
        return fold

    def measuring(self, fold: Ints, rows: Ints) -> Measuring:
        """Return what makes values of answers for some rows, those of whole folds."""
        names = [measure.name for measure in self.measures]
        y, qid = self.y[rows], None if self.qid is None else self.qid[rows]
        if self.kind == "ordinal":
            return of_levels(y.astype(np.int64))
        if self.kind == "runs" and qid is not None:
            return of_runs(y, qid, self.unlisted, names)
        return of_pairs(y, fold[rows]) if qid is None else of_lists(y, qid, names)


def _describe(model: Predictor, n_features: int, result: Result) -> None:
    """Keep the settings, weights, thresholds and curves of a fitted model."""
    chosen: dict[str, object] = {}
    for layer in layers(model):
        fitted = vars(layer)
        chosen |= fitted.get("chosen_", {})
        for name, attribute in (("C", "C_"), ("gamma", "gamma_"), ("alpha", "alpha_")):
            if fitted.get(attribute) is not None:
                chosen[name] = float(fitted[attribute])
        # Of classes most boost for the order, and their curves are shown together.
        if "curve_" in fitted and layer.loss is not step_loss:
            result.curves.append(fitted["curve_"])
        cuts = fitted.get("answer_")
        if isinstance(cuts, Cuts):
            result.thresholds.append(cuts.thresholds)
        for attribute in ("coef_", "feature_importances_"):
            if attribute in fitted or attribute == "feature_importances_":
                weights = np.asarray(getattr(layer, attribute, np.nan), dtype=float)
                if weights.shape == (n_features,):
                    result.weights.append(weights)
                    break
    result.chosen.append(chosen)


def folds_of_queries(
    source: str, qid: Ints, n_folds: int, seed: int, unit: str = "queries"
) -> Ints:
    """Return the fold of each row, queries being whole and numbered from 0 on."""
    n_queries = int(qid.max()) + 1
    if n_queries < 2:
        raise refusal(source, f"have at least two {unit}, so that some can be left out", n_queries)
    folds = QueryKFold(min(n_folds, n_queries), shuffle=True, random_state=seed)
    fold = np.empty(len(qid), dtype=np.int64)
    for k, (_, test) in enumerate(folds.split(None, qid=qid)):
        fold[test] = k
    return fold


def make_table_case(
    columns: Columns,
    task: Task,
    *,
    metric: str | None = None,
    most_rows: float = MOST_ROWS,
    fewest: int = FEWEST_ROWS,
    seed: int = 0,
    category: Iterable[str] = (),
    keep: Iterable[str] = (),
) -> TableCase:
    """Make a table ready, all but one of ratings.

    Rows without a label or a query are left out, and fewer than `fewest` refused;
    beyond `most_rows` rows, some are drawn, whole queries or people at a time, of which
    two come in any case. `category` and `keep` are columns as in `Coding`.
    """
    if task.has_amounts:
        columns = with_amounts(columns, task.target)
    selected = select_rows(columns, task, most_rows, seed, fewest)
    whole, columns = columns, selected.columns
    coding = Coding.of(columns, task.features, whole, category=category, keep=keep)
    y = numeric_labels(columns.arrays[task.target], task.classes)
    qid = numbered(columns, task.query)
    X = coding.matrix(columns)
    measures: tuple[Measure, ...]
    loss: Loss = pair_loss
    unit, spread = "queries", 1.0
    if task.kind == "ordinal":
        measures = of_rows_by_name(metric, task.kind)
        loss, unit = step_loss, "rows"
    elif task.kind == "magnitude":
        measures = of_rows_by_name(metric, task.kind)
        if qid is None:
            unit, spread = "rows", 2.0
    else:
        measures = of_lists_by_name(metric, ("ndcg@10", "disagreement"), float(y.min()))
        loss = list_loss(measures[0].name)
    return TableCase(
        kind=task.kind,
        source=columns.source,
        X=X,
        y=y,
        features=coding.features,
        measures=measures,
        candidates=CANDIDATES[task.kind](),
        loss=loss,
        qid=qid,
        people=numbered(columns, task.user),
        classes=task.classes,
        target=task.target,
        column_roles=coding.with_roles(task.column_roles),
        notes=(*selected.notes, *coding.notes, *leak_notes(coding, X, y, task.target, qid)),
        unit=unit,
        spread=spread,
        coding=coding,
        is_sample=selected.is_sample,
    )


class SelectedRows(NamedTuple):
    """The rows of a table that take part, and what is to be noted of the others."""

    columns: Columns
    notes: tuple[str, ...]
    is_sample: bool = False


def select_rows(
    columns: Columns, task: Task, most_rows: float, seed: int, fewest: int
) -> SelectedRows:
    """Leave out rows without a label or query; draw `most_rows` of more rows."""
    needed = [name for name in (task.target, task.query) if name is not None]
    is_known, gap_notes = known_rows(columns, needed)
    rows, notes = np.flatnonzero(is_known), [*columns.notes, *task.notes, *gap_notes]
    if len(rows) < fewest:
        raise refusal(
            columns.source, f"have at least {fewest} rows with a {task.target!r}", len(rows)
        )
    is_sample = len(rows) > most_rows
    if is_sample:
        group = numbered(columns, task.query or task.user)
        groups = None if group is None else group[rows]
        sample = rows[drawn(len(rows), groups, most_rows, seed, fewest=2)]
        notes.append(
            f"{len(sample):,} of {len(rows):,} rows were drawn at random to compare on (--rows)."
        )
        rows = sample
    if len(rows) < len(columns):
        columns = cut_out(columns, rows)
    return SelectedRows(columns, tuple(notes), is_sample)


def known_rows(columns: Columns, names: Sequence[str]) -> tuple[Bools, list[str]]:
    """Return which rows have a value in all these columns, and notes about the others."""
    is_known, notes = np.ones(len(columns), dtype=bool), []
    for name in names:
        is_gap = is_empty(columns.arrays[name])
        if is_gap.any():
            rows_have = counted(int(is_gap.sum()), "row has", "rows have")
            notes.append(f"{rows_have} no {name!r}: left out.")
        is_known &= ~is_gap
    return is_known, notes


def numbered(columns: Columns, name: str | None) -> Ints | None:
    """Return for each row the number of its value in a column; gaps are a value."""
    if name is None:
        return None
    array = columns.arrays[name]
    return np.unique(array if numeric(array) else array.astype(str), return_inverse=True)[1]


def numeric_labels(array: Array, classes: tuple[Hashable, ...] | None) -> Floats:
    """Return labels as numbers: levels where there are classes."""
    if classes is None:
        values = array.astype(np.float64)
        if not np.isfinite(values).all():
            raise refusal("the target", "be finite", "infinity")
        return np.asarray(values)
    level = {label: float(k) for k, label in enumerate(classes)}
    return np.array([level[label] for label in array.tolist()])


def leak_notes(
    coding: Coding, X: Floats, y: Floats, target: str, qid: Array | None
) -> tuple[str, ...]:
    """Name the columns that by themselves put rows in the order of the target.

    Of text it is the order of mean targets, if it has five rows per value.
    """
    n_rows = len(y)
    if n_rows < _FEWEST_LEAK_ROWS or len(coding.coders) < 2:
        return ()
    rows = drawn(n_rows, qid, _LEAK_ROWS, seed=0)
    X, y, qid = X[rows], y[rows], None if qid is None else qid[rows]
    notes, first = [], 0
    for name, coder in coding.coders.items():
        width = len(coder.names(name))
        x = _one_column(coder, X[:, first : first + width], y)
        first += width
        is_known = ~np.isnan(x)
        if is_known.sum() < _FEWEST_LEAK_ROWS or not np.ptp(y[is_known]):
            continue
        of_known = None if qid is None else qid[is_known]
        with warnings.catch_warnings():
            # Of queries whose labels are the same there is nothing to see.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            wrong = float(disagreement(y[is_known], x[is_known], qid=of_known))
        if min(wrong, 1.0 - wrong) <= _TOO_GOOD:
            notes.append(
                f"{name}: alone it puts {max(wrong, 1.0 - wrong):.1%} of pairs in the order "
                f"of {target!r}. If it is not known before that is, --drop {name!r}."
            )
    return tuple(notes)


def _one_column(coder: Coder, X: Floats, y: Floats) -> Floats:
    """Return numbers by which a column could order rows; NaN if there are none."""
    if isinstance(coder, Dates):
        return np.full(len(y), np.nan)
    if not isinstance(coder, OneHot | ByTarget):
        return X[:, 0]
    level = X[:, 0] if isinstance(coder, ByTarget) else X @ np.arange(X.shape[1])
    number = np.where(np.isnan(level), len(coder.levels) + 1, level).astype(np.int64)
    count = np.bincount(number)
    if 5 * np.count_nonzero(count) > len(y):
        return np.full(len(y), np.nan)
    return np.asarray((np.bincount(number, y) / np.maximum(count, 1))[number])
