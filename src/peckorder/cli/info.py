"""`peckorder info`: what is in a model file."""

import os
from typing import Any

from peckorder.cli.options import PRINTED, OutputOptions

_MOST_NAMES = 20
_MOST_VALUES = 12


def info(model: str, /, *, output: OutputOptions = PRINTED) -> None:
    """Tell what is in a model file: class, parameters, features, versions.

    Example: peckorder info wine.peckorder

    The whole file is read and checked, its checksum first: what is told is sound.

    Parameters
    ----------
    model
        The file, as written by `peckorder fit`, `peckorder compare --save` or `save`.
    """
    import peckorder
    from peckorder.cli.console import ResultPrinter
    from peckorder.estimators import TableRanker
    from peckorder.storage.format import VERSION, read_file
    from peckorder.tables.files.source import check_is_file

    printer = ResultPrinter(output)
    check_is_file(model)
    ranker = peckorder.load(model)
    header: Any = read_file(model)[0]
    is_table = isinstance(ranker, TableRanker)
    names, formulas = _table_columns(ranker) if is_table else _columns(ranker)
    inner = ranker.ranker_ if is_table else ranker
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
        "feature_names": _first_names(names),
        "checksum": "ok (SHA-256)",
    }
    for name in ("parameters", "learnt"):
        pairs: Any = result[name]
        shown[name] = ", ".join(f"{key}={_short_text(value)}" for key, value in pairs.items())
    width = max(map(len, shown))
    printer.emit(
        result,
        *(
            f"{name.replace('_', ' '):<{width}}  {value}"
            for name, value in shown.items()
            if value not in (None, "")
        ),
    )


def _table_columns(ranker: Any) -> tuple[list[str], list[str]]:
    """Return the names of columns, and formulas of features that are scaled."""
    names = [str(name) for name in ranker.feature_names_in_]
    if ranker.shift_ is None or ranker.scale_ is None:
        return names, []
    scaling = zip(
        ranker.prepared_names_, ranker.shift_.tolist(), ranker.scale_.tolist(), strict=True
    )
    return names, [f"({name} - {m!r}) / {s!r}" for name, m, s in scaling]


def _columns(ranker: Any) -> tuple[list[str], list[str]]:
    """Return names and formulas; files older than TableRanker have only formulas."""
    from peckorder.tables.model_rows import unscaled

    names = [str(name) for name in getattr(ranker, "feature_names_in_", ())]
    plain = list(map(unscaled, names))
    return plain, names if names != plain else []


def _learnt(ranker: object) -> dict[str, object]:
    """Return the plain values among what was learnt, and the sizes of the rest."""
    values: dict[str, object] = {}
    for name in sorted(vars(ranker)):
        if name.startswith("_") or not name.endswith("_") or name == "feature_names_in_":
            continue
        value = getattr(ranker, name)
        if isinstance(value, bool | int | float | str):
            values[name] = value
        elif hasattr(value, "shape"):
            is_short = value.ndim == 1 and value.size <= _MOST_VALUES
            size = " x ".join(map(str, value.shape)) or "1"
            values[name] = value.tolist() if is_short else f"<{size} values>"
    return values


def _short_text(value: object) -> str:
    """Return a value as text, or how many values there are."""
    from peckorder.tables.files.source import short

    if isinstance(value, list):
        return f"[{', '.join(_short_text(item) for item in value)}]"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str) and value.startswith("<"):  # a number of values
        return value
    return short(value)


def _first_names(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more"
    return ", ".join(names[:_MOST_NAMES]) + (more if len(names) > _MOST_NAMES else "")
