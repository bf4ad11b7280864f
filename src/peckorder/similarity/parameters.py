"""The rules of the parameters that kernel functions have in every estimator."""

from dataclasses import replace
from typing import Final

from peckorder._core.validation import (
    Rules,
    did_you_mean,
    finite,
    one_of,
    optional,
    or_function,
    positive,
    whole,
)

NAMES: Final = ("linear", "poly", "rbf", "precomputed")
# What people call them elsewhere.
_ALIASES: Final = {"polynomial": "poly", "gauss": "rbf", "gaussian": "rbf", "radial": "rbf"}


def _hint(value: object) -> str:
    """Return a sentence that names what may have been meant."""
    if not isinstance(value, str):
        return ""
    # Only now: it takes longer to load than all of this package.
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    if value in PAIRWISE_KERNEL_FUNCTIONS and value not in _ALIASES:
        function = PAIRWISE_KERNEL_FUNCTIONS[value].__name__
        return f" Pass the function sklearn.metrics.pairwise.{function} itself."
    return did_you_mean(value, (*NAMES, *PAIRWISE_KERNEL_FUNCTIONS), _ALIASES)


def _gamma_hint(value: object) -> str:
    if not isinstance(value, str):
        return ""
    if value == "auto":
        return " None is 1 / n_features, which is 'auto' elsewhere."
    if value == "scale":
        return " Give the number itself, 1 / (X.shape[1] * X.var())."
    return ""


KERNEL_RULES: Final[Rules] = {
    "kernel": replace(or_function(one_of(*NAMES), "of two matrices"), hint=_hint),
    "gamma": replace(optional(positive), hint=_gamma_hint),
    "degree": whole(1),
    "coef0": finite,
    "budget": optional(whole(1)),
}
