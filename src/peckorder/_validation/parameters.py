"""Rules for parameters, and the one sentence said when a rule is broken."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np


@dataclass(frozen=True, slots=True)
class Rule:
    """A predicate on one parameter, with the words used when it fails."""

    text: str
    accepts: Callable[[Any], bool]


Rules: TypeAlias = dict[str, Rule]

boolean = Rule("True or False", lambda value: isinstance(value, bool | np.bool_))


def whole(minimum: int) -> Rule:
    """Accept integers not below `minimum`; booleans are refused."""

    def accepts(value: Any) -> bool:
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        return is_whole and int(value) >= minimum

    return Rule(f"an integer >= {minimum}", accepts)


def _is_positive(value: Any) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and 0 < float(value) < inf


positive = Rule("a finite number > 0", _is_positive)


def one_of(*choices: str) -> Rule:
    """Accept exactly the given words."""
    words = ", ".join(repr(choice) for choice in choices)
    return Rule(
        f"one of {words}", lambda value: isinstance(value, str) and value in choices
    )


def check_parameters(owner: Any, rules: Rules) -> None:
    """Raise on the first attribute of `owner` that breaks its rule."""
    for name, rule in rules.items():
        value = getattr(owner, name)
        if not rule.accepts(value):
            raise ValueError(
                f"{type(owner).__name__}: {name} must be {rule.text}; got {value!r}."
            )
