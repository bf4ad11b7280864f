"""Pictures of rules: what a row does to PRank, and the space of rules of an ensemble."""

from copy import deepcopy
from dataclasses import dataclass
from reprlib import repr as repr_
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Bools, Floats, Ints, Labels, VectorLike
from peckorder._core.validation import numbers, whole
from peckorder.displays._base import Axes, Display, check_drawing
from peckorder.feedback import read_labels
from peckorder.ordinal.aggregate_prank import AggregatePRank
from peckorder.ordinal.prank import PRank


@entry
@dataclass(eq=False)
class PRankUpdateDisplay(Display):
    """What a row does to PRank: its score and the thresholds, before and after.

    The line of scores is cut into an interval per class by the thresholds, and that of
    the row's class is shaded. A misplaced row moves its score, and the thresholds that
    are on its wrong side, towards each other, by one each with the published update.
    Make it with `from_estimator`.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The classes, lowest first.
    level : int
        The position of the row's class among them.
    score, new_score : float
        The score of the row before it is learnt, and after.
    thresholds, new_thresholds : ndarray of shape (n_classes - 1,)
        The thresholds before the row is learnt, and after.
    name : str or None, default=None
        A name for the legend.

    Examples
    --------
    >>> from peckorder import PRank
    >>> from peckorder.displays import PRankUpdateDisplay
    >>> model = PRank(rule="last", unit_norm=False, classes=[1, 2, 3])
    >>> model = model.fit([[1.0], [2.0]], [1, 3])
    >>> display = PRankUpdateDisplay.from_estimator(model, [0.5], 2, draw=False)
    >>> display.thresholds.tolist(), display.score
    ([0.0, 0.0], 1.0)
    >>> display.new_thresholds.tolist(), display.new_score
    ([0.0, 1.0], -0.25)
    """

    _xscale: ClassVar[str] = "linear"
    classes: Labels
    level: int
    score: float
    new_score: float
    thresholds: Floats
    new_thresholds: Floats
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: PRank,
        x: ArrayLike,
        y: object,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        draw: bool = True,
        **line: Any,
    ) -> Self:
        """Let a copy of a model learn a row, and draw what that does.

        Parameters
        ----------
        estimator : PRank
            A fitted model with ``rule="last"``, of any update, and any kernel that is not
            precomputed. It is left as
            it is.
        x : {array-like, sparse matrix} of shape (n_features,) or (1, n_features)
            A row.
        y : object
            Its class, one of `classes_`.
        name : str or None, default=None
            A name for the legend.
        ax : matplotlib axes, default=None
            Where to draw; None for new axes.
        draw : bool, default=True
            Whether to draw at all.
        **line
            Options of matplotlib's `plot`, for the line from the score before to that
            after.

        Returns
        -------
        display : PRankUpdateDisplay
            With the figures and, once drawn, `ax_`, `figure_` and `line_`.
        """
        check_drawing(name, ax, line, draw)
        _check_model(estimator, PRank)
        if estimator.rule != "last":
            rule = "be of rule='last', the one that a row moves"
            raise refusal("estimator", rule, repr_(estimator), error=ValueError)
        rows: Any = x if getattr(x, "ndim", 1) == 2 else np.atleast_2d(np.asarray(x))
        if rows.shape[0] != 1:
            raise refusal("x", "be one row", f"{rows.shape[0]} rows", error=ValueError)
        (level,) = estimator._scale.levels(read_labels([y]), slice(None))
        after = deepcopy(estimator).partial_fit(rows, [y])
        display = cls(
            estimator.classes_,
            int(level),
            float(estimator.decision_function(rows)[0]),
            float(after.decision_function(rows)[0]),
            estimator.thresholds_,
            after.thresholds_,
            name,
        )
        return display.plot(ax, **line) if draw else display

    def _draw(self, line: dict[str, object]) -> None:
        ax = self.ax_
        ends = np.concatenate([self.thresholds, self.new_thresholds, [self.score, self.new_score]])
        room = 0.25 * (np.ptp(ends) or 1.0)
        low, high = ends.min() - room, ends.max() + room
        for height, thresholds in ((1.0, self.thresholds), (0.0, self.new_thresholds)):
            cuts = np.concatenate([[low], thresholds, [high]])
            ax.plot([low, high], [height, height], color="0.6", zorder=0)
            ax.plot(thresholds, np.full(len(thresholds), height), "k|", markersize=18)
            right = cuts[self.level : self.level + 2]
            ax.fill_between(right, height - 0.12, height + 0.12, color="C2", alpha=0.3)
            for label, a, b in zip(self.classes, cuts, cuts[1:], strict=False):
                if b > a:
                    ax.text((a + b) / 2, height + 0.16, str(label), ha="center")
        for before, after in zip(self.thresholds, self.new_thresholds, strict=True):
            if before != after:
                arrow = {"arrowstyle": "->", "linestyle": "--"}
                ax.annotate("", (after, 0.1), (before, 0.9), arrowprops=arrow)
        options = {"marker": "o", "color": "C3"} | line
        (self.line_,) = ax.plot([self.score, self.new_score], [1.0, 0.0], **options)
        ax.set(xlim=(low, high), ylim=(-0.4, 1.4), xlabel="score")
        ax.set_yticks([1.0, 0.0], ["before", "after"])


@entry
@dataclass(eq=False)
class VersionSpaceDisplay(Display):
    """All rules of one weight and one threshold, how many rows each misplaces.

    A rule (w, b) places a row x above the threshold if ``w x >= b``; only its direction
    counts. Each row cuts the circle of directions in halves, right and wrong: the arc
    that is right of all is the version space [1]_, and its middle the Bayes point. The
    mean of an ensemble's members estimates it. Make it with `from_estimator`.

    Parameters
    ----------
    edges : ndarray of shape (n_arcs + 1,)
        The angles between which rules misplace the same rows, ascending, in radians.
        That of a rule is ``arctan2(b, w)``.
    mistakes : ndarray of shape (n_arcs,)
        How many rows the rules of each arc misplace.
    members : ndarray of shape (n_members, 2)
        Weight and threshold of each member.
    mean : ndarray of shape (2,)
        Their mean.
    name : str or None, default=None
        A name for the legend.

    References
    ----------
    .. [1] R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", JMLR 1,
       2001.

    Examples
    --------
    >>> from peckorder import AggregatePRank
    >>> from peckorder.displays import VersionSpaceDisplay
    >>> X, y = [[1.0], [2.0], [4.0], [5.0]], [1, 1, 2, 2]
    >>> view = {"fit_intercept": False, "unit_norm": False}
    >>> model = AggregatePRank(sampling="permutation", max_iter=20, random_state=0, **view)
    >>> display = VersionSpaceDisplay.from_estimator(model.fit(X, y), X, y, draw=False)
    >>> int(display.mistakes.min())
    0
    >>> low, high = display.version_space[0]
    >>> bool(low < display.angle < high)
    True
    """

    _xscale: ClassVar[str] = "linear"
    edges: Floats
    mistakes: Ints
    members: Floats
    mean: Floats
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: AggregatePRank,
        X: ArrayLike,
        y: VectorLike,
        *,
        threshold: int = 1,
        name: str | None = None,
        ax: Axes | None = None,
        draw: bool = True,
        **line: Any,
    ) -> Self:
        """Count the mistakes of all rules on rows, and draw them with an ensemble's.

        Parameters
        ----------
        estimator : AggregatePRank
            A fitted ensemble of one feature, linear, without budget, constant or unit
            norm.
        X : array-like of shape (n_samples, 1)
            The rows.
        y : array-like of shape (n_samples,)
            Their classes.
        threshold : int, default=1
            Which threshold: the first is above the lowest class.
        name : str or None, default=None
            A name for the legend.
        ax : matplotlib axes, default=None
            Where to draw; None for new axes.
        draw : bool, default=True
            Whether to draw at all.
        **line
            Options of matplotlib's `plot`, for the members.

        Returns
        -------
        display : VersionSpaceDisplay
            With the figures and, once drawn, `ax_`, `figure_` and `line_`. O(n log n)
            time.
        """
        check_drawing(name, ax, line, draw)
        _check_model(estimator, AggregatePRank)
        plain = estimator.fit_intercept or estimator.unit_norm or not hasattr(estimator, "coef_")
        if plain or estimator.n_features_in_ != 1:
            rule = "have one feature and weights, with fit_intercept=False and unit_norm=False"
            raise refusal("estimator", rule, repr_(estimator), error=ValueError)
        most = len(estimator.classes_) - 1
        if not whole(1).accepts(threshold) or threshold > most:
            rule = f"be an integer from 1 to {most}"
            raise refusal("threshold", rule, repr(threshold), error=ValueError)
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != 1:
            got = f"an array of shape {rows.shape}"
            raise refusal("X", "be a column of one feature", got, error=ValueError)
        x, column = numbers("X", rows[:, 0], finite=True), read_labels(y)
        column.check_length(len(x))
        is_above = estimator._scale.levels(column, slice(None)) >= threshold
        edges, mistakes = _arcs(x, is_above)
        r = threshold - 1
        pairs = [estimator.member_coef_[:, 0], estimator.member_thresholds_[:, r]]
        mean = np.array([estimator.coef_[0], estimator.thresholds_[r]])
        display = cls(edges, mistakes, np.column_stack(pairs), mean, name)
        return display.plot(ax, **line) if draw else display

    @property
    def version_space(self) -> Floats:
        """The arcs of the fewest mistakes, from and to, of shape (n_best, 2)."""
        is_best = self.mistakes == self.mistakes.min()
        return np.column_stack([self.edges[:-1][is_best], self.edges[1:][is_best]])

    @property
    def angle(self) -> float:
        """The angle of the mean of the members."""
        return float(_angles(self.mean))

    def _draw(self, line: dict[str, object]) -> None:
        ax, worst = self.ax_, max(int(self.mistakes.max()), 1)
        starts, ends = self.edges[:-1], self.edges[1:]
        shades = [str(0.95 - 0.6 * n_wrong / worst) for n_wrong in self.mistakes]
        _draw_sectors(ax, starts, ends, facecolors=shades)
        _draw_sectors(ax, *self.version_space.T, facecolors="C2", alpha=0.5)
        turns = _angles(self.members)
        options = {"marker": ".", "linestyle": "", "color": "C0"} | line
        (self.line_,) = ax.plot(np.cos(turns), np.sin(turns), **options)
        ax.plot(np.cos(self.angle), np.sin(self.angle), "*", color="C3", markersize=14)
        ax.set(xlabel="weight", ylabel="threshold", aspect="equal")


def _draw_sectors(ax: Axes, starts: Floats, ends: Floats, **how: Any) -> None:
    """Draw sectors of the circle, all at once: there may be thousands."""
    from matplotlib.collections import PolyCollection

    arcs = (np.linspace(a, b, 2 + int((b - a) / 0.02)) for a, b in zip(starts, ends, strict=True))
    sectors = [np.vstack([[0.0, 0.0], np.column_stack([np.cos(t), np.sin(t)])]) for t in arcs]
    ax.add_collection(PolyCollection(sectors, linewidths=0, **how))


def _angles(rules: Floats) -> Floats:
    """Return the angles of rules (..., 2) from -pi on, that of no weight too."""
    return np.arctan2(rules[..., 1], rules[..., 0])


def _arcs(x: Floats, is_above: Bools) -> tuple[Floats, Ints]:
    """Return the angles at which mistakes change, and the mistakes between them."""
    crossings = np.arctan(x)  # where w x = b, w > 0; with w < 0 half a turn away
    opposite = np.where(crossings > 0, crossings - np.pi, crossings + np.pi)
    edges = np.unique(np.concatenate([[-np.pi, np.pi], crossings, opposite]))
    middle = (edges[:-1] + edges[1:]) / 2
    slope, has_weight = np.tan(middle), np.cos(middle) > 0
    above, below = np.sort(x[is_above]), np.sort(x[~is_above])
    # By w > 0 those of x >= b / w are placed above, by w < 0 the others.
    n_lower = np.searchsorted(above, slope) + len(below) - np.searchsorted(below, slope)
    return edges, np.where(has_weight, n_lower, len(x) - n_lower)


def _check_model(estimator: object, kind: type) -> None:
    if not isinstance(estimator, kind):
        rule = f"be a fitted {kind.__name__}"
        raise refusal("estimator", rule, repr_(estimator), error=TypeError)
    check_is_fitted(estimator, "classes_")
