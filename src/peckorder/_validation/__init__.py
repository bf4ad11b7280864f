"""The one boundary between users' input and the arrays that the rest trusts."""

from peckorder._validation.parameters import (
    Rule,
    Rules,
    boolean,
    check_parameters,
    one_of,
    positive,
    whole,
)
from peckorder._validation.rows import as_rows, check_finite_row, check_rows, count_rows

__all__ = [
    "Rule",
    "Rules",
    "as_rows",
    "boolean",
    "check_finite_row",
    "check_parameters",
    "check_rows",
    "count_rows",
    "one_of",
    "positive",
    "whole",
]
