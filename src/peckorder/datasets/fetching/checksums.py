"""Checksums of downloaded files, kept beside them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from peckorder._core.text_files import write_text
from peckorder.exceptions import DataError

NAME = "checksums.json"


def digest(path: Path, algorithm: str = "sha256") -> str:
    """Return ``algorithm:hexadecimal`` of a file."""
    with path.open("rb") as file:
        # Some publishers give MD5, which detects damage, not malice.
        content = hashlib.file_digest(file, lambda: hashlib.new(algorithm))
    return f"{algorithm}:{content.hexdigest()}"


def read_records(who: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the records of the files in a folder, by name."""
    path = folder / NAME
    if not path.is_file():
        return {}
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
        is_valid = all(
            isinstance(record, dict) and isinstance(record.get("digest"), str)
            for record in records.values()
        )
    except (ValueError, AttributeError):
        is_valid = False
    if not is_valid:
        raise DataError(
            f"{who}: {NAME} must be what a download recorded; got something else in "
            f"{path}. Remove it and the files beside it, and download again."
        )
    return records  # type: ignore[no-any-return]


def write_record(who: str, draft: Path, name: str, url: str) -> None:
    """Record the checksum of a downloaded file under its final name."""
    records = read_records(who, draft.parent)
    size = draft.stat().st_size
    records[name] = {"digest": digest(draft), "bytes": size, "url": url}
    text = json.dumps(records, indent=2, sort_keys=True)
    write_text(who, draft.parent / NAME, [text + "\n"])


def check_record(who: str, path: Path) -> None:
    """Raise if a downloaded file has changed; files without a record pass."""
    record = read_records(who, path.parent).get(path.name)
    if record is None:
        return
    found = digest(path, record["digest"].partition(":")[0])
    if found != record["digest"]:
        raise DataError(
            f"{who}: {path.name} must have the checksum {record['digest']}, recorded "
            f"when it was downloaded; got {found} for {path}. Remove it and download "
            "it again."
        )
