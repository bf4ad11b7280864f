"""Checksums of downloaded files, kept beside them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from peckorder._core.errors import refusal
from peckorder._core.text_files import write_text

NAME = "checksums.json"


def digest(path: Path, algorithm: str = "sha256") -> str:
    """Return ``algorithm:hexadecimal`` of a file."""
    with path.open("rb") as file:
        # Some publishers give MD5, which detects damage, not malice.
        content = hashlib.file_digest(file, lambda: hashlib.new(algorithm))
    return f"{algorithm}:{content.hexdigest()}"


def read_records(folder: Path) -> dict[str, dict[str, Any]]:
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
        raise refusal(
            NAME,
            "be what a download recorded",
            f"something else in {path}",
            hint="Remove it and the files beside it, and download again.",
        )
    return records  # type: ignore[no-any-return]


def write_record(draft: Path, name: str, url: str) -> None:
    """Record the checksum of a downloaded file under its final name."""
    records = read_records(draft.parent)
    size = draft.stat().st_size
    records[name] = {"digest": digest(draft), "bytes": size, "url": url}
    text = json.dumps(records, indent=2, sort_keys=True)
    write_text(draft.parent / NAME, [text + "\n"])


def check_record(path: Path) -> None:
    """Raise if a downloaded file has changed; files without a record pass."""
    record = read_records(path.parent).get(path.name)
    if record is None:
        return
    found = digest(path, record["digest"].partition(":")[0])
    if found != record["digest"]:
        raise refusal(
            path.name,
            f"have the checksum {record['digest']}, recorded when it was downloaded",
            f"{found} for {path}",
            hint="Remove it and download it again.",
        )
