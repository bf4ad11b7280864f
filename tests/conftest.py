import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "peckorder",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("peckorder")

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def golden():
    """Read one of the golden files by its name."""
    return lambda name: json.loads((GOLDEN / f"{name}.json").read_text())


def pytest_collection_modifyitems(items):
    """Mark tests by kind, from what they use."""
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        if getattr(item.function, "is_hypothesis_test", False):
            item.add_marker("property")
        if "golden" in item.fixturenames:
            item.add_marker("golden")
        skips = [str(mark.kwargs.get("reason")) for mark in item.iter_markers("skipif")]
        fixtures = item._fixtureinfo.name2fixturedefs.values()
        functions = [item.function, *(f.func for fs in fixtures for f in fs)]
        if "PECKORDER_DATA" in " ".join(skips) or any(map(reads_real_data, functions)):
            item.add_marker("real")


def reads_real_data(function):
    """Whether a test or fixture looks for the folder that PECKORDER_DATA names."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    by_name = "PECKORDER_DATA" in code.co_consts and "environ" in code.co_names
    return by_name or "FOLDER" in code.co_names
