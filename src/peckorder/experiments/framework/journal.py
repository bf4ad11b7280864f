"""The journal of a run: finished repetitions, so that an interrupt loses none."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from peckorder._core.file_locks import lock

Entry = tuple[dict[str, Any], dict[str, Any]]


def as_json(value: Any) -> Any:
    """Return `value` as JSON would give it back: lists, numbers of Python, no NaN."""
    match value:
        case np.ndarray() | np.generic():
            return as_json(value.tolist())
        case dict():
            return {str(key): as_json(each) for key, each in value.items()}
        case list() | tuple():
            return [as_json(each) for each in value]
        case float() if not np.isfinite(value):
            return None
        case bool() | int() | float() | str() | None:
            return value
        case _:
            raise TypeError(
                "experiments: what is measured must be numbers, text, lists and "
                f"dictionaries; got {type(value).__name__}."
            )


class Journal:
    """Finished repetitions on disk, one line each, after a line that names the run.

    A line that was cut short by a crash is dropped, and with it what follows. A journal
    of another run (other settings, seed, versions or code) is put aside, as
    `put_aside`. Two runs cannot write to one journal.
    """

    def __init__(self, path: Path, run: Mapping[str, Any]) -> None:
        self.path = path
        self.put_aside: Path | None = None
        self._entries: dict[tuple[str, int, str], Entry] = {}
        head = json.dumps({"run": as_json(dict(run))}, sort_keys=True)
        self._file = path.open("a+b")
        _lock(self._file, path)
        kept = self._read(head)
        if kept == 0 and path.stat().st_size > 0:
            # The file stays open, and locked, under its new name until it is left.
            other = self._file
            self.put_aside = path.with_name(f"{path.name}.old")
            path.replace(self.put_aside)
            self._file = path.open("a+b")
            _lock(self._file, path)
            other.close()
        self._file.truncate(kept)
        if kept == 0:
            self._write(head)

    def __len__(self) -> int:
        return len(self._entries)

    def _read(self, head: str) -> int:
        """Take over what an earlier run has finished; return how far it is sound."""
        sound = 0
        self._file.seek(0)
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            if sound == 0:
                if line.decode("utf-8", "replace").strip() != head:
                    break
            else:
                try:
                    entry = json.loads(line)
                    key = entry["part"], entry["unit"], entry["data"]
                    self._entries[key] = entry["values"], entry["seconds"]
                except (ValueError, KeyError, TypeError):
                    break
            sound += len(line)
        return sound

    def _write(self, line: str) -> None:
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def find(self, part: str, unit: int, data: str) -> Entry | None:
        """Return what repetition `unit` of a part found on these data, if finished."""
        return self._entries.get((part, unit, data))

    def add(self, part: str, unit: int, data: str, entry: Entry) -> None:
        """Keep what a repetition found."""
        values, seconds = entry
        line = {
            "part": part,
            "unit": unit,
            "data": data,
            "values": values,
            "seconds": seconds,
        }
        self._write(json.dumps(line))
        self._entries[part, unit, data] = entry

    def close(self) -> None:
        """Close the file, and let others have it."""
        self._file.close()


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep others from writing to a file, where the system has such locks."""
    if not lock(file):
        file.close()
        raise FileExistsError(
            f"experiments: journal must be of one run at a time; got {path.name!r}, "
            "which another run writes to. Wait for it, or choose another folder."
        )
