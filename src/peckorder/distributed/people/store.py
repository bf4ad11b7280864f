"""Where records go: a folder of Parquet files, one SQLite file, or memory."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from types import NoneType
from typing import Any, ClassVar, Final, TypeAlias

from peckorder._core.errors import name_caller, refusal
from peckorder._core.typing import Labels
from peckorder.distributed.people.tasks import Record
from peckorder.feedback import id_list

FORMAT = 1
# Columns of a store besides metrics and models.
COLUMNS = ("row", "person", "n_ratings", "seconds", "reason")
SUFFIXES = (".sqlite", ".sqlite3", ".db")
# The types of their values; metrics are floats.
_KINDS: Final = {
    "row": (int,),
    "person": (int, str),
    "n_ratings": (int,),
    "reason": (NoneType, str),
}
# An entry that need not be the same when a run is resumed.
_SHOWN = "shown"

About: TypeAlias = dict[str, Any]
Shared: TypeAlias = Callable[[], bytes | None]


class Store(ABC):
    """Records that are written to a store in batches.

    A batch is kept whole or not at all. Waiting records and the number of batches change
    together, in one assignment: if Ctrl-C comes before it, the same batch is written
    again under the same number.
    """

    # A batch is written when it has so many records, or is so many seconds old.
    batch: ClassVar[int]
    seconds: ClassVar[float]

    # Rows of the people who are in the store.
    rows: set[int]
    # The part that all models share, as bytes.
    shared: bytes | None

    def __init__(self, n_batches: int) -> None:
        self._state: tuple[int, list[Record]] = (n_batches, [])
        self._since = monotonic()

    def put(self, records: list[Record]) -> None:
        """Add records, and write them if it is time."""
        waiting = self._state[1]
        waiting += records
        if len(waiting) >= self.batch or monotonic() - self._since > self.seconds:
            self.flush()

    def flush(self) -> None:
        """Write all waiting records."""
        number, waiting = self._state
        if waiting:
            self._write(number, waiting)
        self._state = (number + bool(waiting), [])
        self._since = monotonic()

    @abstractmethod
    def _write(self, number: int, records: list[Record]) -> None:
        """Write a batch whole, or not at all; a batch that is written twice is there once."""

    @abstractmethod
    def close(self) -> None:
        """Release the store for other runs."""


class Memory(Store):
    """Records that are kept as long as the program runs, to be read as well."""

    batch, seconds = 1, 0.0

    def __init__(self, about: About, shared: Shared) -> None:
        super().__init__(0)
        self.about, self.shared = about, shared()
        self.rows: set[int] = set()
        self._records: dict[int, Record] = {}

    def _write(self, number: int, records: list[Record]) -> None:
        self._records |= {record.row: record for record in records}

    def model(self, position: int) -> bytes:
        """Return the model of the record in a position."""
        data = self._in_order[position].model
        assert data is not None
        return data

    def close(self) -> None:
        """Let the records be read: by columns, and models one by one."""
        self._in_order = records = list(self._records.values())
        self.columns = {name: [getattr(r, name) for r in records] for name in COLUMNS}
        for position, name in enumerate(self.about["metrics"]):
            self.columns[name] = [record.measures[position] for record in records]


def open_store(path: object, about: About, shared: Shared) -> Store:
    """Open a store, or make one; `shared` is called if it is new."""
    if path is None:
        return Memory(about, shared)
    if not isinstance(path, str | os.PathLike):
        raise refusal("store", "be None or a path", repr(path), error=TypeError)
    there = Path(path)
    if not there.exists() and not there.parent.is_dir():
        raise refusal(
            "store", "be in a folder that exists", repr(str(path)), error=FileNotFoundError
        )
    if there.suffix in SUFFIXES:
        from peckorder.distributed.people.store_sqlite import SqliteStore

        return SqliteStore(there, about, shared)
    from peckorder.distributed.people.store_parquet import ParquetStore

    return ParquetStore(there, about, shared)


def check_ids(users: Labels) -> None:
    """Refuse ids that a store cannot have in one column."""
    ids = id_list(users)
    if all(type(user) is str for user in ids):
        return
    if all(type(user) is int and -(2**63) <= user < 2**63 for user in ids):
        return
    kinds = sorted({type(user).__name__ for user in ids})
    raise refusal("people", "be texts, or integers of 64 bits, to be stored", ", ".join(kinds))


def check_same(path: object, known: About, about: About) -> None:
    """Refuse a store that was made by another call."""
    if known.get("format") != about["format"]:
        raise refusal(
            "store",
            f"be of format {about['format']}",
            f"{str(path)!r}, of format {known.get('format')!r}",
        )
    about = json.loads(encoded(about))  # as a store returns it
    others = [name for name in about if known.get(name) != about[name] and name != _SHOWN]
    old: Any = known.get("parameters")
    if "parameters" in others and known.get("estimator") == about["estimator"]:
        mine = about["parameters"] if isinstance(old, dict) else {}
        names = [name for name in mine if old.get(name) != mine[name]]
        others[others.index("parameters")] += f" ({', '.join(names)})" if names else ""
    if others:
        raise refusal(
            "store",
            "be new, or one of the same call",
            f"{str(path)!r}, which was made with other {', '.join(others)}",
            hint="Choose another store.",
        )


def encoded(about: About) -> str:
    """Return the description of a run as text."""
    return json.dumps(about, indent=1, ensure_ascii=False)


def decoded(path: object, text: str | bytes) -> About:
    """Read the description of a run."""
    try:
        about = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        about = None
    if not isinstance(about, dict) or not isinstance(about.get("estimator"), str):
        raise not_a_store(path)
    metrics = about.get("metrics")
    if not isinstance(metrics, list) or not all(isinstance(name, str) for name in metrics):
        raise not_a_store(path)
    if len({*metrics, *COLUMNS, "model"}) < len(metrics) + len(COLUMNS) + 1:
        raise not_a_store(path)
    return about


def check_columns(path: object, columns: Mapping[str, list[Any]]) -> None:
    """Refuse records with values that no run writes."""
    for name, values in columns.items():
        kinds = _KINDS.get(name, (float,))
        if not all(type(value) in kinds for value in values):
            raise damaged(path, f"odd values of {name!r}")


def damaged(path: object, what: str) -> Exception:
    """Return the refusal of a store that was changed."""
    error = refusal("a store of people", "be as it was written", f"{str(path)!r} with {what}")
    name_caller(error, "people")
    return error


def not_a_store(path: object) -> Exception:
    """Return the refusal of a file or folder of something else."""
    error = refusal("path", "be a store of people", repr(str(path)))
    name_caller(error, "people")
    return error


def store_in_use(path: object) -> Exception:
    """Return the refusal of a store that another run writes to."""
    return refusal(
        "store",
        "be of one run at a time",
        f"{str(path)!r}, which another run writes to",
        hint="Wait for it, or choose another.",
        error=FileExistsError,
    )
