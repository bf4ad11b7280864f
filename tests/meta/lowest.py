"""Print, as constraints for pip, the lowest versions that pyproject.toml allows.

Of what the library and its extras use; what the tests use stays at the versions of
constraints.txt, since nobody promises that old ones will do.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def name_of(requirement: str) -> str:
    """Return the name of what is required, as pip compares names."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def lowest(requirement: str) -> str:
    """Return the lowest version of a requirement such as ``numba>=0.61,<0.69``."""
    return requirement.split(",", maxsplit=1)[0].replace(">=", "==")


def lowest_versions() -> list[str]:
    """Return a constraint for each requirement."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = declared["project"]["optional-dependencies"]
    used = [*extras["cli"], *extras["frames"], *extras["dask"]]
    asked = declared["project"]["dependencies"] + used
    tools = {name_of(tool) for tool in declared["dependency-groups"]["test"]}
    tools -= {name_of(requirement) for requirement in extras["dask"]}
    # ONNX is asked for by an extra and by tests: pip finds one that goes with the rest.
    tools -= {name_of(requirement) for requirement in extras["onnx"]}
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    return sorted(
        {lowest(requirement) for requirement in asked}
        | {pin for pin in pinned if name_of(pin) in tools}
    )


if __name__ == "__main__":
    sys.stdout.write("\n".join(lowest_versions()) + "\n")
