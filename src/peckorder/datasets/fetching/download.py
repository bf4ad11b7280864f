"""Downloads from publishers: complete or not at all, kept, and verified."""

import os
import secrets
import sys
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import urljoin
from urllib.request import Request, urlopen

from peckorder._core.errors import refusal
from peckorder._core.validation import Rule, boolean, optional
from peckorder.datasets.fetching.folders import (
    FOLDER_RULE,
    Folder,
    cache_folder,
    check_record,
    digest,
    read_records,
    sound_zip,
    write_record,
)
from peckorder.datasets.fetching.publishers import Published
from peckorder.exceptions import DataError, DownloadError

_BLOCK: Final = 1 << 16
_TIMEOUT_S: Final = 60.0

_URL = Rule(
    "None or an address that begins with http:// or https://",
    lambda value: (
        value is None or (isinstance(value, str) and value.startswith(("http://", "https://")))
    ),
)


def fetch(data: Published, folder: Folder, url: str | None, progress: bool | None) -> Path:
    """Download the missing files; return the parent of the folder of the set.

    A file gets its name when it is complete, opens as an archive and has the checksum
    that is known, or was recorded at the first download.
    """
    FOLDER_RULE.check("folder", folder)
    _URL.check("url", url)
    optional(boolean).check("progress", progress)
    root = cache_folder() if folder is None else Path(folder).expanduser()
    home = root / data.folder
    home.mkdir(parents=True, exist_ok=True)
    base = url or data.base
    for name, known in data.archives.items():
        path = home / name
        if path.is_file():
            check_record(path)
            continue
        address = urljoin(base if base.endswith("/") else base + "/", name)
        # A mirror must have the publisher's own file, too.
        _download(address, path, known, data.member, progress)
    return root


def _download(url: str, path: Path, known: str, member: str | None, progress: bool | None) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        _save(url, draft, _progress_bar(path.name, progress))
        _check_archive(url, draft, member)
        recorded = read_records(path.parent).get(path.name, {}).get("digest", "")
        _check_digest(url, draft, known, "which is known")
        _check_digest(url, draft, recorded, "recorded at the first download")
        # Recorded first, so that every named file has a record.
        write_record(draft, path.name, url)
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink()


def _check_archive(url: str, draft: Path, member: str | None) -> None:
    """Raise unless a file is a complete archive with the member."""
    try:
        with sound_zip(draft) as archive:
            damaged, names = archive.testzip(), archive.namelist()
    except DataError:
        raise refusal(
            url, "be a zip file", "another, or a part of one", error=DownloadError
        ) from None
    if damaged is not None:
        raise refusal(url, "be a sound zip file", f"{damaged!r} damaged in it", error=DownloadError)
    if member is not None and not any(name.endswith(member) for name in names):
        raise refusal(url, f"hold {member}", ", ".join(names[:5]) or "nothing", error=DownloadError)


def _check_digest(url: str, draft: Path, expected: str, origin: str) -> None:
    if not expected:
        return
    found = digest(draft, expected.partition(":")[0])
    if found != expected:
        raise refusal(
            url,
            f"have the checksum {expected}, {origin}",
            found,
            hint="The file has changed, or another came in its place; to take "
            "it all the same, remove its line from checksums.json.",
            error=DownloadError,
        )


def _save(url: str, draft: Path, show: Callable[[int, int], None]) -> None:
    request = Request(url, headers={"User-Agent": "peckorder"})
    try:
        with urlopen(request, timeout=_TIMEOUT_S) as response, draft.open("xb") as file:
            total = int(response.headers.get("Content-Length") or 0)
            done = 0
            while block := response.read(_BLOCK):
                file.write(block)
                done += len(block)
                show(done, total)
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, OSError) and error.filename == os.fspath(draft):
            raise
        raise refusal(url, "be there to be downloaded", error, error=DownloadError) from None
    if total and done != total:
        raise refusal(url, f"come whole, {total:,} bytes", f"{done:,}", error=DownloadError)


def _progress_bar(name: str, progress: bool | None) -> Callable[[int, int], None]:
    """Return a function that shows progress; it does nothing without a terminal."""
    stream = sys.stderr
    if progress is None:
        progress = stream is not None and stream.isatty()
    if not progress:
        return lambda done, total: None
    shown = -1

    def show(done: int, total: int) -> None:
        nonlocal shown
        step = 100 * done // total if total else done >> 20
        if step == shown:
            return
        shown = step
        size = f"{(total or done) / 1e6:.1f} MB"
        bar = f"[{'#' * (step // 5):<20}] {step:3d} % of {size}" if total else size
        stream.write(f"\r{name} {bar}" + ("\n" if done == total else ""))
        stream.flush()

    return show
