"""What PersonalRanker answers with: lists to go through, explanations to read."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from peckorder import Ratings
from peckorder.collaborative import PersonalRanker

USERS, ITEMS = np.divmod(np.arange(20 * 30), 30)
KEPT = (USERS * 7 + ITEMS * 5) % 4 > 0
VALUES = 1.0 + (USERS * ITEMS + ITEMS) % 5
RATINGS = Ratings(USERS[KEPT], ITEMS[KEPT], VALUES[KEPT])
MODEL = PersonalRanker(n_factors=1, random_state=0).fit(RATINGS)


def test_a_list_is_iterated_by_rows():
    listed = MODEL.recommend(3, 4)
    rows = list(listed)
    assert len(rows) == len(listed) == 4
    assert [row.item for row in rows] == listed.items.tolist()
    assert [row.score for row in rows] == listed.scores.tolist()
    assert [row.gap for row in rows] == listed.gaps.tolist()
    item, score, gap, above = rows[0]
    assert (item, score) == (listed.items[0], listed.scores[0])
    assert gap == listed.gaps[0]
    assert above is bool(listed.above_cut[0])


@pytest.mark.parametrize(("method", "kind"), [("pandas", pd), ("polars", pl)])
def test_a_list_as_a_frame(method, kind):
    listed = MODEL.recommend(3, 4)
    frame = getattr(listed, f"to_{method}")()
    assert isinstance(frame, kind.DataFrame)
    assert list(frame.columns) == ["item", "score", "gap", "above_cut"]
    assert frame["item"].to_list() == listed.items.tolist()
    assert frame["score"].to_list() == listed.scores.tolist()
    assert frame["above_cut"].to_list() == listed.above_cut.tolist()


def test_an_empty_list():
    model = PersonalRanker(n_factors=1, random_state=0).fit(RATINGS)
    for item in RATINGS.items.tolist():
        model.update(3, item, 1.0 + item % 5)
    listed = model.recommend(3)
    assert list(listed) == []
    assert len(listed.to_pandas()) == len(listed) == 0


def test_an_explanation_shows_its_strongest_parts():
    explanation = MODEL.explain(3, 5)
    assert len(explanation.items) > 10
    assert len(explanation.viewers) > 10
    lines = repr(explanation).splitlines()
    cells = [line.rsplit(maxsplit=1) for line in lines]
    assert cells[0] == ["predicted rating", f"{explanation.score:.2f}"]
    assert cells[1] == ["the item's mean", f"{explanation.item_mean:.2f}"]
    assert cells[2] == ["the person's level", f"{explanation.person:+.3f}"]
    first, last = explanation.items[0], explanation.viewers[9]
    assert cells[3] == [f"by rated item {first}", f"{explanation.by_items[0]:+.3f}"]
    more = len(explanation.items) - 10
    assert cells[13] == [f"{more} more", f"{explanation.by_items[10:].sum():+.3f}"]
    assert cells[23] == [f"by viewer {last}", f"{explanation.by_viewers[9]:+.3f}"]
    assert cells[25] == ["by factors of all people", f"{explanation.by_factors:+.3f}"]
    assert lines[26:] == [
        "Rated items add as much as viewers and factors do: two views of one sum."
    ]


def test_lists_and_explanations_are_tables_in_notebooks():
    ratings = Ratings(
        list("aabbbcc"), ["<i>", "y", "<i>", "y", "z", "y", "z"], [5, 1, 4, 2, 5, 1, 4]
    )
    model = PersonalRanker(n_factors=1, random_state=0).fit(ratings)
    listed, explained = model.recommend("a")._repr_html_(), model.explain("a", "z")._repr_html_()
    assert listed.startswith("<table><thead><tr><th>item</th><th>score</th>")
    assert "<td>by rated item &lt;i&gt;</td>" in explained
    assert "<i>" not in explained
