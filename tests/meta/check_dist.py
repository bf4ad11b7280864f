"""Check what `make dist` built: python tests/meta/check_dist.py dist."""

import sys
import tarfile
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "peckorder"
LEFT_BY_RUNS = {".pyc", ".nbi", ".nbc"}
# What one needs to run the tests of an unpacked sdist.
NEEDED = ["Makefile", "constraints.txt", "pyproject.toml", "tests/conftest.py"]


def only(folder: Path, pattern: str) -> Path:
    """Return the one file of that name."""
    found = sorted(folder.glob(pattern))
    assert len(found) == 1, f"{folder} must hold one {pattern}; got {found!r}."
    return found[0]


def own_files() -> set[str]:
    """Return the names, in a wheel, of all files of the package."""
    return {
        file.relative_to(PACKAGE.parent).as_posix()
        for file in PACKAGE.rglob("*")
        if file.is_file() and file.suffix not in LEFT_BY_RUNS
    }


def check_wheel(path: Path) -> None:
    """Every file of the package is there, with what pip wants to know; no more."""
    assert path.name.endswith("-py3-none-any.whl"), path.name
    names = set(ZipFile(path).namelist())
    others = {name for name in names if PurePosixPath(name).parts[0] != "peckorder"}
    assert {"peckorder/py.typed", "peckorder/reports/page.html.j2"} <= names
    assert names - others == own_files(), (names - others) ^ own_files()
    about = path.name.removesuffix("-py3-none-any.whl") + ".dist-info"
    assert {PurePosixPath(name).parts[0] for name in others} == {about}, others
    assert f"{about}/licenses/LICENSE" in others, others


def check_sdist(path: Path) -> None:
    """The sources are there, and what one needs to test them; no leftovers of runs."""
    with tarfile.open(path) as archive:
        files = [PurePosixPath(name) for name in archive.getnames()]
    names = {file.relative_to(file.parts[0]).as_posix() for file in files}
    needed = {f"src/{name}" for name in own_files()} | set(NEEDED)
    assert needed <= names, needed - names
    assert not [file for file in files if file.suffix in LEFT_BY_RUNS]


if __name__ == "__main__":
    check_wheel(only(Path(sys.argv[1]), "*.whl"))
    check_sdist(only(Path(sys.argv[1]), "*.tar.gz"))
