"""The JSON header of a model file: strict, short and shallow."""

import json
from itertools import accumulate
from re import DOTALL
from re import compile as pattern
from typing import Any, NoReturn

from peckorder.storage.format.damaged import Damaged

# Python needs some thirty times as much for what it reads.
LONGEST = 1 << 23
DEEPEST = 32

# Never steps back, and matches a text without an end too: linear in any header.
_TEXT = pattern(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', DOTALL)
# The longest integer that `scalar` writes has fewer.
_MOST_DIGITS = 1300
_NO_BRACKETS = pattern(rb"[^\[\]{}]+")


def encoded(header: dict[str, Any]) -> bytes:
    """Write a header, equal ones as equal bytes. Floats come back to the bit."""
    text = json.dumps(
        header,
        allow_nan=False,
        sort_keys=True,
        separators=(",", ":"),
        check_circular=False,
    )
    return text.encode("ascii")


def decoded(text: bytes) -> dict[str, Any]:
    """Read a header; refuse what is deep, says a thing twice, or is no JSON."""
    if _depth(text) > DEEPEST:
        raise Damaged(f"whose header is nested more than {DEEPEST} deep")
    try:
        header = json.loads(
            text.decode("ascii"),
            object_pairs_hook=_once_each,
            parse_constant=_refuse_constant,
            parse_int=_whole,
        )
    except (ValueError, RecursionError):
        raise Damaged("whose header is no JSON") from None
    if not isinstance(header, dict):
        raise Damaged("whose header is no JSON object")
    return header


def _depth(text: bytes) -> int:
    """Return how deep brackets are nested, before anything is made of them."""
    brackets = _NO_BRACKETS.sub(b"", _TEXT.sub(b"", text))
    steps = (1 if bracket in b"[{" else -1 for bracket in brackets)
    return max(accumulate(steps), default=0)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Damaged("whose header says a thing twice")
    return found


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError
    return int(digits)


def _refuse_constant(word: str) -> NoReturn:
    raise Damaged(f"whose header has {word}, which is no JSON")
