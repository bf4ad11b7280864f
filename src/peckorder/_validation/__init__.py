"""The one boundary between users' input and the arrays that the rest trusts."""

from peckorder._validation.columns import numbers, one_a_row, weights
from peckorder._validation.parameters import (
    Rule,
    Rules,
    boolean,
    check_parameters,
    did_you_mean,
    finite,
    fraction,
    not_negative,
    one_of,
    optional,
    positive,
    whole,
)
from peckorder._validation.rows import (
    as_rows,
    check_csr,
    check_finite,
    check_rows,
    check_stopped_row,
    count_rows,
)

__all__ = [
    "Rule",
    "Rules",
    "as_rows",
    "boolean",
    "check_csr",
    "check_finite",
    "check_parameters",
    "check_rows",
    "check_stopped_row",
    "count_rows",
    "did_you_mean",
    "finite",
    "fraction",
    "not_negative",
    "numbers",
    "one_a_row",
    "one_of",
    "optional",
    "positive",
    "weights",
    "whole",
]
