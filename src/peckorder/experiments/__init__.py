"""The papers' experiments, ours beside the printed figures: one package per paper."""

from importlib import import_module

from peckorder._core.errors import entry_named
from peckorder._core.validation import Rule
from peckorder.experiments.framework import Claim, Comparison, Experiment, Measured, Part, Shown
from peckorder.experiments.framework.report import claims_table, report, stem_of, write
from peckorder.experiments.framework.run import (
    TRIAL,
    Outcome,
    PartOutcome,
    check,
    fingerprint,
    is_trial,
    run,
)

# Imported on demand, because every paper imports the rankers that it compares.
_MODULES = {
    "crammer-singer-2001": "crammer_singer_2001",
    "harrington-2003": "harrington_2003",
    "cortes-2007": "cortes_2007",
    "freund-2003": "freund_2003",
}
NAMES = tuple(_MODULES)

__all__ = [
    "NAMES",
    "TRIAL",
    "Claim",
    "Comparison",
    "Experiment",
    "Measured",
    "Outcome",
    "Part",
    "PartOutcome",
    "Shown",
    "check",
    "claims_table",
    "find",
    "fingerprint",
    "is_trial",
    "report",
    "run",
    "stem_of",
    "write",
]


@entry_named("experiments")
def find(name: str) -> Experiment:
    """Return the experiment of that name.

    Parameters
    ----------
    name : str
        One of ``experiments.NAMES``.

    Returns
    -------
    Experiment
        The argument of `run`.

    Examples
    --------
    >>> from peckorder import experiments
    >>> experiments.find("crammer-singer-2001").title
    'Pranking with Ranking'
    """
    Rule(f"one of {', '.join(NAMES)}", lambda value: value in NAMES).check("name", name)
    module = import_module(f"peckorder.experiments.{_MODULES[name]}")
    experiment: Experiment = module.EXPERIMENT
    return experiment
