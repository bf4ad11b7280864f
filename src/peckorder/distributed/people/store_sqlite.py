"""People in one SQLite file: what the models are of, what they share, and records."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from peckorder._core.errors import refusal
from peckorder.distributed.people.store import (
    COLUMNS,
    About,
    Shared,
    Store,
    check_columns,
    check_same,
    damaged,
    decoded,
    encoded,
    not_a_store,
    store_in_use,
)
from peckorder.distributed.people.tasks import Record

_SCHEMA: Final = """
CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE people (
    "row" INTEGER PRIMARY KEY,
    person UNIQUE NOT NULL,
    n_ratings INTEGER NOT NULL,
    seconds REAL NOT NULL,
    reason TEXT,
    measures TEXT NOT NULL,
    model BLOB
);
"""
_INSERT: Final = "INSERT OR IGNORE INTO people VALUES (?, ?, ?, ?, ?, ?, ?)"
# What is raised by a file that was changed.
_DAMAGED: Final = (sqlite3.DatabaseError, UnicodeDecodeError)
# Milliseconds that a batch waits for readers to finish.
_PATIENCE: Final = 60_000


class SqliteStore(Store):
    """A file to which batches are added, a transaction each.

    The next transaction is begun as soon as one is over, which keeps other writers out
    and lets readers in.
    """

    batch, seconds = 256, 2.0

    def __init__(self, path: Path, about: About, shared: Shared) -> None:
        self.path, self.about = path, about
        is_new = not path.exists()
        if path.is_dir():
            raise not_a_store(path)
        self._base = sqlite3.connect(path, timeout=0.0, isolation_level=None)
        try:
            self._begin(shared)
        except _DAMAGED as error:
            self._base.close()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise store_in_use(path) from None
            raise not_a_store(path) from None
        except BaseException:
            self._base.close()
            if is_new:
                path.unlink(missing_ok=True)
            raise

    def _begin(self, shared: Shared) -> None:
        base = self._base
        base.execute("BEGIN IMMEDIATE")
        found = {name for (name,) in base.execute("SELECT name FROM sqlite_master")}
        if not found:
            for statement in _SCHEMA.split(";"):
                base.execute(statement)
            self.shared = shared()
            kept = {"about": encoded(self.about), "shared": self.shared}
            base.executemany("INSERT INTO about VALUES (?, ?)", kept.items())
            base.execute("COMMIT")
            base.execute("BEGIN IMMEDIATE")
        elif not {"about", "people"} <= found:
            raise not_a_store(self.path)
        else:
            known = decoded(self.path, _about(base, "about"))
            check_same(self.path, known, self.about)
            self.shared = _about(base, "shared")
        rows = [row for (row,) in base.execute('SELECT "row" FROM people')]
        check_columns(self.path, {"row": rows})
        self.rows = set(rows)
        base.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        super().__init__(0)

    def _write(self, position: int, records: list[Record]) -> None:
        base = self._base
        if not base.in_transaction:  # interrupted a moment ago
            base.execute("BEGIN IMMEDIATE")
        try:
            # A row that is there already is passed over: this batch again.
            base.executemany(_INSERT, map(_fields, records))
            base.execute("COMMIT")
            base.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            got = f"{str(self.path)!r} ({error})"
            raise refusal("store", "be where records can be written", got, error=OSError) from None

    def close(self) -> None:
        """Let others have the file."""
        self._base.close()


def _fields(record: Record) -> tuple[object, ...]:
    row, person, n_ratings, seconds, measures, reason, model = record
    written = " ".join(map(repr, measures))
    return row, person, n_ratings, seconds, reason, written, model


def _about(base: sqlite3.Connection, name: str) -> Any:
    found = base.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
    return b"" if found is None else found[0]


class SqliteSource:
    """A file to read from: small columns at once, models one by one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with closing(self._open()) as base:
                self.about = decoded(path, _about(base, "about"))
                names = ", ".join(f'"{name}"' for name in (*COLUMNS, "measures"))
                rows = base.execute(f'SELECT {names} FROM people ORDER BY "row"').fetchall()
        except _DAMAGED:
            raise not_a_store(path) from None
        *plain, written = zip(*rows, strict=True) if rows else [()] * (len(COLUMNS) + 1)
        self.columns = dict(zip(COLUMNS, map(list, plain), strict=True))
        check_columns(path, self.columns)
        try:
            measures = [tuple(map(float, text.split())) for text in written]
            for position, name in enumerate(self.about["metrics"]):
                self.columns[name] = [row[position] for row in measures]
        except (AttributeError, ValueError, TypeError, IndexError):
            raise damaged(path, "odd values of 'measures'") from None

    def _open(self) -> sqlite3.Connection:
        # Read only: a name that is wrong makes no file.
        return sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)

    @property
    def shared(self) -> bytes | None:
        """The part that models share, if there is one."""
        return self._read("value", "about", "name", "shared")

    def model(self, position: int) -> bytes:
        """Return the model of the record in a position."""
        data = self._read("model", "people", "row", self.columns["row"][position])
        if data is None:
            raise damaged(self.path, "odd values of 'model'")
        return data

    def _read(self, column: str, table: str, key: str, value: str | int) -> bytes | None:
        query = f'SELECT {column} FROM {table} WHERE "{key}" = ?'
        try:
            with closing(self._open()) as base:
                found = base.execute(query, (value,)).fetchone()
        except _DAMAGED:
            raise not_a_store(self.path) from None
        data = None if found is None else found[0]
        if not isinstance(data, bytes | None):
            raise damaged(self.path, f"odd values of {column!r}")
        return data
