"""Raw ids: who and what, as users of the library call them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np

from peckorder._core.typing import Ints, Labels
from peckorder._core.validation import did_you_mean
from peckorder.exceptions import DataError
from peckorder.feedback._pairs import read_only
from peckorder.feedback._queries import Queries

# Among so many a near miss is looked for, which takes a moment.
_NEAR = 20_000


@dataclass(frozen=True, eq=False)
class Ids:
    """Distinct ids of one kind, and where each stands.

    values (n,) ascend if they can be compared, else come in the order in which they
    were first seen; so the same data in another order of rows are the same.
    """

    name: str
    values: Labels

    @classmethod
    def of(
        cls, who: str, name: str, column: Any, n_rows: int | None = None
    ) -> tuple[Ints, Self]:
        """Return the place of the id of each row, and the ids."""
        if column is None:
            raise DataError(f"{who}: {name} must be one id a row; got None.")
        groups = Queries.of(who, column, n_rows, name=name)
        return cls.coded(name, groups.of_rows(), groups.ids)

    @classmethod
    def coded(cls, name: str, codes: Ints, values: Labels) -> tuple[Ints, Self]:
        """Do the same for rows that are numbered by ids in any order."""
        order = _ascending(values)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return place[codes], cls(name, read_only(values[order]))

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {value: place for place, value in enumerate(id_list(self.values))}

    def place(self, who: str, value: Any, name: str | None = None) -> int:
        """Return where an id stands; refuse one that is not known.

        The refusal calls it by a name, that of all ids without one.
        """
        try:
            known = self._places.get(value)
        except TypeError:  # not hashable
            known = None
        if known is None:
            raise DataError(
                f"{who}: {name or self.name} must be one of the {len(self):,} that are "
                f"known; got {value!r}.{self.hint(value)}"
            )
        return known

    def places(self, who: str, values: Any, name: str | None = None) -> Ints:
        """Return where some ids stand, each of them once; name is what these are."""
        each = None if name is None else f"each of {name}"
        name = name or f"{self.name}s"
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise DataError(f"{who}: {name} must be a list of ids; got {values!r}.")
        asked = id_list(values) if isinstance(values, np.ndarray) else list(values)
        found = np.array([self.place(who, value, each) for value in asked], np.int64)
        order = np.argsort(found, kind="stable")
        again = order[1:][found[order[1:]] == found[order[:-1]]]
        if len(again):
            value = asked[int(again.min())]
            raise DataError(f"{who}: {name} must be distinct; got {value!r} again.")
        return found

    def hint(self, value: Any) -> str:
        """Return a suggestion for an unknown id, such as a number for a text."""
        text = str(value)
        for other in self._places:
            if str(other) == text:
                return f" Did you mean {other!r}?"
        words = {
            word.lower(): word
            for word in islice(self._places, _NEAR)
            if isinstance(word, str)
        }
        same = words.get(value.lower()) if isinstance(value, str) else None
        return f" Did you mean {same!r}?" if same else did_you_mean(value, words, {})


def id_list(values: Labels) -> list[Any]:
    """Return ids as Python has them; dates stay as they are.

    The integers that NumPy makes of dates have lost their unit.
    """
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def _ascending(values: Labels) -> Ints:
    if values.dtype.kind not in "OT":
        return np.argsort(values, kind="stable")
    ids = values.tolist()
    try:
        return np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
    except TypeError:
        return np.arange(len(ids))
