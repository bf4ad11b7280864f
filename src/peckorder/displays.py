"""Pictures of rankings, in the way of scikit-learn's displays. Needs matplotlib."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from peckorder._typing import Floats, Ints
from peckorder.exceptions import MissingExtraError
from peckorder.metrics import evaluate, time_averaged_rank_loss

__all__ = ["OnlineCurveDisplay", "RankingCurveDisplay"]

_CUTOFFS = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass
class RankingCurveDisplay:
    """A metric against the cut-off: how good the first k rows are, for several k.

    Make it with `from_predictions`; `plot` draws it again, on other axes.

    Parameters
    ----------
    cutoffs : ndarray of shape (n_cutoffs,)
        The values of k.
    mean, low, high : ndarray of shape (n_cutoffs,)
        Means over queries and their 95 % bootstrap intervals.
    metric : str
        The name of the metric.
    name : str or None, default=None
        The name of the ranking, for the legend.

    Examples
    --------
    >>> from peckorder.displays import RankingCurveDisplay
    >>> y, score, qid = [1, 0, 1, 0], [4, 3, 1, 2], [1, 1, 2, 2]
    >>> display = RankingCurveDisplay.from_predictions(
    ...     y, score, qid=qid, metric="p", cutoffs=[1, 2], draw=False
    ... )
    >>> display.mean
    array([0.5, 0.5])
    """

    cutoffs: Ints
    mean: Floats
    low: Floats
    high: Floats
    metric: str
    name: str | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        qid: Any = None,
        metric: str = "ndcg",
        cutoffs: Sequence[int] = _CUTOFFS,
        name: str | None = None,
        ax: Any = None,
        draw: bool = True,
        **line: Any,
    ) -> Self:
        """Measure a ranking at several cut-offs, and draw the curve.

        Parameters
        ----------
        y_true, y_score, qid
            As in `peckorder.metrics.disagreement`.
        metric : str, default="ndcg"
            One that takes a cut-off: "ndcg", "p", "recall", "hits".
        cutoffs : sequence of int
            The values of k.
        name : str or None, default=None
            A name for the legend.
        ax : matplotlib axes, default=None
            Where to draw; None for new axes.
        draw : bool, default=True
            Whether to draw at all.
        **line
            Options of matplotlib's `plot`.

        Returns
        -------
        display : RankingCurveDisplay
            With the figures and, once drawn, `ax_`, `figure_` and `line_`.
        """
        names = [f"{metric}@{k}" for k in cutoffs]
        table = evaluate(y_true, y_score, names, qid=qid)
        low, high = np.array([table.intervals[n] for n in names]).T
        mean = np.array([table[n] for n in names])
        display = cls(np.array(cutoffs), mean, low, high, metric, name)
        return display.plot(ax, **line) if draw else display

    def plot(self, ax: Any = None, **line: Any) -> Self:
        """Draw the curve and its interval.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None for new axes.
        **line
            Options of matplotlib's `plot`.

        Returns
        -------
        self
            With `ax_`, `figure_` and `line_`.
        """
        self.ax_ = _axes(ax)
        self.figure_ = self.ax_.figure
        band = self.low, self.high
        self.line_ = _draw(self.ax_, self.cutoffs, self.mean, band, self.name, line)
        self.ax_.set(xlabel="first k rows", ylabel=self.metric)
        return self


@dataclass
class OnlineCurveDisplay:
    """The mean loss of the first t predictions, for every t: a learning curve.

    Parameters
    ----------
    rounds : ndarray of shape (n_rounds,)
        1, 2, ...
    loss : ndarray of shape (n_rounds,)
        The time-averaged rank loss.
    name : str or None, default=None
        The name of the learner, for the legend.

    Examples
    --------
    >>> from peckorder.displays import OnlineCurveDisplay
    >>> OnlineCurveDisplay.from_predictions([1, 2, 3], [1, 1, 3], draw=False).loss
    array([0.        , 0.5       , 0.33333333])
    """

    rounds: Ints
    loss: Floats
    name: str | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        draw: bool = True,
        **line: Any,
    ) -> Self:
        """Average the losses of predictions made one by one, and draw the curve.

        Parameters
        ----------
        y_true, y_pred, classes
            As in `peckorder.metrics.time_averaged_rank_loss`; predictions are those of
            `progressive`.
        name : str or None, default=None
            A name for the legend.
        ax : matplotlib axes, default=None
            Where to draw; None for new axes.
        draw : bool, default=True
            Whether to draw at all.
        **line
            Options of matplotlib's `plot`.

        Returns
        -------
        display : OnlineCurveDisplay
            With the figures and, once drawn, `ax_`, `figure_` and `line_`.
        """
        loss = time_averaged_rank_loss(y_true, y_pred, classes=classes)
        display = cls(np.arange(1, len(loss) + 1), loss, name)
        return display.plot(ax, **line) if draw else display

    def plot(self, ax: Any = None, **line: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None for new axes.
        **line
            Options of matplotlib's `plot`.

        Returns
        -------
        self
            With `ax_`, `figure_` and `line_`.
        """
        self.ax_ = _axes(ax)
        self.figure_ = self.ax_.figure
        self.line_ = _draw(self.ax_, self.rounds, self.loss, None, self.name, line)
        self.ax_.set(xlabel="rows seen", ylabel="time-averaged rank loss")
        return self


def _axes(ax: Any) -> Any:
    """Return axes to draw on."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError(
            "displays: matplotlib must be installed to draw; got none. Type "
            "pip install 'peckorder[plot]'."
        ) from None
    return pyplot.subplots()[1] if ax is None else ax


def _draw(
    ax: Any, x: Any, y: Any, band: tuple[Any, Any] | None, name: str | None, line: Any
) -> Any:
    (drawn,) = ax.plot(x, y, **{"label": name, **line})
    if band is not None:
        ax.fill_between(x, *band, color=drawn.get_color(), alpha=0.2, linewidth=0)
    ax.set_xscale("log")
    if name is not None:
        ax.legend()
    return drawn
