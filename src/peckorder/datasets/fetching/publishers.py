"""Who publishes which data, and whether what was read is the published set."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from peckorder._core.data_files import read_toml
from peckorder._core.errors import warn
from peckorder._core.typing import Floats
from peckorder.feedback import Ratings

Fact: TypeAlias = int | float | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """A data set as its publisher distributes it, from `publishers.toml`."""

    folder: str
    title: str
    loader: str
    get: str
    page: str
    terms: str
    facts: Mapping[str, Any]
    base: str = ""
    archives: Mapping[str, str] = field(default_factory=dict)
    member: str | None = None

    @property
    def fetch(self) -> str | None:
        """The name of the function that downloads the set; None if none does."""
        return self.loader.replace("load", "fetch") if self.archives else None


PUBLISHED = {
    folder: Published(folder, **entry)
    for folder, entry in read_toml("peckorder.datasets.fetching", "publishers.toml").items()
}


def check_facts(title: str, known: Mapping[str, Fact], actual: Mapping[str, Fact]) -> None:
    """Warn if data differ from the published set; a subset may be intended."""
    differ = [name for name in known if known[name] != actual[name]]
    if differ:
        published = ", ".join(f"{_shown(known[name])} {name}" for name in differ)
        here = ", ".join(f"{_shown(actual[name])} {name}" for name in differ)
        warn(f"{title} must have {published} to be the published set; got {here}.")


def ratings_facts(ratings: Ratings, items: str) -> dict[str, Fact]:
    """Return the counts of ratings, users and items."""
    return {"ratings": len(ratings), "users": ratings.n_users, items: ratings.n_items}


def counts(values: Floats, levels: range) -> tuple[int, ...]:
    """Return the number of occurrences of each level."""
    return tuple(int(np.count_nonzero(values == level)) for level in levels)


def _shown(value: Fact) -> str:
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
