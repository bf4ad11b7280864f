"""Curves of rankings: a metric by its cut-off, the loss of on-line learning."""

from collections.abc import Iterable
from dataclasses import dataclass
from reprlib import repr as repr_
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from peckorder._core.errors import entry, refusal, warn
from peckorder._core.typing import Floats, Ints, MatrixLike, Predictor, VectorLike
from peckorder._core.validation import did_you_mean, whole
from peckorder.displays._base import Axes, Display, check_drawing
from peckorder.metrics import METRICS, evaluate, metric_by_name, time_averaged_rank_loss

_CUTOFFS = (1, 2, 3, 5, 10, 20, 50, 100)


@entry
@dataclass(eq=False)
class RankingCurveDisplay(Display):
    """A metric against the cut-off: how good the first k rows are, for several k.

    Make it with `from_estimator` or `from_predictions`; `plot` draws it again, on other
    axes.

    Parameters
    ----------
    cutoffs : ndarray of shape (n_cutoffs,)
        The values of k, ascending.
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
    def from_estimator(
        cls,
        estimator: Predictor,
        X: MatrixLike,
        y: ArrayLike,
        *,
        qid: VectorLike | None = None,
        offset: ArrayLike | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Measure the ranking of a fitted model at several cut-offs, and draw the curve.

        Parameters
        ----------
        estimator : estimator
            A fitted ranker, or a pipeline that ends in one.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows to be ranked by what the estimator predicts.
        y : array-like of shape (n_samples,)
            How good they are.
        qid : array-like of shape (n_samples,), default=None
            The query of each row; None for one query of all rows.
        offset : array-like of shape (n_samples,), default=None
            Known scores, for rankers that take them.
        name : str or None, default=None
            A name for the legend; None for that of the estimator's class.
        **options
            As in `from_predictions`: `metric`, `cutoffs`, `ties`, `docid`, `ax`, `draw`,
            and options of matplotlib's `plot`.

        Returns
        -------
        display : RankingCurveDisplay
            As `from_predictions` returns it.

        Examples
        --------
        >>> from peckorder import MPRank
        >>> from peckorder.displays import RankingCurveDisplay
        >>> X, y, qid = [[0], [1], [2], [3]], [0, 1, 1, 0], [1, 1, 2, 2]
        >>> model = MPRank().fit(X, y, qid=qid)
        >>> display = RankingCurveDisplay.from_estimator(
        ...     model, X, y, qid=qid, metric="p", cutoffs=[1, 2], draw=False
        ... )
        >>> display.name, display.mean.tolist()
        ('MPRank', [0.5, 0.5])
        """
        if isinstance(estimator, type) or not hasattr(estimator, "predict"):
            raise refusal(
                "estimator", "be a model that can predict", repr_(estimator), error=TypeError
            )
        scores = estimator.predict(X, **({} if offset is None else {"offset": offset}))
        if name is None:
            name = type(estimator).__name__
        return cls.from_predictions(y, scores, qid=qid, name=name, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        qid: VectorLike | None = None,
        metric: str = "ndcg",
        cutoffs: Iterable[int] = _CUTOFFS,
        ties: str = "expected",
        docid: VectorLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        draw: bool = True,
        **line: Any,
    ) -> Self:
        """Measure a ranking at several cut-offs, and draw the curve.

        Parameters
        ----------
        y_true, y_score, qid, ties, docid
            As in `peckorder.metrics.disagreement`.
        metric : str, default="ndcg"
            One that has a cut-off: "ndcg", "p", "recall", "hits", "rr", "rank". What is
            good, or the gain, may follow in brackets: "p(2)", "ndcg(exponential)".
        cutoffs : iterable of int
            The values of k, in any order.
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
            With the figures and, once drawn, `ax_`, `figure_` and `line_`. Rows are
            sorted once, in O(n log n) time; each cut-off takes O(n) more.
        """
        check_drawing(name, ax, line, draw)
        at = _cutoffs(cutoffs)
        names = _names(metric, at)
        table = evaluate(y_true, y_score, names, qid=qid, ties=ties, docid=docid)
        mean = np.array(list(table.means.values()))
        low, high = np.array(list(table.intervals.values())).T
        if np.isnan(mean).all():
            warn(
                f"{metric!r} is undefined for every query, so that there is no curve.",
                UndefinedMetricWarning,
            )
        display = cls(np.array(at), mean, low, high, metric, name)
        return display.plot(ax, **line) if draw else display

    def _draw(self, line: dict[str, object]) -> None:
        # A curve of one cut-off is a point.
        (self.line_,) = self.ax_.plot(self.cutoffs, self.mean, **{"marker": "."} | line)
        color = self.line_.get_color()
        self.ax_.fill_between(
            self.cutoffs, self.low, self.high, color=color, alpha=0.2, linewidth=0
        )
        self.ax_.set(xlabel="first k rows", ylabel=self.metric)


@entry
@dataclass(eq=False)
class OnlineCurveDisplay(Display):
    """The mean loss of the first t predictions, for every t: a learning curve.

    ``L_t = (1/t) sum_{s <= t} |yhat_s - y_s|`` against t. Make it with
    `from_predictions`; `plot` draws it again, on other axes.

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
        ax: Axes | None = None,
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
            With the figures and, once drawn, `ax_`, `figure_` and `line_`. O(n) time.
        """
        check_drawing(name, ax, line, draw)
        loss = time_averaged_rank_loss(y_true, y_pred, classes=classes)
        display = cls(np.arange(1, len(loss) + 1), loss, name)
        return display.plot(ax, **line) if draw else display

    def _draw(self, line: dict[str, object]) -> None:
        (self.line_,) = self.ax_.plot(self.rounds, self.loss, **line)
        self.ax_.set(xlabel="rows seen", ylabel="time-averaged rank loss")


def _cutoffs(given: Iterable[int]) -> list[int]:
    """Return the cut-offs in ascending order, each once."""
    try:
        listed = list(given)
    except TypeError:
        listed = []
    # Beyond 2**53 positions in a picture are no longer distinct.
    if not listed or not all(whole(1).accepts(k) and k <= 2**53 for k in listed):
        raise refusal(
            "cutoffs", "be integers from 1 to 2**53, one at least", repr_(given), error=ValueError
        )
    return sorted({int(k) for k in listed})


def _names(metric: str, cutoffs: list[int]) -> list[str]:
    """Return the names of a metric at its cut-offs: "p(2)" as "p@1(2)", "p@5(2)"."""
    word, bracket, rest = str(metric).partition("(")
    names = [f"{word}@{k}{bracket}{rest}" for k in cutoffs]
    try:
        metric_by_name(names[0] if isinstance(metric, str) else metric)
    except ValueError:
        words = [word for word, kind in METRICS.items() if kind.cutoff]
        if "@" in word:
            hint = " Give cut-offs as cutoffs=[...]."
        else:
            hint = "" if word in METRICS else did_you_mean(word, words, {})
        raise refusal(
            "metric",
            f"be one that has a cut-off ({', '.join(map(repr, words))}), with "
            "what is good or the gain in brackets if need be ('p(2)', "
            "'ndcg(exponential)')",
            repr(metric),
            hint=hint,
            error=ValueError,
        ) from None
    return names
