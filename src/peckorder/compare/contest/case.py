"""A table made ready for a contest."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peckorder._core.typing import Floats, Ints
from peckorder.compare.candidates import registry as entrants
from peckorder.compare.candidates.registry import Entrant, Setting
from peckorder.compare.candidates.tuning import Loss, list_loss, pair_loss, step_loss
from peckorder.compare.contest.measures import (
    Measure,
    Measuring,
    of_levels,
    of_lists,
    of_lists_by_name,
    of_pairs,
    of_runs,
)
from peckorder.exceptions import DataError
from peckorder.model_selection import QueryKFold
from peckorder.tables.columns import Columns, is_empty, numeric
from peckorder.tables.features import Coding
from peckorder.tables.roles import ColumnRole
from peckorder.tables.sampling import drawn
from peckorder.tables.task import Task

FEWEST_ROWS: Final = 10
# More are compared on a sample: rankers of many rows differ little from those of some.
MOST_ROWS: Final = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Rows, what is to be said of them, who tries and how it is measured.

    `y` are levels from 0 on in an ordinal task, else numbers; `qid` numbers of queries;
    `people` those of people, whose rows are kept whole where there are no queries.
    `measures` are those of the leaderboard, the one that decides first; `unit` is what
    a value of a measure is of, and `spread` how much wider than usual intervals are.
    `levels` has the columns that features come from, as in `Coding`.
    """

    kind: str
    source: str
    X: Floats
    y: Floats
    features: tuple[str, ...]
    measures: tuple[Measure, ...]
    entrants: tuple[Entrant, ...]
    loss: Loss
    qid: Ints | None = None
    people: Ints | None = None
    queries: tuple[Any, ...] = ()
    classes: tuple[Any, ...] | None = None
    target: str = ""
    column_roles: tuple[ColumnRole, ...] = ()
    notes: tuple[str, ...] = ()
    is_sample: bool = False
    unit: str = "rows"
    spread: float = 1.0
    unlisted: Mapping[int, Floats] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)

    @property
    def groups(self) -> Ints | None:
        """The queries, or else people, of rows: what no fold cuts in two."""
        return self.people if self.qid is None else self.qid

    def setting(self, seed: int) -> Setting:
        """Return what rankers are made for."""
        n_levels = len(self.classes) if self.classes else 2
        return Setting(seed, len(self.features), n_levels, self.loss)

    def folds(self, n_folds: int, seed: int) -> Ints:
        """Return the fold of each row: whole groups, or classes evenly dealt out.

        Distances are of two rows, so that a fold of them has two at least.
        """
        if self.qid is None and self.kind == "magnitude":
            n_folds = min(n_folds, len(self.y) // 2)
        if self.groups is not None:
            called = "queries" if self.qid is not None else "people"
            return folds_of_queries(self.source, self.groups, n_folds, seed, called)
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(self.y))
        if self.kind == "ordinal":
            order = order[np.argsort(self.y[order], kind="stable")]
        fold = np.empty(len(self.y), dtype=np.int64)
        fold[order] = np.arange(len(self.y)) % n_folds
        return fold

    def measuring(self, fold: Ints) -> Measuring:
        """Return what makes values of answers."""
        names = [measure.name for measure in self.measures]
        if self.kind == "ordinal":
            return of_levels(self.y.astype(np.int64))
        if self.kind == "runs" and self.qid is not None:
            return of_runs(self.y, self.qid, self.unlisted, names)
        if self.qid is not None:
            return of_lists(self.y, self.qid, names)
        return of_pairs(self.y, fold)


def folds_of_queries(
    source: str, qid: Ints, n_folds: int, seed: int, called: str = "queries"
) -> Ints:
    """Return the fold of each row, queries being whole and numbered from 0 on."""
    n_queries = int(qid.max()) + 1
    if n_queries < 2:
        raise DataError(
            f"compare: {source} must have at least two {called}, so that some can be "
            f"left out; got {n_queries}."
        )
    deal = QueryKFold(min(n_folds, n_queries), shuffle=True, random_state=seed)
    fold = np.empty(len(qid), dtype=np.int64)
    for k, (_, test) in enumerate(deal.split(None, qid=qid)):
        fold[test] = k
    return fold


def make_case(
    columns: Columns,
    task: Task,
    *,
    metric: str | None = None,
    most_rows: int = MOST_ROWS,
    seed: int = 0,
) -> Case:
    """Make a table ready, all but one of ratings.

    Rows without a label or a query are left out; beyond `most_rows` rows, some are
    drawn, whole queries or people at a time, of which two come in any case.
    """
    chosen = chosen_rows(columns, task, most_rows, seed)
    whole, notes = columns, (*columns.notes, *chosen.notes)
    if len(chosen.rows) < len(columns):
        arrays = {name: array[chosen.rows] for name, array in columns.arrays.items()}
        columns = Columns(arrays, columns.source)
    coding = Coding.of(columns, task.features, whole)
    y = _labels(columns.arrays[task.target], task.classes)
    queries, qid = _numbered(columns, task.query)
    _, people = _numbered(columns, task.user)
    case = Case(
        kind=task.kind,
        source=columns.source,
        X=coding.matrix(columns),
        y=y,
        features=coding.features,
        measures=(),
        entrants=(),
        loss=pair_loss,
        qid=qid,
        people=people,
        queries=queries,
        classes=task.classes,
        target=task.target,
        column_roles=coding.with_roles(task.column_roles),
        notes=notes,
        is_sample=chosen.is_sample,
        levels=coding.levels,
    )
    return _with_measures(case, metric)


def _with_measures(case: Case, metric: str | None) -> Case:
    """Say what decides and who takes part."""
    if case.kind == "ordinal":
        _refuse_metric(metric, ("mean rank loss",), case.kind)
        measures = (Measure("mean rank loss"), Measure("exactly right", True))
        return replace(
            case, measures=measures, entrants=entrants.ordinal(), loss=step_loss
        )
    if case.kind == "magnitude":
        _refuse_metric(metric, ("msd", "disagreement"), case.kind)
        names = (
            ("disagreement", "msd")
            if metric == "disagreement"
            else ("msd", "disagreement")
        )
        return replace(
            case,
            measures=tuple(map(Measure, names)),
            entrants=entrants.magnitude(),
            unit="queries" if case.qid is not None else "rows",
            spread=1.0 if case.qid is not None else 2.0,
        )
    kept = of_lists_by_name(metric, ("ndcg@10", "disagreement"), float(case.y.min()))
    return replace(
        case,
        measures=kept,
        entrants=entrants.graded(),
        loss=list_loss(kept[0].name),
        unit="queries",
    )


def _refuse_metric(metric: str | None, known: tuple[str, ...], kind: str) -> None:
    if metric is not None and metric not in known:
        words = " or ".join(repr(name) for name in known)
        raise DataError(
            f"compare: metric must be {words} for task={kind!r}; got {metric!r}."
        )


class ChosenRows(NamedTuple):
    """Rows to compare on, notes about the others, and whether they were drawn."""

    rows: Ints
    notes: tuple[str, ...]
    is_sample: bool


def chosen_rows(
    columns: Columns, task: Task, most_rows: float, seed: int, fewest: int = FEWEST_ROWS
) -> ChosenRows:
    """Return the rows with a label and a query, at most so many of them."""
    notes = []
    known = ~is_empty(columns.arrays[task.target])
    if not known.all():
        notes.append(f"{_rows((~known).sum())} no {task.target!r}: left out.")
    if task.query is not None:
        asked = ~is_empty(columns.arrays[task.query])
        if not asked.all():
            notes.append(f"{_rows((~asked).sum())} no {task.query!r}: left out.")
        known &= asked
    rows = np.flatnonzero(known)
    if len(rows) < fewest:
        raise DataError(
            f"compare: {columns.source} must have at least {fewest} rows with a "
            f"{task.target!r}; got {len(rows)}."
        )
    is_sample = len(rows) > most_rows
    if is_sample:
        group = task.query or task.user
        keys = None if group is None else _keys(columns.arrays[group][rows])
        some = rows[drawn(len(rows), keys, most_rows, seed, fewest=2)]
        notes.append(
            f"{len(some):,} of {len(rows):,} rows were drawn at random to compare on "
            "(--rows)."
        )
        rows = some
    return ChosenRows(rows, tuple(notes), is_sample)


def _rows(n: Any) -> str:
    return "1 row has" if n == 1 else f"{n:,} rows have"


def _numbered(
    columns: Columns, name: str | None
) -> tuple[tuple[Any, ...], Ints | None]:
    """Return the values of a column, and for each row the number of its value.

    Rows of nobody are one value.
    """
    if name is None:
        return (), None
    values, number = np.unique(_keys(columns.arrays[name]), return_inverse=True)
    return tuple(values.tolist()), number


def _keys(array: NDArray[Any]) -> NDArray[Any]:
    return array if numeric(array) else array.astype(str)


def _labels(array: NDArray[Any], classes: tuple[Any, ...] | None) -> Floats:
    """Return labels as numbers: levels where there are classes."""
    if classes is None:
        values = array.astype(np.float64)
        if not np.isfinite(values).all():
            raise DataError("compare: the target must be finite; got infinity.")
        return np.asarray(values)
    level = {label: float(place) for place, label in enumerate(classes)}
    return np.array([level[label] for label in array.tolist()])
