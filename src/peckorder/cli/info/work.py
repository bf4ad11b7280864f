"""The work of `peckorder info`."""

import os
from typing import Any

import peckorder
from peckorder.cli.console import Speaker
from peckorder.estimators import TableRanker
from peckorder.storage.format import VERSION, read_file
from peckorder.tables.files.source import check_is_file, short
from peckorder.tables.model_rows import unscaled

_MOST_NAMES = 20
_MOST_VALUES = 12


def run_info(model: str, *, json: bool, quiet: bool) -> None:
    """Tell what is in a model file: class, parameters, features, versions."""
    speaker = Speaker(json=json, quiet=quiet)
    check_is_file(model)
    ranker = peckorder.load(model)
    header: Any = read_file(model)[0]
    names, formulas = _columns(ranker)
    is_table = isinstance(ranker, TableRanker)
    inner = ranker.ranker_ if isinstance(ranker, TableRanker) else ranker
    result = {
        "file": model,
        "bytes": os.stat(model).st_size,
        "class": type(inner).__name__,
        "kept_as": "TableRanker" if is_table else None,
        "parameters": inner.get_params(deep=False),
        "n_features": getattr(ranker, "n_features_in_", None),
        "feature_names": names or None,
        "scaled_as": formulas or None,
        "learnt": _learnt(inner),
        "written_by": f"peckorder {header['peckorder']}",
        "format": VERSION,
        "checksum": "ok",
    }
    scaled = "mean 0, deviation 1" if formulas else None
    shown = {
        **result,
        "scaled_as": scaled,
        "feature_names": _some(names),
        "checksum": "ok (SHA-256)",
    }
    for name in ("parameters", "learnt"):
        pairs: Any = result[name]
        shown[name] = ", ".join(
            f"{key}={_shown(value)}" for key, value in pairs.items()
        )
    width = max(map(len, shown))
    speaker.say(
        result,
        *(
            f"{name.replace('_', ' '):<{width}}  {value}"
            for name, value in shown.items()
            if value not in (None, "")
        ),
    )


def _columns(ranker: Any) -> tuple[list[str], list[str]]:
    """Return the names of columns, and formulas of features that are scaled."""
    names = [str(name) for name in getattr(ranker, "feature_names_in_", ())]
    if isinstance(ranker, TableRanker):
        if ranker.shift_ is None or ranker.scale_ is None:
            return names, []
        scaling = zip(
            ranker.prepared_names_,
            ranker.shift_.tolist(),
            ranker.scale_.tolist(),
            strict=True,
        )
        return names, [f"({name} - {m!r}) / {s!r}" for name, m, s in scaling]
    # Files of before TableRanker have formulas for names.
    plain = list(map(unscaled, names))
    return plain, names if names != plain else []


def _learnt(ranker: Any) -> dict[str, Any]:
    """Return the plain values among what was learnt, and the sizes of the rest."""
    found: dict[str, Any] = {}
    for name in sorted(vars(ranker)):
        if (
            name.startswith("_")
            or not name.endswith("_")
            or name == "feature_names_in_"
        ):
            continue
        value = getattr(ranker, name)
        if isinstance(value, bool | int | float | str):
            found[name] = value
        elif hasattr(value, "shape"):
            is_short = value.ndim == 1 and value.size <= _MOST_VALUES
            size = " x ".join(map(str, value.shape)) or "1"
            found[name] = value.tolist() if is_short else f"<{size} values>"
    return found


def _shown(value: Any) -> str:
    """Write a value; how many there are, if they are not told."""
    if isinstance(value, list):
        return f"[{', '.join(_shown(each) for each in value)}]"
    if isinstance(value, float):
        return f"{value:.6g}"
    is_size = isinstance(value, str) and value.startswith("<")
    return value if is_size else short(value)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more"
    return ", ".join(names[:_MOST_NAMES]) + (more if len(names) > _MOST_NAMES else "")
