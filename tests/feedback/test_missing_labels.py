"""Rows without a label form no pairs, if that is what a missing label means."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peckorder import Preferences
from peckorder.exceptions import DataError
from support.helpers import exactly

FEW = settings(max_examples=60, deadline=None)
NAN = float("nan")
SKIP = {"missing_labels": "skip"}


def listed(preferences):
    columns = (*preferences.pairs(), preferences.sizes())
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


@FEW
@given(st.lists(st.tuples(st.sampled_from([NAN, 0, 1, 2.5]), st.sampled_from("ab")), min_size=1))
def test_pairs_are_those_among_the_rows_with_a_label(rows):
    y, qid = map(list, zip(*rows, strict=True))
    kept = np.flatnonzero(~np.isnan(y))
    filled, among = np.nan_to_num(y), lambda some: some.among(kept)
    for given_as, ids in ((None, None), (qid, qid), (iter(qid), qid)):
        found = Preferences.from_grades(y, given_as, "gap", **SKIP)
        assert listed(found) == listed(among(Preferences.from_grades(filled, ids, "gap")))
        found = Preferences.from_labels(y, ids, **SKIP)
        assert listed(found) == listed(among(Preferences.from_labels(filled, ids)))


NAMES = ["low", "high"]
KINDS = {
    "None": [2, None, 1],
    "NaN among integers": [2, NAN, 1],
    "single precision": np.array([2, NAN, 1], np.float32),
    "objects": np.array([2, None, 1], object),
    "nullable integers": pd.Series([2, None, 1], dtype="Int64"),
    "nullable floats": pd.Series([2, None, 1], dtype="Float64", index=[5, 5, 5]),
    "ordered categories": pd.Series(
        pd.Categorical(["high", None, "low"], categories=NAMES, ordered=True)
    ),
    "polars": pl.Series([2, None, 1]),
    "polars' categories": pl.Series(["high", None, "low"], dtype=pl.Enum(NAMES)),
}


@pytest.mark.parametrize("y", KINDS.values(), ids=KINDS)
def test_whatever_says_that_a_label_is_missing(y):
    assert listed(Preferences.from_grades(y, **SKIP)) == [(0, 2, 1.0, 1.0)]
    with pytest.raises(
        DataError, match=r"in row 1\. If a missing label means no opinion on its row"
    ):
        Preferences.from_grades(y)


REFUSED = {
    "a word": (
        lambda: Preferences.from_grades([1, 2], missing_labels="drop"),
        "missing_labels must be one of 'raise', 'skip'; got 'drop'.",
    ),
    "infinity beside a missing label": (
        lambda: Preferences.from_grades([NAN, 1, np.inf], **SKIP),
        "y must be finite numbers; got inf in row 2.",
    ),
    "infinity before a missing label": (
        lambda: Preferences.from_grades([np.inf, NAN]),
        "y must be finite numbers; got inf in row 0.",
    ),
    "text beside a missing label": (
        lambda: Preferences.from_grades([None, 1, "good"], **SKIP),
        "y must be numbers or an ordered categorical; got 'good' in row 2.",
    ),
    "queries of the labelled rows only": (
        lambda: Preferences.from_grades([NAN, 1, 2], [7, 7], **SKIP),
        "qid must be one value per row, 3 in all; got 2.",
    ),
}


@pytest.mark.parametrize(("call", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(call, sentence):
    with pytest.raises((DataError, ValueError), match=exactly(f"Preferences: {sentence}")):
        call()
