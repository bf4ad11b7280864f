"""Rules for parameters, and the one sentence said when a rule is broken."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np


@dataclass(frozen=True, slots=True)
class Rule:
    """A predicate on one parameter, with the words used when it fails."""

    text: str
    accepts: Callable[[Any], bool]
    hint: Callable[[Any], str] = lambda value: ""

    def check(self, who: str, name: str, value: Any) -> None:
        """Raise, in the one form there is, if `value` breaks the rule."""
        if not self.accepts(value):
            raise ValueError(
                f"{who}: {name} must be {self.text}; got {value!r}.{self.hint(value)}"
            )


Rules: TypeAlias = dict[str, Rule]

LARGEST = float(np.finfo(np.float64).max)

boolean = Rule("True or False", lambda value: isinstance(value, bool | np.bool_))


def whole(minimum: int) -> Rule:
    """Accept integers not below `minimum`; booleans are refused."""

    def accepts(value: Any) -> bool:
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        return is_whole and int(value) >= minimum

    return Rule(f"an integer >= {minimum}", accepts)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Return a number of Python, which compares with one of any size, and exactly."""
    return value.item() if isinstance(value, np.generic) else value


# Compared, not converted: an integer may be too large for a float.
positive = Rule(
    "a finite number > 0",
    lambda value: _is_number(value) and 0 < _plain(value) < LARGEST,
)
not_negative = Rule(
    "a finite number >= 0",
    lambda value: _is_number(value) and 0 <= _plain(value) < LARGEST,
)


finite = Rule(
    "a finite number",
    lambda value: _is_number(value) and -LARGEST < _plain(value) < LARGEST,
)
fraction = Rule(
    "a number > 0 and <= 1", lambda value: _is_number(value) and 0 < value <= 1
)


def optional(rule: Rule) -> Rule:
    """Accept None as well."""
    return Rule(
        f"None or {rule.text}",
        lambda value: value is None or rule.accepts(value),
        rule.hint,
    )


def one_of(*choices: str, aliases: Mapping[str, str] | None = None) -> Rule:
    """Accept exactly the given words; for others, name those that are meant or near."""
    words = ", ".join(repr(choice) for choice in choices)
    return Rule(
        f"one of {words}",
        lambda value: isinstance(value, str) and value in choices,
        lambda value: did_you_mean(value, choices, aliases or {}),
    )


def did_you_mean(value: Any, choices: Iterable[str], aliases: Mapping[str, str]) -> str:
    """Return a sentence that names what may have been meant, if anything comes near."""
    word = value.lower() if isinstance(value, str) else ""
    if word in aliases:
        return f" Did you mean {aliases[word]!r}?"
    near = get_close_matches(word, list(dict.fromkeys(choices)))
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def check_parameters(owner: Any, rules: Rules) -> None:
    """Raise on the first attribute of `owner` that breaks its rule."""
    for name, rule in rules.items():
        rule.check(type(owner).__name__, name, getattr(owner, name))
