"""People in a folder of Parquet files, which any reader of Parquet takes.

    _people.json         what the models are of
    _shared.peckorder    what they share, if they do
    _lock                held by the run that writes
    part-00000.parquet   a batch of records; and so on

Readers of such folders skip names that begin with an underscore or a dot.
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from peckorder._core.errors import entry_named, refusal, requiring
from peckorder._core.file_locks import lock
from peckorder._core.text_files import remove_drafts, whole_file
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

ABOUT, SHARED, LOCK = "_people.json", "_shared.peckorder", "_lock"
PARTS = "part-*.parquet"
_PART = re.compile("part-[0-9]{5,9}.parquet")


def parquet() -> Any:
    """Return pyarrow.parquet; raise if it is not installed."""
    install = "'peckorder[frames]', or choose a store that ends in .sqlite"
    with requiring("pyarrow", "for a folder of Parquet files", install):
        from pyarrow import parquet
    return parquet


class ParquetStore(Store):
    """A folder to which batches are added, a file each."""

    batch, seconds = 512, 30.0

    def __init__(self, folder: Path, about: About, shared: Shared) -> None:
        parquet()
        if folder.exists() and not folder.is_dir():
            raise refusal("store", "be a folder, or end in .sqlite", f"{str(folder)!r}, a file")
        is_new = not folder.exists()
        self.folder, self.about = folder, about
        if not is_new and not (folder / ABOUT).exists():
            others = {path.name for path in folder.iterdir()} - {LOCK, SHARED}
            if any(not name.startswith(".") for name in others):
                raise not_a_store(folder)
        folder.mkdir(exist_ok=True)
        self._lock = (folder / LOCK).open("ab")
        if not lock(self._lock):
            self._lock.close()
            raise store_in_use(folder)
        try:
            self._begin(shared)
        except BaseException:
            self.close()
            if is_new and not (folder / ABOUT).exists():
                _remove(folder)
            raise

    def _begin(self, shared: Shared) -> None:
        self.shared = None
        if (self.folder / ABOUT).exists():
            check_same(self.folder, read_about(self.folder), self.about)
            if (self.folder / SHARED).exists():
                self.shared = (self.folder / SHARED).read_bytes()
        else:
            self.shared = shared()
            if self.shared is not None:
                with whole_file(self.folder / SHARED) as file:
                    file.write(self.shared)
            with whole_file(self.folder / ABOUT) as file:
                file.write(encoded(self.about).encode())
        parts = _parts(self.folder)
        self.rows = set()
        for part in parts:
            columns = read_part(part, ["row"])
            check_columns(part, columns)
            self.rows.update(columns["row"])
        numbers = [int(part.stem.partition("-")[2]) for part in parts]
        position = max(numbers, default=-1) + 1
        # A run that was killed wrote one of these; all before are whole.
        for name in (ABOUT, SHARED, _name_of_part(position)):
            remove_drafts(self.folder / name)
        super().__init__(position)

    def _write(self, position: int, records: list[Record]) -> None:
        import pyarrow as pa

        person = pa.string() if isinstance(records[0].person, str) else pa.int64()
        kinds = (pa.int64(), person, pa.int64(), pa.float64(), pa.string())
        columns = {
            name: pa.array([getattr(record, name) for record in records], kind)
            for name, kind in zip(COLUMNS, kinds, strict=True)
        }
        for number, name in enumerate(self.about["metrics"]):
            columns[name] = pa.array([record.measures[number] for record in records])
        plain = list(columns)
        columns["model"] = pa.array([record.model for record in records], pa.large_binary())
        with whole_file(self.folder / _name_of_part(position)) as file:
            # Models differ from each other: a dictionary of them is of no use.
            table = pa.table(columns)
            parquet().write_table(table, file, compression="zstd", use_dictionary=plain)

    def close(self) -> None:
        """Let others have the folder."""
        self._lock.close()


def _parts(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(PARTS) if _PART.fullmatch(path.name))


def _name_of_part(position: int) -> str:
    return f"part-{position:05d}.parquet"


def _remove(folder: Path) -> None:
    """Remove a folder without records."""
    with suppress(OSError):
        (folder / LOCK).unlink()
        (folder / SHARED).unlink(missing_ok=True)
        folder.rmdir()


def read_about(folder: Path) -> About:
    """Read the description of the models in a folder."""
    try:
        return decoded(folder, (folder / ABOUT).read_bytes())
    except (FileNotFoundError, IsADirectoryError):
        raise not_a_store(folder) from None


@entry_named("people")
def read_part(part: Path, names: list[str]) -> dict[str, list[Any]]:
    """Read some columns of a file of the store."""
    reader = parquet()
    from pyarrow import ArrowException

    try:
        with reader.ParquetFile(part) as file:
            columns: dict[str, list[Any]] = file.read(names).to_pydict()
    except (ArrowException, OSError, UnicodeDecodeError):
        columns = {}
    if list(columns) != names:
        raise refusal("files of a store", "be sound and of people", repr(str(part)))
    return columns


class ParquetSource:
    """A folder to read from: small columns at once, models one file at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.about = folder, read_about(folder)
        names = [*COLUMNS, *self.about["metrics"]]
        self.columns: dict[str, list[Any]] = {name: [] for name in names}
        self._positions: list[tuple[Path, int]] = []
        # The file that was read last, and its models.
        self._last: tuple[Path | None, Any] = (None, None)
        for part in _parts(folder):
            columns = read_part(part, names)
            check_columns(part, columns)
            for name in names:
                self.columns[name] += columns[name]
            self._positions += [(part, position) for position in range(len(columns["row"]))]

    @property
    def shared(self) -> bytes | None:
        """The part that models share, if there is one."""
        path = self.folder / SHARED
        return path.read_bytes() if path.exists() else None

    def model(self, position: int) -> bytes:
        """Return the model of the record in a position."""
        part, row = self._positions[position]
        if self._last[0] != part:
            self._last = part, read_part(part, ["model"])["model"]
        data = self._last[1][row] if row < len(self._last[1]) else None
        if not isinstance(data, bytes):
            raise damaged(part, "odd values of 'model'")
        return data
