"""What a report is made of: plain values, checked when they are built."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats, Ints

Cell: TypeAlias = str | float | int


def _check_limits(low: object, high: object) -> None:
    if (low is None) != (high is None):
        given = "low" if high is None else "high"
        raise refusal("low and high", "be given together", f"{given} alone", error=ValueError)


# Arrays do not compare to one truth value, so a curve equals itself only.
@entry
@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A line, with a band around it if its limits are given.

    Parameters
    ----------
    label : str
        What the line is called in the chart.
    x, y : ndarray of shape (n_points,)
        Where the line runs: `x` finite and never falling; a NaN in `y` is a gap.
    low, high : ndarray of shape (n_points,) or None, default=None
        Limits of the band; both or neither.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.reports import Curve
    >>> Curve("PRank", np.arange(1, 4), np.array([1.5, 0.9, 0.6])).x
    array([1., 2., 3.])
    """

    label: str
    x: Floats | Ints
    y: Floats | Ints
    low: Floats | Ints | None = None
    high: Floats | Ints | None = None

    def __post_init__(self) -> None:
        _check_limits(self.low, self.high)
        for name in ("x", "y", "low", "high"):
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, np.asarray(values, dtype=float))
        if self.x.ndim != 1 or self.x.size == 0:
            raise refusal(
                "x",
                "be a one-dimensional array of at least one point",
                f"shape {self.x.shape}",
                error=ValueError,
            )
        for name in ("y", "low", "high"):
            values = getattr(self, name)
            if values is not None and values.shape != self.x.shape:
                raise refusal(
                    name, f"be of the shape of x, {self.x.shape}", values.shape, error=ValueError
                )
        if not np.isfinite(self.x).all() or (np.diff(self.x) < 0).any():
            raise refusal(
                "x",
                "be finite and never falling",
                f"{self.x.tolist()[:5]!r} and so on",
                error=ValueError,
            )


@entry
@dataclass(frozen=True, slots=True)
class Chart:
    """Some curves over one pair of axes.

    Parameters
    ----------
    title : str
        Heading above the chart.
    x_label, y_label : str
        Names of the axes.
    curves : tuple of Curve
        At least one.
    caption : str, default=""
        Text below the chart.
    reference : tuple of (str, float) or None, default=None
        A label, and the height of the dashed horizontal line that it names.
    log_x : bool, default=False
        Space `x` by its logarithm, which takes positive values only.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.reports import Chart, Curve
    >>> line = Curve("PRank", np.arange(1, 4), np.array([1.5, 0.9, 0.6]))
    >>> Chart("Loss", "round", "mean loss", (line,), reference=("best", 0.4)).log_x
    False
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    caption: str = ""
    reference: tuple[str, float] | None = None
    log_x: bool = False

    def __post_init__(self) -> None:
        if not self.curves:
            raise refusal("curves", "be at least one curve", repr(self.curves), error=ValueError)
        smallest = min(float(curve.x[0]) for curve in self.curves)
        if self.log_x and smallest <= 0:
            raise refusal("x", "be > 0 in every curve when log_x=True", smallest, error=ValueError)


@entry
@dataclass(frozen=True, slots=True)
class Dot:
    """A value with a name, and the limits of its interval if they are given.

    Parameters
    ----------
    label : str
        Its name.
    value : float
        Where the dot stands.
    low, high : float or None, default=None
        Where a line through it begins and ends; both or neither.

    Examples
    --------
    >>> from peckorder.reports import Dot
    >>> Dot("PRank", 0.4, 0.3, 0.5).value
    0.4
    """

    label: str
    value: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        _check_limits(self.low, self.high)


@entry
@dataclass(frozen=True, slots=True)
class Dots:
    """Named values below each other over one axis, the first on top.

    Parameters
    ----------
    title : str
        Heading above the chart.
    x_label : str
        Name of the axis.
    dots : tuple of Dot
        At least one.
    caption : str, default=""
        Text below the chart.
    reference : tuple of (str, float) or None, default=None
        A label, and the place of the dashed vertical line that it names.

    Examples
    --------
    >>> from peckorder.reports import Dot, Dots
    >>> len(Dots("Loss", "mean loss", (Dot("PRank", 0.4), Dot("other", 0.6))).dots)
    2
    """

    title: str
    x_label: str
    dots: tuple[Dot, ...]
    caption: str = ""
    reference: tuple[str, float] | None = None

    def __post_init__(self) -> None:
        if not self.dots:
            raise refusal("dots", "be at least one", repr(self.dots), error=ValueError)


@entry
@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text and numbers, names first.

    Numbers of a column share their decimals: as many as give its largest
    value four figures. Text is shown as it is.

    Parameters
    ----------
    columns : tuple of str
        Headings.
    rows : tuple of tuple of str, float or int
        Cells, each row as long as `columns`.
    caption : str, default=""
        Text above the table.

    Examples
    --------
    >>> from peckorder.reports import Table
    >>> table = Table(("method", "loss"), (("PRank", 0.41), ("Widrow-Hoff", 0.63)))
    >>> len(table.rows)
    2
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        n_columns = len(self.columns)
        for place, row in enumerate(self.rows):
            if len(row) != n_columns:
                raise refusal(
                    "rows",
                    f"be of {n_columns} cells, one per column",
                    f"{len(row)} in row {place}",
                    error=ValueError,
                )


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, then paragraphs, then tables, then charts, then commands.

    Parameters
    ----------
    title : str
        The heading.
    paragraphs : tuple of str, default=()
        Plain text; markup in it is shown, not obeyed.
    tables : tuple of Table, default=()
        Shown after the paragraphs.
    charts : tuple of Chart or Dots, default=()
        Shown after the tables.
    commands : tuple of (str, str), default=()
        What each is for, and a shell command; shown last.

    Examples
    --------
    >>> from peckorder.reports import Section
    >>> Section("Findings", ("PRank wins.",)).charts
    ()
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart | Dots, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A whole page.

    Parameters
    ----------
    title : str
        Heading of the page.
    lead : str
        The one paragraph to read if no other is read.
    sections : tuple of Section
        The body.
    command : str
        Shell command that repeats the run.
    facts : tuple of (str, str)
        Names and values that a repeat depends on, such as versions and the seed.

    Examples
    --------
    >>> from peckorder.reports import Report
    >>> Report("Trial", "PRank wins.", (), "peckorder compare", (("seed", "7"),)).title
    'Trial'
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    command: str
    facts: tuple[tuple[str, str], ...]
