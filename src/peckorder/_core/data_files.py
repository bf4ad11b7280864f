"""Files of data that come with the library."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_toml(package: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file of a package, which is not to be changed.

    Lists are tuples, so that they can be parts of what is hashed.
    """
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return dict(_tuples(tomllib.loads(text)))


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
