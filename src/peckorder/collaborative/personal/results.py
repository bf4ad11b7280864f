"""Results of a personal ranker: ranked lists and explanations."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from peckorder._core.shown_tables import Lines, ShownAsTable
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


@dataclass(frozen=True, eq=False, repr=False)
class Recommendations(ShownAsTable):
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

    def _lines(self) -> Lines:
        shown = self.scores if self.scale is None else np.clip(self.scores, *self.scale)
        rows = zip(self.items.tolist(), shown, self.gaps, self.above_cut, strict=True)
        return [
            ("item", "score", "gap", "above cut"),
            *(
                (str(item), f"{score:.2f}", f"{gap:.2f}", "yes" if above else "no")
                for item, score, gap, above in rows
            ),
        ]

    def _remarks(self) -> list[str]:
        return ["not personal: too little is known of the person"] * (not self.is_personal)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(ShownAsTable):
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

    def _lines(self) -> Lines:
        def term(what: str, value: float) -> tuple[str, str]:
            return what, f"{value:+.3f}"

        lines = [
            ("predicted rating", f"{self.score:.2f}"),
            ("the item's mean", f"{self.item_mean:.2f}"),
            term("the person's level", self.person),
        ]
        for what, ids, terms in (
            ("by rated item", self.items, self.by_items),
            ("by viewer", self.viewers, self.by_viewers),
        ):
            few = zip(ids.tolist()[:_SHOWN], terms.tolist(), strict=False)
            lines += [term(f"{what} {i}", value) for i, value in few]
            if len(ids) > _SHOWN:
                rest = float(terms[_SHOWN:].sum())
                lines.append(term(f"{len(ids) - _SHOWN:,} more", rest))
        return [*lines, term("by factors of all people", self.by_factors)]

    def _remarks(self) -> list[str]:
        return ["Rated items add as much as viewers and factors do: two views of one sum."]
