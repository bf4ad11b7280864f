"""Ids of users and items, and their positions."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import refusal
from peckorder._core.typing import Ints, Labels
from peckorder._core.validation import did_you_mean
from peckorder.feedback._labels_and_queries import Queries, read_only

# Similar names are searched among this many ids.
_MAX_SEARCHED = 20_000


@dataclass(frozen=True, eq=False)
class Ids:
    """Distinct ids of one kind, with a position each.

    values (n,) are ascending if they can be compared, so that the order of rows does
    not matter; else they are in the order of their first rows.
    """

    name: str
    values: Labels

    @classmethod
    def from_column(
        cls, name: str, column: ArrayLike | None, n_rows: int | None = None
    ) -> tuple[Ints, Self]:
        """Return the position of the id of each row, and the ids."""
        if column is None:
            raise refusal(name, "be one id per row", "None")
        groups = Queries.of(column, n_rows, name=name)
        return cls.from_codes(name, groups.of_rows(), groups.ids)

    @classmethod
    def from_codes(cls, name: str, codes: Ints, values: Labels) -> tuple[Ints, Self]:
        """Return the same for rows given as positions in `values`, in any order."""
        order = _ascending(values)
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        return position[codes], cls(name, read_only(values[order]))

    def __len__(self) -> int:
        return len(self.values)

    def subset(self, positions: Ints) -> Self:
        """Return the ids at these positions, in this order."""
        return type(self)(self.name, read_only(self.values[positions]))

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {value: i for i, value in enumerate(id_list(self.values))}

    def position(self, value: Any, name: str | None = None) -> int:
        """Return the position of an id; raise, with its name, if it is unknown."""
        try:
            position = self._positions.get(value)
        except TypeError:  # not hashable
            position = None
        if position is None:
            raise refusal(
                name or self.name,
                f"be one of the {len(self):,} that are known",
                repr(value),
                hint=self.hint(value),
            )
        return position

    def positions(self, values: object, name: str | None = None) -> Ints:
        """Return the positions of distinct ids; `name` is what messages call them."""
        element = None if name is None else f"each of {name}"
        name = name or f"{self.name}s"
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise refusal(name, "be a list of ids", repr(values))
        ids = id_list(values) if isinstance(values, np.ndarray) else list(values)
        positions = np.array([self.position(i, element) for i in ids], np.int64)
        order = np.argsort(positions, kind="stable")
        again = order[1:][positions[order[1:]] == positions[order[:-1]]]
        if len(again):
            value = ids[int(again.min())]
            raise refusal(name, "be distinct", f"{value!r} again")
        return positions

    def hint(self, value: object) -> str:
        """Return a suggestion for an unknown id, such as a number for a text."""
        text = str(value)
        for other in self._positions:
            if str(other) == text:
                return f" Did you mean {other!r}?"
        words = {
            word.lower(): word
            for word in islice(self._positions, _MAX_SEARCHED)
            if isinstance(word, str)
        }
        same = words.get(value.lower()) if isinstance(value, str) else None
        return f" Did you mean {same!r}?" if same else did_you_mean(value, words, {})


def id_list(values: Labels) -> list[Hashable]:
    """Return ids as Python objects; dates stay NumPy's, which keep their unit."""
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def _ascending(values: Labels) -> Ints:
    if values.dtype.kind not in "OT":
        return np.argsort(values, kind="stable")
    ids = values.tolist()
    try:
        return np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
    except TypeError:
        return np.arange(len(ids))
