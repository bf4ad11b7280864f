"""Rules of parameters. What only says that one is wrong need not import scikit-learn."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, NoReturn, TypeAlias

import numpy as np

from peckorder._core.errors import refusal


@dataclass(frozen=True, slots=True)
class Rule:
    """A predicate on one parameter, with the words of the message when it fails."""

    text: str
    accepts: Callable[[Any], bool]
    hint: Callable[[Any], str] = lambda value: ""

    def check(self, name: str, value: object) -> None:
        """Raise if `value` breaks the rule."""
        if not self.accepts(value):
            raise refusal(
                name, f"be {self.text}", repr(value), hint=self.hint(value), error=ValueError
            )


Rules: TypeAlias = dict[str, Rule]

LARGEST = float(np.finfo(np.float64).max)
# What compiled functions count with.
_BEYOND_64_BITS = 2**63

boolean = Rule("True or False", lambda value: isinstance(value, bool | np.bool_))


def is_number(value: object) -> bool:
    """Whether a value is a real number, booleans included, durations not.

    NumPy counts its durations among the integers.
    """
    return isinstance(value, Real) and not isinstance(value, np.timedelta64)


def whole(minimum: int) -> Rule:
    """Accept integers not below `minimum`; booleans are refused."""

    def accepts(value: object) -> bool:
        if isinstance(value, bool) or not (isinstance(value, Integral) and is_number(value)):
            return False
        return int(value) >= minimum

    return Rule(f"an integer >= {minimum}", accepts)


# NumPy's generators take no larger seed, and every repetition adds one.
SEED = Rule("an integer from 0 to 2**31", lambda value: whole(0).accepts(value) and value <= 2**31)


def _is_number(value: object) -> bool:
    return is_number(value) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Return a number of Python, which compares exactly with one of any size."""
    return value.item() if isinstance(value, np.generic) else value


# Compared, not converted: an integer may be too large for a float.
positive = Rule(
    "a finite number > 0", lambda value: _is_number(value) and 0 < _plain(value) < LARGEST
)
not_negative = Rule(
    "a finite number >= 0", lambda value: _is_number(value) and 0 <= _plain(value) < LARGEST
)


finite = Rule(
    "a finite number", lambda value: _is_number(value) and -LARGEST < _plain(value) < LARGEST
)
one_or_two = Rule("1 or 2", lambda value: whole(1).accepts(value) and value <= 2)
fraction = Rule("a number > 0 and <= 1", lambda value: _is_number(value) and 0 < value <= 1)
open_fraction = Rule("a number > 0 and < 1", lambda value: _is_number(value) and 0 < value < 1)


def optional(rule: Rule) -> Rule:
    """Accept None as well."""
    return Rule(
        f"None or {rule.text}", lambda value: value is None or rule.accepts(value), rule.hint
    )


def or_function(rule: Rule, kind: str) -> Rule:
    """Accept functions as well."""
    return Rule(
        f"{rule.text} or a function {kind}", lambda value: callable(value) or rule.accepts(value)
    )


def one_of(*choices: str, aliases: Mapping[str, str] | None = None) -> Rule:
    """Accept exactly the given words; for others, suggest similar ones."""
    words = ", ".join(repr(choice) for choice in choices)
    return Rule(
        f"one of {words}",
        lambda value: isinstance(value, str) and value in choices,
        lambda value: did_you_mean(value, choices, aliases or {}),
    )


def did_you_mean(value: object, choices: Iterable[str], aliases: Mapping[str, str]) -> str:
    """Return a sentence that suggests what was meant, or nothing."""
    word = value.lower() if isinstance(value, str) else ""
    if word in aliases:
        return f" Did you mean {aliases[word]!r}?"
    by_lower_name = {choice.lower(): choice for choice in choices}
    near = [by_lower_name[name] for name in get_close_matches(word, by_lower_name)]
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def check_parameters(owner: object, rules: Rules) -> None:
    """Raise on the first attribute of `owner` that breaks its rule, or 64 bits."""
    for name, rule in rules.items():
        value = getattr(owner, name)
        rule.check(name, value)
        if isinstance(value, Integral) and abs(int(value)) >= _BEYOND_64_BITS:
            raise refusal(name, "be below 2**63, as an integer", repr(value), error=ValueError)


def refuse_parameter(owner: object, name: str, rule: str) -> NoReturn:
    """Refuse an attribute of `owner` that breaks a rule together with others."""
    raise refusal(name, rule, repr(getattr(owner, name)), error=ValueError)
