"""What a page says of how it was made."""

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peckorder import __version__
from peckorder.compare.contest.contest import Contest

if TYPE_CHECKING:
    from peckorder.cli.compare.from_file import Wanted

_PACKAGES: Final = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "lightgbm",
    "xgboost",
    "mord",
)


def facts_of(
    wanted: "Wanted", contest: Contest, seconds: float
) -> tuple[tuple[str, str], ...]:
    """Return seeds, folds, times, versions and checksums."""
    packages = []
    for name in _PACKAGES:
        try:
            packages.append((name, version(name)))
        except PackageNotFoundError:
            packages.append((name, "not installed"))
    named = [*wanted.files, *([wanted.qrels] if wanted.qrels else [])]
    hashes = tuple(
        (f"SHA-256 of {Path(file).name}", _checksum(file))
        for file in named
        if file != "-"
    )
    return (
        ("seed", str(contest.seed)),
        ("folds", str(contest.n_folds)),
        ("seconds in all", f"{seconds:.0f}"),
        ("processors", str(os.cpu_count())),
        ("python", platform.python_version()),
        ("peckorder", __version__),
        *packages,
        *hashes,
    )


def _checksum(file: str) -> str:
    with Path(file).open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
