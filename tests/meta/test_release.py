"""What is declared of a release is what is tested."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = ROOT / ".github" / "workflows"

pytestmark = pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="an sdist has no workflows")


def workflow(name):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return yaml.safe_load((WORKFLOWS / name).read_text())


def test_every_python_that_is_declared_is_tested():
    prefix = "Programming Language :: Python :: "
    declared = [c.removeprefix(prefix) for c in PROJECT["classifiers"] if c.startswith(prefix)]
    versions = [version for version in declared if re.fullmatch(r"3\.\d+", version)]
    jobs = workflow("tests.yml")["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == versions
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_every_system_that_is_declared_is_tested():
    jobs = workflow("tests.yml")["jobs"]
    matrix = jobs["tests"]["strategy"]["matrix"]
    tested = {*matrix["os"], *(one["os"] for one in matrix["include"]), jobs["windows"]["runs-on"]}
    systems = {
        "Operating System :: MacOS": "macos-latest",
        "Operating System :: Microsoft :: Windows": "windows-latest",
        "Operating System :: POSIX :: Linux": "ubuntu-latest",
    }
    declared = [c for c in PROJECT["classifiers"] if c.startswith("Operating System")]
    assert {systems[c] for c in declared} <= tested


def test_what_workflows_make_is_in_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in WORKFLOWS.glob("*.yml"):
        for job in workflow(path.name)["jobs"].values():
            runs = [step.get("run", "") for step in job["steps"]]
            made = {made for run in runs for made in re.findall(r"\bmake ([a-z-]+)", run)}
            assert made <= targets
            assert job["runs-on"]


def test_only_publishing_has_a_right_to_write():
    for path in WORKFLOWS.glob("*.yml"):
        whole = workflow(path.name)
        assert whole["permissions"] == {"contents": "read"}
        rights = {name: job.get("permissions") for name, job in whole["jobs"].items()}
        assert {name for name, right in rights.items() if right} <= {"publish"}


def test_one_version_everywhere():
    version = re.search(r'= "(.+)"', (ROOT / "src/peckorder/_version.py").read_text())[1]
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version} " in (ROOT / "CHANGELOG.md").read_text()
