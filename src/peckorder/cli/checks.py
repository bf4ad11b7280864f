"""What commands refuse before they import what does their work.

Names of files and values of options are looked at here, within a fraction of a second.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

from peckorder._core.errors import named, refusal
from peckorder._core.parameters import SEED, did_you_mean, not_negative, one_of, optional, whole
from peckorder._core.text_files import check_target as check_path
from peckorder._core.typing import PathLike
from peckorder.cli.options import (
    CompareOptions,
    EvaluateOptions,
    ExplainOptions,
    FitOptions,
    FuseOptions,
    OutputOptions,
    PairOptions,
    RankOptions,
)
from peckorder.tables.files.paths import (
    READ_ONLY,
    check_is_file,
    check_target,
    format_of,
    format_to_write,
)
from peckorder.tables.files.standard_streams import is_standard

# What a table may be, and pairs may not.
_ROLES: Final = ("task", "target", "qid", "user", "item", "rating", "classes")
_TIES: Final = ("expected", "best", "worst", "order", "docid")


def check_compare(files: tuple[str, ...], options: CompareOptions, pairs: PairOptions) -> None:
    """Check what is given to `peckorder compare`."""
    _check_either(options, has_files=bool(files))
    _check_pairs(pairs, {name: getattr(options, name) for name in ("qrels", "rows", *_ROLES)})
    _check_by(options.by, pairs)
    if pairs.items is not None and len(files) != 1:
        raise refusal("file", "be one of pairs, with --items", ", ".join(files) or "none")
    SEED.check("seed", options.seed)
    whole(2).check("folds", options.folds)
    if options.rows is not None:
        whole(20).check("rows", options.rows)
    _check_report(options.out)
    _check_encodable("file", *files, *filter(None, [options.qrels]))
    read = [*files, options.qrels, pairs.items]
    check_outputs({"--save": options.save, "-o": options.out}, read)
    if options.save is not None:
        _check_encodable("save", options.save)
        _check_model_out("save", options.save)
    _check_there(*read)
    if len(files) == 1 and options.qrels is None:
        format_of(files[0], options.format)


def check_fit(file: str, options: FitOptions, pairs: PairOptions) -> None:
    """Check what is given to `peckorder fit`."""
    _check_pairs(pairs, {name: getattr(options, name) for name in _ROLES})
    _check_by(options.by, pairs)
    check_outputs({"-o": options.out}, [file, pairs.items])
    _check_model_out("out", options.out)
    _check_there(file, pairs.items)
    format_of(file, options.format)


def check_rank(
    model: str, files: tuple[str, ...], options: RankOptions, output: OutputOptions
) -> None:
    """Check what is given to `peckorder rank`."""
    _check_json(output, options.out)
    not_negative.check("min_gap", options.min_gap)
    optional(whole(1)).check("max_rows", options.max_rows)
    whole(1).check("rows", options.rows)
    for name in () if options.positions else ("cut", "max_rows", "sort"):
        if getattr(options, name):
            option = name.replace("_", "-")
            raise refusal(option, "be left out with --no-positions, which it needs", f"--{option}")
    # A run may be given as NAME=FILE.
    files_of_runs = [file.partition("=")[2] or None for file in files]
    check_outputs({"-o": options.out}, [model, *files, *files_of_runs])
    out_format(options, files)
    _check_there(model)
    for file, of_run in zip(files, files_of_runs, strict=True):
        _check_there(file if of_run is None or Path(file).exists() else of_run)
    if len(files) == 1 and (files_of_runs[0] is None or Path(files[0]).exists()):
        format_of(files[0], options.format)


def check_evaluate(
    file: str, options: EvaluateOptions, pairs: PairOptions, output: OutputOptions
) -> None:
    """Check what is given to `peckorder evaluate`."""
    ties = options.ties
    others = ("qrels", "target", "predicted", "classes", "qid", "per_query")
    _check_pairs(pairs, {name: getattr(options, name) for name in others})
    _check_json(output, options.per_query)
    if ties not in _TIES:
        hint = did_you_mean(ties, _TIES, {})
        raise refusal("ties", f"be one of {', '.join(_TIES)}", repr(ties), hint=hint)
    check_outputs(
        {"--per-query": options.per_query}, [file, pairs.items, options.qrels, options.model]
    )
    whole(1).check("bootstrap", options.bootstrap)
    whole(0).check("seed", options.seed)
    _check_there(file, pairs.items, options.qrels, options.model)
    if options.qrels is None or options.format is not None:
        format_of(file, options.format)


def check_fuse(runs: list[str], options: FuseOptions, output: OutputOptions) -> None:
    """Check what is given to `peckorder fuse`."""
    _check_json(output, options.out)
    check_outputs({"-o": options.out, "--save": options.save}, [*runs, options.qrels])
    optional(whole(1)).check("rounds", options.rounds)
    whole(2).check("folds", options.folds)
    if options.save is not None:
        if options.qrels is None:
            raise refusal("save", "go with qrels to learn from", "none")
        check_model("--save", options.save)
    if len(runs) < 2:
        raise refusal("runs", "be two or more", len(runs))
    _check_there(*runs, options.qrels)


def check_explain(
    model: str, file: str | None, options: ExplainOptions, output: OutputOptions
) -> None:
    """Check what is given to `peckorder explain`."""
    _check_json(output, options.out)
    whole(1).check("top", options.top)
    check_outputs({"-o": options.out}, [model, file])
    _check_there(model, file)
    if file is not None:
        format_of(file, options.format)


def check_info(model: str) -> None:
    """Check what is given to `peckorder info`."""
    _check_there(model)


def _check_pairs(pairs: PairOptions, others: Mapping[str, object]) -> None:
    """Refuse columns of pairs without items, and with items what is not of pairs."""
    given = {field.name: getattr(pairs, field.name) for field in fields(pairs)}
    if is_standard(pairs.items):
        raise refusal("items", "be a file", "'-'")
    if pairs.items is not None:
        given, rule = dict(others), "be left out with --items, where the file is of pairs"
    else:
        rule = "go with --items FILE, which has the items that a file of pairs names"
    for name, value in given.items():
        if value is not None:
            raise refusal(name.replace("_", "-"), rule, repr(str(value)))


def _check_by(by: str | None, pairs: PairOptions) -> None:
    if by is not None:
        one_of("pair", "row", "component").check("by", by)
        if pairs.items is None:
            raise refusal("by", "go with --items FILE, of pairs", repr(by))


def _check_there(*paths: str | None) -> None:
    for path in paths:
        if path is not None:
            check_is_file(path)


def _check_json(output: OutputOptions, out: object) -> None:
    if output.json and is_standard(out):
        raise refusal("--json", "not be given where rows go to standard output", "--out -")


def _check_either(options: CompareOptions, *, has_files: bool) -> None:
    """Refuse options that mean nothing with a file, or without one."""
    names, rule = ["repeats"], "be left out with a file, which has folds"
    if not has_files:
        others = ("folds", "repeats", "seed", "out")
        names = [field.name for field in fields(options) if field.name not in others]
        rule = "be left out without a file"
    for name in names:
        value = getattr(options, name)
        if value is not None:
            value = list(value) if isinstance(value, tuple) else value
            raise refusal(name, rule, repr(str(value)))


def _check_report(out: Path) -> None:
    """Refuse a path where no report can be written."""
    if is_standard(out):
        raise refusal("out", "be a file", "'-'")
    _check_encodable("out", out)
    with named("write"):
        check_path("path", out)


def _check_encodable(what: str, *paths: PathLike) -> None:
    """Refuse names that are not UTF-8, in which the report is written."""
    for path in paths:
        try:
            str(path).encode("utf-8")
        except UnicodeEncodeError:
            raise refusal(what, "have a name in UTF-8", f"{str(path)!a}") from None


def out_format(options: RankOptions, files: tuple[str, ...]) -> str:
    """Return the format to write: as given, by the name, or that of the input, else CSV."""
    if options.out_format is not None or not is_standard(options.out):
        advice = " Or say what it is, as by --out-format csv."
        return format_to_write(options.out, options.out_format, advice=advice)
    if not files:
        return "csv"
    file = files[0] if len(files) == 1 else "the.run"
    read = format_of(file, options.format)
    return "csv" if read is None or read in READ_ONLY else read


def _check_model_out(option: str, path: Path) -> None:
    """Refuse a path where no model is written."""
    if is_standard(path):
        raise refusal(option, "be a file", "'-'")
    check_model("-o" if option == "out" else f"--{option}", path)


def check_outputs(
    outputs: Mapping[str, PathLike | None], inputs: Iterable[PathLike | None]
) -> None:
    """Refuse files that cannot be written, are read, or are given for two outputs.

    `outputs` are files by their options; None and "-" are skipped.

    Examples
    --------
    >>> from peckorder.cli.checks import check_outputs
    >>> check_outputs({"-o": "no-such.csv"}, ["m.peckorder", "no-such.csv"])
    Traceback (most recent call last):
    peckorder.exceptions.DataError: -o must be another file than what is read; got \
'no-such.csv' for both.
    """
    read = [path for path in inputs if path is not None and not is_standard(path)]
    seen: dict[str, PathLike] = {}
    for option, path in outputs.items():
        if path is None or is_standard(path):
            continue
        check_target(path)
        if any(_is_same(path, other) for other in read):
            raise refusal(option, "be another file than what is read", f"{str(path)!r} for both")
        for before, other in seen.items():
            if _is_same(path, other):
                raise refusal(f"{before} and {option}", "be two files", f"{str(path)!r} for both")
        seen[option] = path


def check_model(option: str, path: PathLike) -> None:
    """Refuse to write a model over a file that is something else, and not empty."""
    if not Path(path).is_file():
        return
    from peckorder.storage.format.container import MAGIC

    with Path(path).open("rb") as file:
        head = file.read(len(MAGIC))
    if head not in (b"", MAGIC):
        raise refusal(
            option,
            "be a new file, or a model that is written over",
            f"{str(path)!r}, which is no model",
        )


def _is_same(path: PathLike, other: PathLike) -> bool:
    """Return whether two paths lead to one file; pipes and devices do not count."""
    if not (Path(path).exists() and Path(other).exists()):
        return os.path.realpath(path) == os.path.realpath(other)
    return Path(path).is_file() and os.path.samefile(path, other)
