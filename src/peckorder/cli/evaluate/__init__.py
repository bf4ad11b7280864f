"""The work of `peckorder evaluate`."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from rich.console import RenderableType

import peckorder
from peckorder import metrics
from peckorder._core.cells import is_number
from peckorder._core.column_names import plain
from peckorder._core.errors import refusal
from peckorder._core.typing import Floats, Ints
from peckorder.cli.evaluate.roles import SCORES, Roles, find_roles, first_of, missing_column
from peckorder.cli.models import known_columns
from peckorder.cli.options import EvaluateOptions, OutputOptions, PairOptions
from peckorder.cli.outputs import ResultPrinter, role_lines, roles_as_json, screen
from peckorder.cli.pairs import TOO_NARROW, read_items, read_pairs, usual_measures
from peckorder.comparison.run_evaluation import check_measures, judge, measure
from peckorder.comparison.table_case import known_rows
from peckorder.feedback import is_missing
from peckorder.metrics import interval_by_counts, intervals
from peckorder.tables.columns import (
    Columns,
    check_column,
    counted,
    distinct,
    is_whole,
    listed,
    numeric,
    short,
    split_names,
)
from peckorder.tables.files.arrow import to_columns
from peckorder.tables.files.arrow_cells import numbers_of, typed
from peckorder.tables.files.paths import name_of
from peckorder.tables.files.read import read_columns, write_columns
from peckorder.tables.files.runs import qrels_columns, read_run_columns
from peckorder.tables.model_rows import ModelRows
from peckorder.tables.roles import ColumnRole, Role, column_of
from peckorder.tables.task import MOST_CLASSES, MOST_GRADES, whole_if_it_is
from peckorder.tables.text_cells import order_of_words, with_amounts

_LISTS: Final = ("ndcg@10", "ap", "rr")
# No grade is 0, as of ratings: none says which rows are good. Those below 0 are no gains.
_USUAL_OF_RATINGS: Final = ("disagreement", "ndcg@10")
_USUAL_BELOW_0: Final = ("disagreement",)
LOSS: Final = "mean rank loss"
RIGHT: Final = "exactly right"
WRONG: Final = "zero-one loss"
# No means over rows: they follow from how often classes are taken for each other.
_OF_COUNTS: Final = {"macro_mae": metrics.macro_mae, "qwk": metrics.quadratic_weighted_kappa}
MEASURES: Final = (LOSS, RIGHT, WRONG, *_OF_COUNTS)
_USUAL_OF_CLASSES: Final = (LOSS, RIGHT, "macro_mae", "qwk")
_USUAL_OF_NUMBERS: Final = ("disagreement", "msd", "rmse", "mae")
_ALIASES: Final = {"rank loss": LOSS, "accuracy": RIGHT, "zero one": WRONG, "zero one loss": WRONG}


class Measured(NamedTuple):
    """What was measured: lists in `table`, predicted classes in `classes`."""

    n_rows: int
    table: metrics.Evaluation | None
    classes: tuple[dict[str, str | float], ...] = ()
    column_roles: tuple[ColumnRole, ...] = ()
    notes: tuple[str, ...] = ()


def run_evaluate(
    file: str, options: EvaluateOptions, pairs: PairOptions, output: OutputOptions
) -> None:
    """Measure predictions, or a TREC run: means over queries, 95 % intervals."""
    ties, per_query = options.ties, options.per_query
    printer = ResultPrinter(output, per_query)
    options = replace(options, metric=tuple(split_names(options.metric or (), ())) or None)
    of_lists = [name for name in options.metric or () if class_measure(name) is None]
    if of_lists:  # names, before any work
        for name in of_lists:
            metrics.metric_by_name(name, "metric", MEASURES)
        metrics.evaluate([1, 0], [1, 0], of_lists, n_bootstrap=1)
    with printer.progress("Measuring"):
        if pairs.items is not None:
            measured = _of_pairs(file, pairs.items, options, pairs)
        elif options.qrels is None:
            measured = _of_table(file, options)
        else:
            measured = _of_run(file, options.qrels, options)
    rows = [] if measured.table is None else measured.table._rows()
    if any(row.get("queries") == 1 for row in rows):
        note = "Intervals are over lists; of one list there is none."
        measured = measured._replace(notes=(*measured.notes, note))
    if per_query is not None:
        if measured.table is None:
            raise refusal(
                "per-query",
                "go with a metric of lists, such as ndcg@10",
                ", ".join(options.metric or ()),
            )
        ids = np.asarray([str(q) for q in measured.table.queries.tolist()], dtype=object)
        values = {"qid": ids, **measured.table.values}
        write_columns(per_query, Columns(values, "values of queries"))
    by_metric = {row.pop("metric"): row for row in map(dict, (*rows, *measured.classes))}
    printer.emit(
        {
            "file": name_of(file),
            "rows": measured.n_rows,
            "ties": ties,
            "taken": roles_as_json(measured.column_roles),
            "notes": list(measured.notes),
            "metrics": by_metric,
        },
        *_shown(name_of(file), measured, rows),
    )


def _of_pairs(file: str, items_file: str, options: EvaluateOptions, pairs: PairOptions) -> Measured:
    """Measure scores of items against pairs of them."""
    roles: list[ColumnRole] = []
    if options.model is not None and options.score is not None:
        raise refusal(
            "score", "be left out with --model, which scores the items", repr(options.score)
        )
    model = None if options.model is None else ModelRows.of(peckorder.load(options.model))
    items = read_items(items_file, pairs, model)
    if model is not None:
        score = model.added(model.matrix(items))["score"]
    else:
        name = _score_column(items, options.score)
        roles.append(ColumnRole(name, Role.SCORE, "--score" if options.score else "its name"))
        score = numbers_of(items, name)
    of_items = read_pairs(file, items, pairs, options.format)
    preferences = of_items.preferences
    names = options.metric or usual_measures(preferences, model)
    notes = of_items.notes
    table = metrics.evaluate(
        preferences,
        score,
        names,
        ties=options.ties,
        n_bootstrap=options.bootstrap,
        random_state=options.seed,
    )
    if table.unit == "pairs":
        notes += (TOO_NARROW,)
    return Measured(len(preferences), table, (), (*of_items.column_roles, *roles), notes)


def _score_column(items: Columns, given: str | None) -> str:
    """Return the column of scores of items."""
    if given is not None:
        check_column(items, "score", given)
        return given
    by_name = {plain(name): name for name in reversed(items.names)}
    name = first_of(by_name, SCORES)
    if name is None:
        raise refusal(
            items.source,
            "have a column of scores, where no model is given",
            listed(items.names),
            hint="Add --model FILE or --score NAME.",
        )
    return name


def _of_run(file: str, qrels: str, options: EvaluateOptions) -> Measured:
    """Measure a run against judgements."""
    names = options.metric or _LISTS
    check_measures(names)
    run = read_run_columns(file, options.format)
    judged = judge(run, qrels_columns(qrels))
    table = measure(
        judged, names, ties=options.ties, n_bootstrap=options.bootstrap, seed=options.seed
    )
    return Measured(int(np.isfinite(judged.score).sum()), table, notes=judged.notes)


def _of_table(file: str, options: EvaluateOptions) -> Measured:
    """Measure a table that has targets, and scores or predicted classes."""
    classes: Sequence[str] | None = options.classes
    is_real = False
    learnt: tuple[Any, ...] = ()
    names = ("target", "score", "predicted", "qid")
    given = {name: getattr(options, name) for name in names}
    known: dict[str, str] = {}
    if options.model is not None:
        model = peckorder.load(options.model)
        known = known_columns(model)
        of_model = getattr(model, "classes_", np.empty(0))
        learnt = tuple(of_model.tolist())
        if classes is None and any(isinstance(label, str) for label in learnt):
            classes = tuple(map(str, learnt))
        is_real = "target" in known and "qid" not in known and len(of_model) == 0
    qid = known.get("qid") if options.qid is None else options.qid
    ids = () if qid is None else (qid,)
    columns = read_columns(file, format=options.format, ids=ids)
    roles = find_roles(columns, given, known)
    of_classes, of_lists = _chosen_metrics(columns, roles, options, is_real)
    labels = [roles.target, *([roles.predicted] if of_classes else [])]
    order_notes: tuple[str, ...] = ()
    if classes is None:
        classes = _guessed_classes(columns, [name for name in labels if name is not None])
        if classes is not None:
            shown = " < ".join(classes)
            order_notes = (f"The classes are {shown} (--classes for another order).",)
    others = [roles.score, roles.query] if of_lists else []
    needed = [name for name in dict.fromkeys([*labels, *others]) if name is not None]
    # Classes that were given are compared as they stand.
    numbers = {*(labels if classes is None else ()), roles.score} & set(needed)
    columns = with_numbers(columns, sorted(numbers - {roles.query}))
    if roles.target in numbers:
        columns = with_amounts(columns, roles.target)
    # What has no label cannot be measured; nor what a model does not know, which `rank`
    # writes without a score.
    rows, row_notes = known_rows(columns, needed)
    if not rows.any():
        raise refusal(
            columns.source, f"have rows with all of {', '.join(map(repr, needed))}", "none"
        )
    n_rows, notes = int(rows.sum()), (*columns.notes, *roles.notes, *order_notes, *row_notes)
    values: list[dict[str, str | float]] = []
    if of_classes and roles.predicted is not None:
        truth, guess = levels_of(columns, (roles.target, roles.predicted), classes, learnt)
        samples, seed = options.bootstrap, options.seed
        values = measured_classes(truth[rows], guess[rows], of_classes, samples, seed)
    if not of_lists or roles.score is None:
        return Measured(n_rows, None, tuple(values), roles.column_roles, notes)
    docid = None
    if options.ties == "docid":
        docid = columns.arrays[column_of(columns, "docid", None, ("docid", "doc_id", "id"))][rows]
    table = metrics.evaluate(
        _targets(columns, roles, classes, has_classes=bool(of_classes))[rows],
        numbers_of(columns, roles.score, gaps=True)[rows],
        of_lists,
        qid=None if roles.query is None else columns.arrays[roles.query][rows],
        docid=docid,
        ties=options.ties,
        n_bootstrap=options.bootstrap,
        random_state=options.seed,
    )
    return Measured(n_rows, table, tuple(values), roles.column_roles, notes)


def _guessed_classes(columns: Columns, names: Iterable[str]) -> tuple[str, ...] | None:
    """Return the labels of columns of text in the order of a usual scale, if they have it."""
    arrays = [columns.arrays[name] for name in names]
    if not all(array.dtype == object for array in arrays):
        return None
    return order_of_words({text for array in arrays for text in distinct(array).tolist()})


def _chosen_metrics(
    columns: Columns, roles: Roles, options: EvaluateOptions, is_real: bool
) -> tuple[list[str], list[str]]:
    """Return the measures of classes and of lists that are asked for, or the usual.

    Those of scores by the kind of task that `compare` recognises in the targets, unless
    the model says that they are real numbers.
    """
    asked, has_classes = options.metric, roles.predicted not in (None, roles.score)
    if asked is None:
        asked = _USUAL_OF_CLASSES if has_classes else ()
        if roles.score is not None and has_classes:
            # What decides in `compare`, if these are grades.
            of_queries = () if roles.query is None else _usual_of_scores(columns, roles)
            asked += ("ndcg@10", "disagreement") if "ndcg@10" in of_queries else ("disagreement",)
        elif roles.score is not None:
            asked += _USUAL_OF_NUMBERS if is_real else _usual_of_scores(columns, roles)
    of_classes = [measure for name in asked if (measure := class_measure(name))]
    of_lists = [name for name in asked if class_measure(name) is None]
    if of_classes and roles.predicted is None:
        raise missing_column(columns, "predicted", of_classes[0])
    if (of_lists or not of_classes) and roles.score is None:
        raise missing_column(columns, "score", *of_lists[:1])
    return of_classes, of_lists


def _usual_of_scores(columns: Columns, roles: Roles) -> tuple[str, ...]:
    """Return the measures for real numbers as targets, or for grades."""
    columns = with_amounts(with_numbers(columns, [roles.target]), roles.target)
    targets = columns.arrays[roles.target]
    values = distinct(targets)
    if not numeric(targets):
        return _LISTS
    most = MOST_CLASSES if roles.query is None else MOST_GRADES
    if len(values) > most or not is_whole(values):
        return _USUAL_OF_NUMBERS
    lowest = min(values.tolist(), default=0)
    if lowest < 0:
        return _USUAL_BELOW_0
    return _USUAL_OF_RATINGS if lowest > 0 else _LISTS


def _targets(
    columns: Columns, roles: Roles, classes: Sequence[str] | None, *, has_classes: bool
) -> Floats:
    """Return targets as numbers: levels of classes, or as they are."""
    is_text = columns.arrays[roles.target].dtype.kind not in "iuf"
    if classes is not None or (is_text and has_classes):
        (level,) = levels_of(columns, (roles.target,), classes)
        return level.astype(np.float64)
    return numbers_of(columns, roles.target, gaps=True)


def _shown(file: str, measured: Measured, rows: Sequence[Any]) -> list[RenderableType]:
    """Return what is printed: the roles of columns, then tables."""
    lines: list[RenderableType] = [f"  {line}" for line in role_lines(measured.column_roles)]
    unit = "queries" if measured.table is None else measured.table.unit
    is_list = unit == "queries" and not any(t.role is Role.QUERY for t in measured.column_roles)
    if measured.column_roles and is_list:
        lines.append("  no column of queries: all rows are one list (--qid NAME)")
    one, many = ("row", "rows") if unit == "queries" else ("pair", "pairs")
    title = f"{file} ({counted(measured.n_rows, one, many)}, 95 % intervals)"
    for values, counts in ((measured.classes, ["rows"]), (rows, [unit, "undefined"])):
        if values:
            headings = ("metric", "mean", "low", "high", *counts)
            lines.append(screen(title, headings, [tuple(row.values()) for row in values]))
    return [*lines, *measured.notes]


def with_numbers(columns: Columns, names: Collection[str]) -> Columns:
    """Return columns with numbers where text is all numbers, by the rules of CSV.

    Formats with types may have such text, as what others wrote has, and behind the
    ``#`` of LETOR there is no other.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.cli.evaluate import with_numbers
    >>> from peckorder.tables.columns import Columns
    >>> table = Columns({"grade": np.array(["2", "1"], object)}, "ranked.jsonl")
    >>> with_numbers(table, ["grade"]).arrays["grade"].tolist()
    [2, 1]
    """
    arrays = dict(columns.arrays)
    for name in names:
        if arrays[name].dtype == object:
            cells = pa.chunked_array([pa.array(arrays[name], pa.string())])
            numbers = typed(name, cells, is_id=False, has_commas=False)
            if numbers is not cells:
                arrays |= to_columns(columns.source, pa.table({name: numbers})).arrays
    return replace(columns, arrays=arrays)


def class_measure(name: str) -> str | None:
    """Return a measure of classes by its name; None if it is no such name.

    Examples
    --------
    >>> from peckorder.cli.evaluate import class_measure
    >>> class_measure("rank_loss"), class_measure("zero-one"), class_measure("ap")
    ('mean rank loss', 'zero-one loss', None)
    """
    word = " ".join(name.lower().replace("_", " ").replace("-", " ").split())
    plain = {measure.replace("-", " ").replace("_", " "): measure for measure in MEASURES}
    return (plain | _ALIASES).get(word)


def levels_of(
    columns: Columns,
    names: Iterable[str],
    classes: Iterable[str] | None,
    learnt: Iterable[Any] = (),
) -> list[Ints]:
    """Return the levels of labels on their scale, from 0 on; -1 of empty cells.

    Without `classes` the scale is of all numbers there are, and of those that a model
    has `learnt`, ascending: a step is one from a class to the next, as in `compare`.
    Numbers are compared by their values, to the last digit, text as it stands.
    """
    arrays = {name: columns.arrays[name] for name in names}
    if classes is None:
        for name, array in arrays.items():
            if not numeric(array):
                raise refusal(
                    "classes",
                    "be given, lowest first, for labels that are text, by --classes",
                    f"none for {name!r}, which has {', '.join(map(str, distinct(array)[:12]))}",
                )
        every = sorted({*learnt, *(v for a in arrays.values() for v in distinct(a).tolist())})
        labels = [str(whole_if_it_is(value)) for value in every]
        level: dict[Hashable, int] = {value: k for k, value in enumerate(every)}
    else:
        every = [*learnt, *(label for array in arrays.values() for label in distinct(array))]
        labels = list(split_names(classes, [label for label in every if isinstance(label, str)]))
        level = {value: k for k, label in enumerate(labels) for value in _values(label)}
    rule = f"be one of {', '.join(labels)}" if len(labels) <= 31 else "be a class"
    found = []
    for name, array in arrays.items():
        is_text = not numeric(array)
        levels = np.full(len(array), -1)
        for row, cell in enumerate(array.tolist()):
            if is_missing(cell):
                continue
            key = str(cell) if is_text else cell
            if key not in level:
                got = f"{short(cell)} in row {row + 1}"
                raise refusal(f"column {name!r} of {columns.source}", rule, got)
            levels[row] = level[key]
        found.append(levels)
    return found


def _values(label: str) -> tuple[Hashable, ...]:
    """Return what a label stands for: its text, and a number if it is one.

    Whole numbers are such, of which a float would not hold every digit.
    """
    if not is_number(label):
        return (label,)
    try:
        return label, int(label)
    except ValueError:
        return label, float(label)


def measured_classes(
    truth: Ints, guess: Ints, names: Sequence[str], n_bootstrap: int, seed: int
) -> list[dict[str, str | float]]:
    """Return measures of rows, with 95 % bootstrap intervals."""
    steps = np.abs(guess - truth).astype(np.float64)
    values: dict[str, Floats] = {
        LOSS: steps,
        RIGHT: (steps == 0).astype(np.float64),
        WRONG: (steps > 0).astype(np.float64),
    }
    rows: list[dict[str, str | float]] = []
    for name in names:
        if name in _OF_COUNTS:
            mean, low, high = interval_by_counts(_OF_COUNTS[name], truth, guess, n_bootstrap, seed)
        else:
            each, weight = values[name], np.ones(len(steps))
            ((low, high),) = intervals(each[np.newaxis], weight, n_bootstrap, seed).tolist()
            mean = float(each.mean())
        rows.append({"metric": name, "mean": mean, "low": low, "high": high, "rows": len(steps)})
    return rows
