"""What the documents promise: links that lead somewhere, an index of all pages."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LINK = re.compile(r"\]\((?![a-z]+:)([^)#]+)")


def links_of(page):
    """Return the files that a page links to, those of the project."""
    return [(page.parent / link).resolve() for link in LINK.findall(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page):
    assert [str(link) for link in links_of(page) if not link.exists()] == []


def test_the_index_has_every_page():
    index = DOCS / "README.md"
    assert set(PAGES) - {index} <= set(links_of(index))


def test_every_requirement_has_a_lowest_version():
    # `make test-lowest` runs with just these.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    asked = sum(extras, project["dependencies"])
    form = r"[\w-]+>=\d+(\.\d+)*(,<\d+(\.\d+)*)?"
    assert [r for r in asked if not re.fullmatch(form, r)] == []


def test_the_upper_bound_of_numba_is_above_the_pinned_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (bound,) = re.findall(r"numba>=[\d.]+,<(\d+)\.(\d+)", str(project["dependencies"]))
    (pinned,) = re.findall(r"^numba==(\d+)\.(\d+)", (ROOT / "constraints.txt").read_text(), re.M)
    assert tuple(map(int, bound)) == (int(pinned[0]), int(pinned[1]) + 1)
