"""The work of `peckorder evaluate`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from peckorder import metrics
from peckorder._core.typing import Floats
from peckorder._core.validation import did_you_mean, whole
from peckorder.cli.column_report import role_lines
from peckorder.cli.console import Speaker, screen
from peckorder.cli.evaluate.classes import (
    LOSS,
    RIGHT,
    class_measure,
    levels_of,
    measured_classes,
)
from peckorder.cli.evaluate.roles import NONE, Roles, find_roles
from peckorder.cli.evaluate.rows import known_rows, with_numbers
from peckorder.cli.outputs import check_outputs
from peckorder.compare.run_evaluation import Judged, check_measures, judge, measure
from peckorder.exceptions import DataError
from peckorder.tables.columns import Columns, counted, listed
from peckorder.tables.files.cells import numbers_of
from peckorder.tables.files.read import read_columns, write_columns
from peckorder.tables.files.runs import qrels_columns, read_run_columns
from peckorder.tables.files.source import name_of
from peckorder.tables.roles import ColumnRole, Role, column_of

_LISTS = ("ndcg@10", "ap", "rr")
_TIES = ("expected", "best", "worst", "order", "docid")


def run_evaluate(
    file: str,
    *,
    metric: list[str] | None,
    qrels: str | None,
    target: str | None,
    score: str | None,
    predicted: str | None,
    classes: list[str] | None,
    qid: str | None,
    ties: str,
    bootstrap: int,
    seed: int,
    per_query: str | None,
    format: str | None,
    json: bool,
    quiet: bool,
) -> None:
    """Measure predictions, or a TREC run: means over queries, 95 % intervals."""
    speaker = Speaker(json=json, quiet=quiet, out=per_query)
    if ties not in _TIES:
        raise ValueError(
            f"evaluate: ties must be one of {', '.join(_TIES)}; got {ties!r}."
            f"{did_you_mean(ties, _TIES, {})}"
        )
    check_outputs("evaluate", {"--per-query": per_query}, [file, qrels])
    whole(1).check("evaluate", "bootstrap", bootstrap)
    whole(0).check("evaluate", "seed", seed)
    asked = None if metric is None else tuple(metric)
    of_lists = [name for name in asked or () if class_measure(name) is None]
    if of_lists:  # names, before any work
        metrics.evaluate([1, 0], [1, 0], of_lists, n_bootstrap=1)
    more: dict[str, Any] = {"ties": ties, "n_bootstrap": bootstrap}
    with speaker.bar("Measuring"):
        if qrels is None:
            ids = () if qid in (None, NONE) else (str(qid),)
            columns = read_columns(file, format=format, ids=ids)
            given = {"target": target, "score": score, "predicted": predicted}
            roles = find_roles(columns, {**given, "qid": qid})
            found = _of_table(columns, roles, asked, classes, seed, more)
        else:
            names = asked or _LISTS
            check_measures(names)
            judged = _judged(file, format, qrels)
            n_rows = int(np.isfinite(judged.score).sum())
            table = measure(judged, names, seed=seed, **more)
            found = Measured(n_rows, table, notes=judged.notes)
    rows = [] if found.table is None else found.table._rows()
    if any(row["queries"] == 1 for row in rows):
        alone = "Intervals are over lists; of one list there is none."
        found = found._replace(notes=(*found.notes, alone))
    if per_query is not None:
        if found.table is None:
            raise ValueError(
                "evaluate: per-query must go with a metric of lists, such as ndcg@10; "
                f"got {', '.join(asked or ())}."
            )
        write_columns(per_query, _by_query(found.table))
    values = {row.pop("metric"): row for row in [dict(r) for r in rows]}
    values |= {row.pop("metric"): row for row in [dict(r) for r in found.classes]}
    speaker.say(
        {
            "file": name_of(file),
            "rows": found.n_rows,
            "ties": ties,
            "taken": {t.column: [t.role.value, t.why] for t in found.column_roles},
            "notes": list(found.notes),
            "metrics": values,
        },
        *_shown(name_of(file), found, rows),
    )


class Measured(NamedTuple):
    """What was measured: lists in `table`, predicted classes in `classes`."""

    n_rows: int
    table: metrics.Evaluation | None
    classes: tuple[dict[str, Any], ...] = ()
    column_roles: tuple[ColumnRole, ...] = ()
    notes: tuple[str, ...] = ()


def _shown(file: str, found: Measured, rows: Sequence[Any]) -> list[Any]:
    """Return what people see: what was taken for what, then tables."""
    lines: list[Any] = [f"  {line}" for line in role_lines(found.column_roles)]
    if found.column_roles and not any(t.role is Role.QUERY for t in found.column_roles):
        lines.append("  no column of queries: all rows are one list (--qid NAME)")
    title = f"{file} ({counted(found.n_rows, 'row', 'rows')}, 95 % intervals)"
    headings: tuple[str, ...]
    if found.classes:
        headings = ("metric", "mean", "low", "high", "rows")
        every = [tuple(row.values()) for row in found.classes]
        lines.append(screen(title, headings, every))
    if rows:
        headings = ("metric", "mean", "low", "high", "queries", "undefined")
        lines.append(screen(title, headings, [tuple(row.values()) for row in rows]))
    return [*lines, *found.notes]


def _of_table(
    columns: Columns,
    roles: Roles,
    asked: tuple[str, ...] | None,
    classes: list[str] | None,
    seed: int,
    more: dict[str, Any],
) -> Measured:
    """Measure a table that has targets, and scores or predicted classes."""
    has_classes = roles.predicted not in (None, roles.score)
    if asked is None:
        asked = (*((LOSS, RIGHT) if has_classes else ()),)
        if roles.score is not None:
            asked += ("disagreement",) if has_classes else _LISTS
    of_classes = [name for each in asked if (name := class_measure(each))]
    of_lists = [name for name in asked if class_measure(name) is None]
    if of_classes and roles.predicted is None:
        raise _missing(columns, "predicted", of_classes[0])
    if of_lists and roles.score is None:
        raise _missing(columns, "score", of_lists[0])
    labels = [roles.target, *([roles.predicted] if of_classes else [])]
    others = [roles.score, roles.query] if of_lists else []
    needed = [name for name in dict.fromkeys([*labels, *others]) if name is not None]
    # Classes that were given are compared as they stand.
    numbers = {*(labels if classes is None else ()), roles.score} & set(needed)
    columns = with_numbers(columns, sorted(numbers - {roles.query}))
    rows, more_notes = known_rows(columns, needed)
    n_rows, notes = int(rows.sum()), (*columns.notes, *more_notes)
    found: list[dict[str, Any]] = []
    if of_classes and roles.predicted is not None:
        truth, guess = levels_of(columns, (roles.target, roles.predicted), classes)
        samples = more["n_bootstrap"]
        found = measured_classes(truth[rows], guess[rows], of_classes, samples, seed)
    if not of_lists or roles.score is None:
        return Measured(n_rows, None, tuple(found), roles.column_roles, notes)
    is_text = columns.arrays[roles.target].dtype.kind not in "iuf"
    if classes is not None or (is_text and of_classes):
        (level,) = levels_of(columns, (roles.target,), classes)
        target: Floats = level.astype(np.float64)
    else:
        target = numbers_of("evaluate", columns, roles.target, gaps=True)
    if more["ties"] == "docid":
        more = {**more, "docid": columns.arrays[_docid(columns)][rows]}
    table = metrics.evaluate(
        target[rows],
        numbers_of("evaluate", columns, roles.score, gaps=True)[rows],
        of_lists,
        qid=None if roles.query is None else columns.arrays[roles.query][rows],
        random_state=seed,
        **more,
    )
    return Measured(n_rows, table, tuple(found), roles.column_roles, notes)


def _missing(columns: Columns, what: str, metric: str) -> DataError:
    return DataError(
        f"evaluate: {columns.source} must have a column of the {what} for {metric!r}, "
        f"which has {listed(columns.names)}; got none by its usual names. Add --{what} "
        "NAME."
    )


def _docid(columns: Columns) -> str:
    return column_of("evaluate", columns, "docid", None, ("docid", "doc_id", "id"))


def _judged(file: str, format: str | None, qrels: str) -> Judged:
    run = read_run_columns("evaluate", file, format)
    return judge(run, qrels_columns("evaluate", qrels))


def _by_query(table: Any) -> Columns:
    ids = np.asarray([str(q) for q in table.queries.tolist()], dtype=object)
    return Columns({"qid": ids, **table.values}, "values of queries")
