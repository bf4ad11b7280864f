"""Results of a personal ranker: ranked lists and explanations."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from peckorder._core.typing import Bools, Floats, Frame, Labels
from peckorder.metrics import to_frame

# The number of items, and of viewers, that an explanation prints.
_SHOWN = 10


class Recommended(NamedTuple):
    """One row of a ranked list."""

    item: Hashable
    score: float
    gap: float
    above_cut: bool


@dataclass(frozen=True, eq=False)
class Recommendations:
    """A ranked list for one person, best first; iterates over its rows.

    Attributes
    ----------
    items : ndarray of shape (n,)
        The ids.
    scores : ndarray of shape (n,)
        The predicted ratings, by which items are ordered: some may be outside the
        range of ratings. Printed they are clipped to it.
    gaps : ndarray of shape (n,)
        The difference from the next of all candidates; NaN for the last.
    above_cut : ndarray of bool of shape (n,)
        Whether an item is above the largest gap of the list.
    is_personal : bool
        False if too little is known of the person: the list has the items that are
        rated best by all people.
    scale : tuple of two floats or None
        The range of the ratings given to `fit`.

    Examples
    --------
    >>> from peckorder import Ratings
    >>> from peckorder.collaborative import PersonalRanker
    >>> ratings = Ratings(list("aabbbcc"), [1, 2, 1, 2, 3, 2, 3], [5, 1, 4, 2, 5, 1, 4])
    >>> best = PersonalRanker(n_factors=1, random_state=0).fit(ratings).recommend("a")
    >>> best.items, [row.item for row in best], len(best)
    (array([3]), [3], 1)
    """

    items: Labels
    scores: Floats
    gaps: Floats
    above_cut: Bools
    is_personal: bool = True
    scale: tuple[float, float] | None = None

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Recommended]:
        return map(Recommended, *self._columns().values())

    def to_pandas(self) -> Frame:
        """Return the list as a pandas frame: item, score, gap and above_cut."""
        return to_frame("pandas", self._columns())

    def to_polars(self) -> Frame:
        """Return the list as a polars frame: item, score, gap and above_cut."""
        return to_frame("polars", self._columns())

    def _columns(self) -> dict[str, list[object]]:
        return {
            "item": self.items.tolist(),
            "score": self.scores.tolist(),
            "gap": self.gaps.tolist(),
            "above_cut": self.above_cut.tolist(),
        }

    def __str__(self) -> str:
        names = [str(item) for item in self.items.tolist()]
        width = max([4, *map(len, names)])
        lines = [f"{'item':<{width}}  score    gap  above cut"]
        shown = self.scores if self.scale is None else np.clip(self.scores, *self.scale)
        for name, score, gap, above in zip(names, shown, self.gaps, self.above_cut, strict=True):
            mark = "yes" if above else "no"
            lines.append(f"{name:<{width}}  {score:5.2f}  {gap:5.2f}  {mark}")
        if not self.is_personal:
            lines.append("not personal: too little is known of the person")
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Explanation:
    """The terms of a predicted rating, as three equivalent sums.

    ``score = item_mean + person + by_items.sum()``, and
    ``by_items.sum() = by_factors + by_viewers.sum()`` up to rounding.

    Attributes
    ----------
    score : float
        The predicted rating.
    item_mean : float
        The expected rating of an average person.
    person : float
        The difference between the person's level of ratings and that of others.
    items : ndarray
        The ids of the rated items: those that favour the item, then those against it,
        largest contributions first.
    by_items : ndarray
        The contribution of each.
    viewers : ndarray
        The ids of other viewers who rated the item and another one that the person
        rated, in the same order.
    by_viewers : ndarray
        The contribution of each: by similar ratings, and by rating the same items.
    by_factors : float
        The contribution of the factors learnt from all people.

    Examples
    --------
    >>> from peckorder import Ratings
    >>> from peckorder.collaborative import PersonalRanker
    >>> ratings = Ratings(list("aabbbcc"), [1, 2, 1, 2, 3, 2, 3], [5, 1, 4, 2, 5, 1, 4])
    >>> model = PersonalRanker(n_factors=1, random_state=0).fit(ratings)
    >>> sorted(model.explain("a", 3).viewers.tolist())
    ['b', 'c']
    """

    score: float
    item_mean: float
    person: float
    items: Labels
    by_items: Floats
    viewers: Labels
    by_viewers: Floats
    by_factors: float

    def __repr__(self) -> str:
        lines = [
            f"Explanation(score={self.score:.2f}, item_mean={self.item_mean:.2f}, "
            f"person={self.person:+.2f}, by_factors={self.by_factors:+.3f})"
        ]
        for name, ids, terms in (
            ("items", self.items, self.by_items),
            ("viewers", self.viewers, self.by_viewers),
        ):
            few = ids.tolist()[:_SHOWN]
            lines.append(f"{name}, {len(few)} of {len(ids)}:")
            lines += [f"  {t:+.3f}  {i}" for i, t in zip(few, terms, strict=False)]
        return "\n".join(lines)
