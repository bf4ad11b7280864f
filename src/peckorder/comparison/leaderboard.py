"""Which ranker is best on my data? The comparison of the command line, in Python."""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from peckorder._core.errors import entry, refusal
from peckorder._core.shown_tables import ShownAsTable
from peckorder.comparison.contest import Contest, entries, run_contest
from peckorder.comparison.ratings_case import MOST_PEOPLE, RatingsCase, make_ratings_case
from peckorder.comparison.refit import refit
from peckorder.comparison.table_case import MOST_ROWS, TableCase, make_table_case
from peckorder.exceptions import MissingExtraError
from peckorder.metrics import to_frame
from peckorder.tables.columns import Columns
from peckorder.tables.task import recognise


class Leaderboard(ShownAsTable):
    """All rankers, measured on the same folds, the best first.

    Returned by `peckorder.compare`; printed, and shown by notebooks, as a table with notes.

    Attributes
    ----------
    names : tuple of str
        The rankers, the best first.
    task : str
        What was recognised: ordinal, magnitude, graded or ratings.
    notes : tuple of str
        What was decided about the data, and what may surprise.
    left_out : dict
        The rankers that are not in the table, and why.
    best_name_ : str
        The best ranker, of whatever library. Baselines have nothing to keep.
    best_ : estimator
        That ranker with all that was measured: the preparation of columns, the chosen
        settings, the cuts into classes or the scale of labels. It is fitted to all rows
        when it is first asked for, and can be saved.

    Examples
    --------
    >>> import pandas
    >>> import peckorder
    >>> size = [k * 7 % 40 for k in range(40)]
    >>> frame = pandas.DataFrame({"size": size, "label": [x // 10 for x in size]})
    >>> board = peckorder.compare(frame, rankers=["PRank", "MPRank"], folds=2)
    >>> board.names[-1]
    '(always the median class)'
    """

    def __init__(self, case: TableCase | RatingsCase, contest: Contest) -> None:
        self._case, self._contest = case, contest
        self.names = tuple(result.name for result in contest.results)
        self.task, self.notes = case.kind, (*case.notes, *contest.undefined_notes())
        self.left_out = dict(contest.left_out)

    @property
    def best_name_(self) -> str:
        """The best ranker, of whatever library."""
        best = self._contest.best_saved
        if best is None:
            raise refusal("rankers", "have one that can be saved", "none in the leaderboard")
        return best.name

    @cached_property
    def best_(self) -> Any:
        """That ranker, fitted to all rows."""
        return refit(self._case, self._contest, self.best_name_)

    def to_dict(self) -> list[dict[str, object]]:
        """Return one dictionary per ranker: means, intervals, seconds, chosen settings."""
        return entries(self._contest)

    def to_frame(self, library: str = "pandas") -> Any:
        """Return one row per ranker as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            Which must be installed.

        Returns
        -------
        frame : DataFrame
            The means of all measures; of the first measure half the width of its 95 %
            interval, how far behind the best the ranker is on the same rows, queries or
            people, and whether no difference was shown; the median of seconds to fit;
            the settings that were chosen.
        """
        return to_frame(library, self.to_dict())

    def _lines(self) -> list[list[str]]:
        contest = self._contest
        first, *others = (measure.name for measure in contest.measures)
        headings = ["ranker", first, "behind the first", *others]
        rows = [[result.name, *contest.leaderboard_row(result)] for result in contest.results]
        return [headings, *rows]

    def _remarks(self) -> list[str]:
        left_out = [f"{name} was left out: {why}" for name, why in self.left_out.items()]
        return [self._contest.summary, *left_out, *self.notes]


@entry
def compare(
    data: Any,
    *,
    target: str | None = None,
    task: str | None = None,
    qid: str | None = None,
    user: str | None = None,
    item: str | None = None,
    classes: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    category: Iterable[str] = (),
    keep: Iterable[str] = (),
    rankers: Iterable[str] | None = None,
    metric: str | None = None,
    folds: int = 5,
    rows: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int, str], None] | None = None,
) -> Leaderboard:
    """Find the ranker that is best on a table, as ``peckorder compare`` does.

    The task is recognised by the columns, or said: ordered classes, real-valued
    relevance, graded rows of queries, or ratings. All suitable rankers, those of other
    libraries that are installed among them, choose their settings on rows left out of
    the training rows and are measured on the same folds. Needs pyarrow:
    ``pip install "peckorder[frames]"``.

    Parameters
    ----------
    data : DataFrame, mapping or path
        A frame of pandas or polars, arrays by the names of columns, or a file that the
        command line reads.
    target : str, default=None
        The column to predict, of ratings the rating; None for one with a usual name, else
        the last.
    task : {"ordinal", "magnitude", "graded", "ratings"}, default=None
        What to learn; None for what the columns suggest.
    qid, user, item : str, default=None
        Columns of queries, of people and of what they rate; None for usual names,
        "none" for no column.
    classes : list of str, default=None
        The classes of the target, lowest first, where they are text without a usual
        order.
    drop, category, keep : list of str, default=()
        Columns to leave out, to treat as text without an order, and to keep though they
        would be left out.
    rankers : list of str, default=None
        The names of those that take part; None for all. Baselines always do.
    metric : str, default=None
        What decides, such as "ndcg@5"; None for the usual metric of the task.
    folds : int, default=5
        Each is left out once.
    rows : int, default=None
        The most rows (of ratings, people) to compare on; more are sampled.
    seed : int, default=0
        Decides the folds and all that is random in rankers.
    progress : callable, default=None
        Called with (steps done, steps in all, what comes next).

    Returns
    -------
    leaderboard : Leaderboard
        All rankers, the best first; `best_` is the best of those that can be kept,
        fitted to all rows.

    Notes
    -----
    Time is that of `folds` fits of every ranker, each with up to three settings on
    three inner folds: seconds for a hundred rows, minutes for thousands.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas
    >>> import peckorder
    >>> rng = np.random.default_rng(0)
    >>> size = rng.normal(size=60)
    >>> table = {"size": size, "noise": rng.normal(size=60), "price": 100 + 7 * size}
    >>> board = peckorder.compare(table, rankers=["MPRank", "SVRank"], folds=2)
    >>> board.task, len(board.names)
    ('magnitude', 3)
    >>> board.best_.predict(pandas.DataFrame({"size": [0.0], "noise": [0.0]})).round().tolist()
    [100.0]
    """
    # One name is a list of one, as on the command line.
    rankers, classes = _listed(rankers), _listed(classes)
    drop, category, keep = (_listed(names) or () for names in (drop, category, keep))
    case = make_case(
        _columns_of(data),
        {"target": target, "qid": qid, "user": user, "item": item},
        task=task,
        classes=classes,
        drop=drop,
        category=category,
        keep=keep,
        metric=metric,
        rows=rows,
        seed=seed,
    )
    contest = run_contest(case, n_splits=folds, seed=seed, only=rankers, on_progress=progress)
    return Leaderboard(case, contest)


def _listed(names: Iterable[str] | None) -> Iterable[str] | None:
    return [names] if isinstance(names, str) else names


def make_case(
    columns: Columns,
    roles: Mapping[str, str | None],
    *,
    task: str | None,
    classes: Iterable[str] | None,
    drop: Iterable[str],
    category: Iterable[str],
    keep: Iterable[str],
    metric: str | None,
    rows: int | None,
    seed: int,
) -> TableCase | RatingsCase:
    """Recognise the task of a table, and prepare what candidates are compared on."""
    found = recognise(columns, task=task, drop=drop, classes=classes, **roles)
    if found.kind == "ratings":
        most_people = rows or MOST_PEOPLE
        return make_ratings_case(columns, found, metric=metric, most_people=most_people, seed=seed)
    most_rows = rows or MOST_ROWS
    options: dict[str, Any] = {"metric": metric, "most_rows": most_rows, "seed": seed}
    return make_table_case(columns, found, category=category, keep=keep, **options)


def _columns_of(data: Any) -> Columns:
    """Return a frame, arrays by name or a file as columns, as if read from a file."""
    try:
        from peckorder.tables.files.arrow import columns_of
        from peckorder.tables.files.read import read_columns
    except ImportError:
        raise refusal(
            "pyarrow",
            'be installed for this; pip install "peckorder[frames]" brings it',
            error=MissingExtraError,
        ) from None
    return read_columns(data) if isinstance(data, str | os.PathLike) else columns_of(data)
