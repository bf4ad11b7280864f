"""`peckorder reproduce`: a paper's tables and figures, ours beside the printed."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from peckorder.cli.options import AsJson, Quiet


def reproduce(
    name: str | None = None,
    /,
    *,
    preset: str = "quick",
    data: Path | None = None,
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path("."),
    seed: int = 0,
    jobs: int | None = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Regenerate a paper's tables and figures; without a name, list the papers.

    Example: peckorder reproduce cortes-2007 --preset full --data my-data --out results

    Writes NAME-PRESET.html and NAME-PRESET.json. An interrupted run goes on where it
    stopped when the command is given again.

    Parameters
    ----------
    name
        The paper, such as freund-2003.
    preset
        quick: seconds, on made data. full: minutes, on real data. paper: the printed
        number of repetitions, hours.
    data
        Folder with the data sets; else the one that PECKORDER_DATA names.
    out
        Folder for the files; made if it is not there.
    seed
        Where the random numbers start.
    jobs
        Processes that work side by side; by default one a core.
    json
        Print the results as JSON, with the files they are in.
    quiet
        Print nothing but errors.
    """
    from peckorder.cli.reproduce.work import run_reproduce

    run_reproduce(
        name,
        preset=preset,
        data=data,
        out=out,
        seed=seed,
        jobs=jobs,
        json=json,
        quiet=quiet,
    )
