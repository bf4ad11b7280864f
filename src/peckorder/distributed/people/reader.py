"""People and their models, from a store or from memory."""

import os
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from peckorder._core.errors import entry_named, refusal
from peckorder._core.typing import Floats, Frame, PathLike
from peckorder.collaborative import Explanation, PersonalRanker, Recommendations
from peckorder.collaborative.personal.storage import add_person, without_people
from peckorder.distributed.people.store import Memory, not_a_store
from peckorder.exceptions import ModelFileError
from peckorder.io import from_bytes
from peckorder.metrics import to_frame
from peckorder.storage.format import Damaged

if TYPE_CHECKING:
    from peckorder.distributed.people.store_parquet import ParquetSource
    from peckorder.distributed.people.store_sqlite import SqliteSource


class Person:
    """One person on top of a `PersonalRanker`.

    The methods are those of the ranker, without naming the person; `ranker` has the
    shared part, which is in memory once for all people, and this person.
    """

    def __init__(self, ranker: PersonalRanker, person: Hashable) -> None:
        self.ranker, self.person = ranker, person

    def predict(self, items: ArrayLike | None = None) -> Floats:
        """Return the ratings that the person is expected to give."""
        return self.ranker.predict(self.person, items)

    def recommend(self, n: int = 10, *, exclude_rated: bool = True) -> Recommendations:
        """Return the items that the person is expected to like most."""
        return self.ranker.recommend(self.person, n, exclude_rated=exclude_rated)

    def explain(self, item: Hashable) -> Explanation:
        """Return the rated items and the viewers that contribute to a predicted rating."""
        return self.ranker.explain(self.person, item)

    def __repr__(self) -> str:
        return f"Person({self.person!r})"


class People(Mapping[Any, Any]):
    """Models of people by their ids: a mapping that reads a model when it is accessed.

    People without a model, whose ratings were not enough, are in `reasons` and in the
    table, not among the keys.

    Attributes
    ----------
    about : dict
        The estimator and its parameters, reference viewers, how gaps were filled,
        metrics, digests of the data.
    reasons : dict
        Why there is no model, by person.

    Notes
    -----
    O(n_people) memory; a model takes what `peckorder.io.from_bytes` does. In a folder
    of Parquet files a model brings those of its file along, for the next one.

    Examples
    --------
    >>> from peckorder import RankBoost, Ratings
    >>> from peckorder.distributed import fit_people
    >>> ratings = Ratings(list("aabbbcd"), [1, 2, 1, 2, 3, 3, 1], [5, 1, 4, 2, 5, 1, 4])
    >>> people = fit_people(ratings, ["a", "b", "c"], RankBoost(), n_jobs=1)
    >>> people
    People(2 of 3 with a model, estimator='RankBoost')
    >>> sorted(people), people["a"].n_features_in_, list(people.reasons)
    (['a', 'b'], 3, ['c'])
    """

    def __init__(self, source: "Memory | ParquetSource | SqliteSource") -> None:
        self._source, self.about = source, source.about
        persons, reasons = source.columns["person"], source.columns["reason"]
        records = list(enumerate(zip(persons, reasons, strict=True)))
        self._positions = {person: position for position, (person, no) in records if no is None}
        self.reasons = {person: no for _, (person, no) in records if no is not None}
        if len(self._positions) + len(self.reasons) != len(persons):
            raise refusal(
                "a store",
                "have each person once",
                "one who is there again",
                hint="Were files copied into it?",
            )

    def __getitem__(self, person: Any) -> Any:
        """Return the model of a person."""
        try:
            data = self._source.model(self._positions[person])
        except KeyError:
            why = self.reasons.get(person, "not in the store")
            raise KeyError(f"people: there is no model of {person!r}: {why}") from None
        if self.about["estimator"] != "PersonalRanker":
            return from_bytes(data)
        # With this person alone: else all who were ever read would stay in memory.
        ranker = without_people(self._shared)
        self._add(ranker, data)
        return Person(ranker, person)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, person: object) -> bool:
        return person in self._positions

    # As mappings are compared, all models would be read.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        total = len(self._positions) + len(self.reasons)
        return (
            f"People({len(self):,} of {total:,} with a model, "
            f"estimator={self.about['estimator']!r})"
        )

    @entry_named("people")
    def ranker(self) -> PersonalRanker:
        """Return a `PersonalRanker` with all people of the store.

        Returns
        -------
        ranker : PersonalRanker
            As after its own `fit_people`.

        Raises
        ------
        TypeError
            If the models are of another estimator: they have no part in common.
        """
        if self.about["estimator"] != "PersonalRanker":
            raise refusal(
                "estimator",
                "be a PersonalRanker, to have a part that all share",
                repr(self.about["estimator"]),
                error=TypeError,
            )
        ranker = shared_ranker(self._source.shared)
        for position in self._positions.values():
            self._add(ranker, self._source.model(position))
        return ranker

    def columns(self) -> dict[str, list[Any]]:
        """Return the table: person, n_ratings, seconds, metrics and reason.

        Returns
        -------
        columns : dict of str to list
            One entry per person; metrics are NaN where they are undefined, or do not
            take a model's scores.
        """
        names = ["person", "n_ratings", "seconds", *self.about["metrics"], "reason"]
        return {name: list(self._source.columns[name]) for name in names}

    def to_pandas(self) -> Frame:
        """Return the table as a pandas frame."""
        table: Frame = to_frame("pandas", self.columns())
        return table

    def to_polars(self) -> Frame:
        """Return the table as a polars frame."""
        table: Frame = to_frame("polars", self.columns())
        return table

    @cached_property
    def _shared(self) -> PersonalRanker:
        return shared_ranker(self._source.shared)

    @entry_named("people")
    def _add(self, ranker: PersonalRanker, data: bytes) -> None:
        try:
            add_person(ranker, data)
        except Damaged as error:
            raise refusal(
                "a person", "be sound to be read", f"one {error}", error=ModelFileError
            ) from None


@entry_named("people")
def shared_ranker(data: bytes | None) -> PersonalRanker:
    """Return the part that people share; refuse a store without it."""
    ranker = None if not data else from_bytes(data)
    if not isinstance(ranker, PersonalRanker):
        raise refusal(
            "a store of PersonalRanker", "have what is shared", "none", error=ModelFileError
        )
    return ranker


@entry_named("people")
def open_people(path: PathLike) -> People:
    """Open what `fit_people` has stored, also while it runs.

    Parameters
    ----------
    path : path
        The folder of Parquet files, or the SQLite file.

    Returns
    -------
    people : People
        A mapping from ids to models. Those who are stored later are not in it: open
        again.

    Raises
    ------
    DataError
        If the path is of no such store.

    Notes
    -----
    O(n_people) time and memory; models are read when they are accessed. They are
    checked as those of `peckorder.load` are, and hold no code.

    Examples
    --------
    >>> import tempfile
    >>> from peckorder import MPRank, Ratings
    >>> from peckorder.distributed import fit_people, open_people
    >>> ratings = Ratings(list("aabbbcc"), [1, 2, 1, 2, 3, 2, 3], [5, 1, 4, 2, 5, 1, 4])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/people.sqlite"
    ...     _ = fit_people(ratings, None, MPRank(C=99), store=path, n_jobs=1)
    ...     people = open_people(path)
    ...     people["b"].predict([[5.0, 2.5], [1.0, 1.0]]).round(1)
    array([4., 2.])
    """
    if not isinstance(path, str | os.PathLike):
        raise refusal("path", "be a path", repr(path), error=TypeError)
    there = Path(path)
    if not there.exists():
        raise refusal(
            "path",
            "be a store of people",
            f"{str(path)!r}, which does not exist",
            error=FileNotFoundError,
        )
    if there.is_dir():
        from peckorder.distributed.people.store_parquet import ParquetSource

        return People(ParquetSource(there))
    if not there.is_file():
        raise not_a_store(path)
    from peckorder.distributed.people.store_sqlite import SqliteSource

    return People(SqliteSource(there))
