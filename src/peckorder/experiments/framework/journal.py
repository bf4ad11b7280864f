"""The journal of a run: finished repetitions, which survive an interrupt."""

import json
import os
from pathlib import Path
from typing import IO, Any, NoReturn

from peckorder._core.errors import refusal
from peckorder._core.file_locks import lock
from peckorder._core.text_files import as_json
from peckorder.experiments.framework import Values

# The values and the seconds of one repetition.
Entry = tuple[Values, Values]


def measured_json(value: object) -> Any:
    """Return measured values as JSON has them; refuse what it does not have."""
    return as_json(value, _refuse)


def _refuse(value: object) -> NoReturn:
    raise refusal(
        "measured values",
        "be numbers, text, lists and dictionaries",
        type(value).__name__,
        error=TypeError,
    )


class Journal:
    """Finished repetitions on disk, one per line, after a line that names the run.

    A line that a crash cut short is dropped with everything after it. A journal of
    another run (other settings, seed, versions or code) is renamed to `put_aside`. Two
    runs cannot write to one journal.
    """

    def __init__(self, path: Path, run: Values) -> None:
        self.path = path
        self.put_aside: Path | None = None
        self._entries: dict[tuple[str, int, str], Entry] = {}
        head = json.dumps({"run": as_json(run)}, sort_keys=True)
        self._file = path.open("a+b")
        _lock(self._file, path)
        valid = self._read(head)
        if valid == 0 and path.stat().st_size > 0:
            # The old file stays open and locked under its new name.
            other = self._file
            self.put_aside = path.with_name(f"{path.name}.old")
            path.replace(self.put_aside)
            self._file = path.open("a+b")
            _lock(self._file, path)
            other.close()
        self._file.truncate(valid)
        if valid == 0:
            self._write(head)

    def __len__(self) -> int:
        return len(self._entries)

    def _read(self, head: str) -> int:
        """Read the entries of an earlier run; return the length of the valid part."""
        valid = 0
        self._file.seek(0)
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            if valid == 0:
                if line.decode("utf-8", "replace").strip() != head:
                    break
            else:
                try:
                    entry = json.loads(line)
                    key = entry["part"], entry["unit"], entry["data"]
                    self._entries[key] = entry["values"], entry["seconds"]
                except (ValueError, KeyError, TypeError):
                    break
            valid += len(line)
        return valid

    def _write(self, line: str) -> None:
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def find(self, part: str, unit: int, data: str) -> Entry | None:
        """Return the result of repetition `unit` of a part on these data, if any."""
        return self._entries.get((part, unit, data))

    def add(self, part: str, unit: int, data: str, entry: Entry) -> None:
        """Store the result of a repetition."""
        line = {"part": part, "unit": unit, "data": data}
        line |= {"values": entry[0], "seconds": entry[1]}
        self._write(json.dumps(line))
        self._entries[part, unit, data] = entry

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()


def _lock(file: IO[bytes], path: Path) -> None:
    """Lock a file against other writers, where the system has such locks."""
    if not lock(file):
        file.close()
        raise refusal(
            "journal",
            "belong to one run at a time",
            f"{path.name!r}, which another run is writing",
            hint="Wait for it, or choose another folder.",
            error=FileExistsError,
        )
