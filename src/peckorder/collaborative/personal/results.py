"""What a personal ranker answers: a list with a cut, and reasons."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peckorder._core.typing import Floats, Labels
from peckorder.metrics import to_frame

# How many items, and viewers, an explanation shows of itself.
_SHOWN = 10


class Recommended(NamedTuple):
    """One row of a ranked list."""

    item: Any
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
        The predicted ratings.
    gaps : ndarray of shape (n,)
        By how much each exceeds the next of all candidates; NaN if there is none.
    above_cut : ndarray of bool of shape (n,)
        Whether it stands above the largest gap of the list.

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
    above_cut: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Recommended]:
        return map(Recommended, *self._columns().values())

    def to_pandas(self) -> Any:
        """Return the list as a pandas frame: item, score, gap and above_cut."""
        return to_frame("pandas", self._columns())

    def to_polars(self) -> Any:
        """Return the list as a polars frame: item, score, gap and above_cut."""
        return to_frame("polars", self._columns())

    def _columns(self) -> dict[str, list[Any]]:
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
        for name, score, gap, above in zip(
            names, self.scores, self.gaps, self.above_cut, strict=True
        ):
            mark = "yes" if above else "no"
            lines.append(f"{name:<{width}}  {score:5.2f}  {gap:5.2f}  {mark}")
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Explanation:
    """Where a predicted rating comes from: three sums that say the same.

    ``score = item_mean + person + by_items.sum()``, and
    ``by_items.sum() = by_factors + by_viewers.sum()`` up to rounding.

    Attributes
    ----------
    score : float
        The predicted rating.
    item_mean : float
        What everybody would be expected to give.
    person : float
        How much higher the person rates than others.
    items : ndarray
        The ids of what the person rated, those that count most first.
    by_items : ndarray
        What each of them adds.
    viewers : ndarray
        The ids of other viewers who rated the item and something that the person rated,
        those that count most first.
    by_viewers : ndarray
        What each of them adds: by ratings alike, and by having rated the same.
    by_factors : float
        What the factors learnt from everybody add.

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
        for name, ids, parts in (
            ("items", self.items, self.by_items),
            ("viewers", self.viewers, self.by_viewers),
        ):
            few = ids.tolist()[:_SHOWN]
            lines.append(f"{name}, {len(few)} of {len(ids)}:")
            lines += [f"  {p:+.3f}  {i}" for i, p in zip(few, parts, strict=False)]
        return "\n".join(lines)
