"""Curves for matplotlib."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers import exactly
from peckorder import metrics
from peckorder.displays import OnlineCurveDisplay, RankingCurveDisplay
from peckorder.exceptions import MissingExtraError

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(10), 20)
Y, SCORE = RNG.integers(0, 3, 200), RNG.standard_normal(200)


@pytest.fixture(autouse=True)
def no_screen():
    from matplotlib import pyplot

    with mpl.rc_context({"backend": "agg"}):
        yield
        pyplot.close("all")


def test_a_ranking_curve_shows_the_metric_at_its_cutoffs():
    display = RankingCurveDisplay.from_predictions(Y, SCORE, qid=QID, cutoffs=[1, 5])
    expected = [metrics.ndcg(Y, SCORE, qid=QID, k=k) for k in (1, 5)]
    assert_array_equal(display.line_.get_ydata(), expected)


def test_a_ranking_curve_has_a_band():
    display = RankingCurveDisplay.from_predictions(Y, SCORE, qid=QID, name="ours")
    assert len(display.ax_.collections) == 1
    assert (display.low <= display.mean).all()
    assert (display.mean <= display.high).all()


def test_curves_share_axes_and_a_legend():
    first = RankingCurveDisplay.from_predictions(Y, SCORE, qid=QID, name="a")
    RankingCurveDisplay.from_predictions(Y, Y, qid=QID, name="b", ax=first.ax_)
    names = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert names == ["a", "b"]


def test_options_reach_the_line():
    display = RankingCurveDisplay.from_predictions(Y, SCORE, qid=QID, color="red")
    assert display.line_.get_color() == "red"


def test_a_display_can_be_drawn_again():
    display = RankingCurveDisplay.from_predictions(Y, SCORE, qid=QID, draw=False)
    assert not hasattr(display, "ax_")
    assert display.plot().figure_ is display.ax_.figure


def test_an_online_curve_shows_the_running_mean():
    display = OnlineCurveDisplay.from_predictions(Y, Y[::-1], name="reversed")
    expected = metrics.time_averaged_rank_loss(Y, Y[::-1])
    assert_array_equal(display.line_.get_ydata(), expected)


def test_a_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    sentence = (
        "displays: matplotlib must be installed to draw; got none. Type "
        "pip install 'peckorder[plot]'."
    )
    with pytest.raises(MissingExtraError, match=exactly(sentence)):
        OnlineCurveDisplay.from_predictions([1, 2], [1, 2])
