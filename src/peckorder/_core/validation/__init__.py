"""The one boundary between users' input and the arrays that the rest trusts."""

from peckorder._core.validation.matrices import (
    as_rows,
    check_csr,
    check_finite,
    check_rows,
    check_unusable_row,
    count_rows,
)
from peckorder._core.validation.parameters import (
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
from peckorder._core.validation.vectors import numbers, one_a_row, weights

__all__ = [
    "Rule",
    "Rules",
    "as_rows",
    "boolean",
    "check_csr",
    "check_finite",
    "check_parameters",
    "check_rows",
    "check_unusable_row",
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
