"""The settings that `compare` gives a ranker, for whoever fits one by its name."""

import warnings
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from peckorder._core.typing import Floats, Ints
from peckorder.compare.candidates import registry as entrants
from peckorder.compare.candidates.calibration import fit
from peckorder.compare.candidates.registry import Entrant, Setting
from peckorder.compare.candidates.tuning import SampledMPRank, list_loss, pair_loss

# Settings are chosen on so many rows; all rows are then learnt with them.
MOST_ROWS: Final = 50_000
_TITLES: Final = {"AggregatePRank": "OAP-BPM (100 PRanks)"}
_ENTRANTS: Final = {
    "ordinal": entrants.ordinal,
    "graded": entrants.graded,
    "magnitude": entrants.magnitude,
}


class Settings(NamedTuple):
    """Parameters: those that `compare` gives, those chosen, those set by hand."""

    as_in_compare: Mapping[str, Any]
    chosen: Mapping[str, Any]
    by_hand: Mapping[str, Any]

    def told(self) -> str:
        """Say them in a sentence."""
        parts = [
            (self.as_in_compare, "as in compare"),
            (self.chosen, "chosen on rows left out"),
            (self.by_hand, "--set"),
        ]
        texts = [f"{_written(values)} ({why})" for values, why in parts if values]
        return f"settings: {'; '.join(texts) or 'the defaults of the class'}"


def entrant_of(name: str, kind: str) -> Entrant | None:
    """Return who takes part in `compare` under the name of a class; None if nobody."""
    title = _TITLES.get(name, name)
    ours = (e for e in _ENTRANTS[kind]() if e.home == "peckorder")
    return next((entrant for entrant in ours if entrant.name == title), None)


def setting_of(kind: str, n_features: int, seed: int) -> Setting:
    """Return what an entrant is made for."""
    loss = list_loss("ndcg@10") if kind == "graded" else pair_loss
    return Setting(seed, n_features, loss=loss)


def fixed_settings(entrant: Entrant, setting: Setting) -> dict[str, Any]:
    """Return the parameters that are not the class's own, and not chosen.

    Examples
    --------
    >>> from peckorder.compare.candidates.settings import entrant_of, fixed_settings
    >>> from peckorder.compare.candidates.settings import setting_of
    >>> fixed_settings(entrant_of("PRank", "ordinal"), setting_of("ordinal", 2, 0))
    {'max_iter': 10, 'random_state': 0, 'shuffle': True, 'unit_norm': False}
    """
    model = entrant.make(setting)
    while type(model).__module__.startswith("peckorder.compare"):
        if isinstance(model, SampledMPRank):
            return {}
        parts = model.get_params(deep=False)
        model = parts.get("scorer", parts.get("model"))
    usual = type(model)().get_params(deep=False)
    given = model.get_params(deep=False)
    return {
        name: value
        for name, value in given.items()
        if name != "classes" and value != usual[name]
    }


def fit_as_in_compare(
    entrant: Entrant,
    setting: Setting,
    X: Floats,
    y: Floats,
    qid: Ints | None,
    groups: Ints | None,
) -> Any:
    """Fit an entrant, which chooses what it does not know on rows left out."""
    with warnings.catch_warnings():
        # Of fits on parts of the rows.
        warnings.simplefilter("ignore")
        return fit(entrant.make(setting), X, y, qid, groups)


def chosen_of(model: Any) -> dict[str, Any]:
    """Return what a fitted entrant chose."""
    chosen: dict[str, Any] = {}
    while model is not None and type(model).__module__.startswith("peckorder.compare"):
        seen = vars(model)
        chosen |= seen.get("chosen_", {})
        model = seen.get("scorer_", seen.get("model_"))
    return {k: v.item() if hasattr(v, "item") else v for k, v in chosen.items()}


def _written(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
