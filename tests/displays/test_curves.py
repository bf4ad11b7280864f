"""Curves for matplotlib."""

from functools import partial
from reprlib import repr as short

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from peckorder import MPRank, RankBoost, metrics
from peckorder.displays import OnlineCurveDisplay, RankingCurveDisplay
from peckorder.exceptions import MissingExtraError
from support.helpers import exactly, refuses

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(10), 20)
Y, SCORE = RNG.integers(0, 3, 200), RNG.standard_normal(200)


TIED = SCORE.round()
MAKERS = {
    "ranking": partial(RankingCurveDisplay.from_predictions, Y, SCORE, qid=QID),
    "online": partial(OnlineCurveDisplay.from_predictions, Y, Y[::-1]),
}
every_display = pytest.mark.parametrize("draw", MAKERS.values(), ids=MAKERS)


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


@pytest.mark.parametrize(
    ("metric", "function"),
    [
        ("p(2)", lambda k, **more: metrics.precision_at(Y, TIED, k, good=2, **more)),
        ("recall", lambda k, **more: metrics.recall_at(Y, TIED, k, **more)),
        ("hits(top)", lambda k, **more: metrics.hits_at(Y, TIED, k, good="top", **more)),
        ("rank", lambda k, **more: metrics.expected_rank(Y, TIED, cap=k, **more)),
        ("NDCG", lambda k, **more: metrics.ndcg(Y, TIED, k=k, **more)),
    ],
)
@pytest.mark.parametrize("ties", ["expected", "worst"])
def test_a_ranking_curve_is_of_any_metric_with_a_cutoff(metric, function, ties):
    display = RankingCurveDisplay.from_predictions(
        Y, TIED, qid=QID, metric=metric, cutoffs=[1, 5], ties=ties, draw=False
    )
    expected = [function(k, qid=QID, ties=ties) for k in (1, 5)]
    assert_allclose(display.mean, expected, rtol=1e-14)
    assert display.metric == metric


def test_ties_may_be_broken_by_names():
    options = {"qid": QID, "ties": "docid", "docid": np.arange(200)[::-1]}
    display = RankingCurveDisplay.from_predictions(Y, TIED, cutoffs=[3], draw=False, **options)
    assert_allclose(display.mean, [metrics.ndcg(Y, TIED, k=3, **options)], rtol=1e-14)


def test_a_ranking_curve_of_a_model_is_that_of_its_scores():
    X = RNG.normal(size=(200, 3))
    model = make_pipeline(StandardScaler(), MPRank()).fit(X, Y)
    options = {"qid": QID, "metric": "p(2)", "cutoffs": [1, 5]}
    display = RankingCurveDisplay.from_estimator(model, X, Y, **options, color="red")
    expected = RankingCurveDisplay.from_predictions(Y, model.predict(X), **options)
    assert_array_equal(display.mean, expected.mean)
    assert display.name == "Pipeline"
    assert legend(display.ax_) == ["Pipeline"]
    assert display.line_.get_color() == "red"
    named = RankingCurveDisplay.from_estimator(model, X, Y, name="ours", draw=False, **options)
    assert named.name == "ours"


def test_a_ranking_curve_of_a_model_with_an_offset():
    X, offset = RNG.normal(size=(200, 3)), RNG.normal(size=200)
    model = RankBoost(n_rounds=3).fit(X, Y, qid=QID, offset=offset)
    options = {"qid": QID, "cutoffs": [3], "draw": False}
    display = RankingCurveDisplay.from_estimator(model, X, Y, offset=offset, **options)
    scores = model.predict(X, offset=offset)
    expected = RankingCurveDisplay.from_predictions(Y, scores, **options)
    assert_array_equal(display.mean, expected.mean)


@pytest.mark.parametrize("estimator", [MPRank, None, 5])
def test_a_curve_of_no_model_is_refused(estimator):
    sentence = (
        f"RankingCurveDisplay: estimator must be a model that can predict; got {short(estimator)}."
    )
    with refuses(sentence, TypeError):
        RankingCurveDisplay.from_estimator(estimator, [[1.0]], [1])


@pytest.mark.parametrize("cutoffs", [[5, 1, 5, 2], {1, 2, 5}, np.array([2, 5, 1]), iter([5, 2, 1])])
def test_cutoffs_are_put_in_order(cutoffs):
    display = RankingCurveDisplay.from_predictions(Y, SCORE, qid=QID, cutoffs=cutoffs)
    assert_array_equal(display.line_.get_xdata(), [1, 2, 5])


def test_a_ranking_curve_of_one_query_has_no_band():
    display = RankingCurveDisplay.from_predictions(Y, SCORE, cutoffs=[1, 5])
    assert np.isnan([display.low, display.high]).all()
    assert np.isfinite(display.line_.get_ydata()).all()


def test_a_curve_without_a_value_causes_a_warning():
    sentence = (
        "RankingCurveDisplay: 'p(7)' is undefined for every query, so that there is no curve."
    )
    with pytest.warns(UndefinedMetricWarning, match=exactly(sentence)):
        RankingCurveDisplay.from_predictions(Y, SCORE, qid=QID, metric="p(7)")


def test_a_ranking_curve_has_a_band():
    display = RankingCurveDisplay.from_predictions(Y, SCORE, qid=QID, name="ours")
    assert len(display.ax_.collections) == 1
    assert (display.low <= display.mean).all()
    assert (display.mean <= display.high).all()


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@every_display
def test_curves_share_axes_and_a_legend(draw):
    ax = draw(name="a").ax_
    draw(ax=ax)
    draw(name="b", ax=ax)
    assert legend(ax) == ["a", "b"]
    draw(ax=ax)
    assert legend(ax) == ["a", "b"]
    assert len(ax.lines) == 4


@every_display
def test_a_label_is_a_name(draw):
    assert legend(draw(label="a").ax_) == ["a"]


@every_display
@pytest.mark.parametrize("name", [None, "", "_hidden"])
def test_no_name_needs_no_legend(draw, name):
    assert draw(name=name).ax_.get_legend() is None


@every_display
def test_a_display_may_be_drawn_by_another_name(draw):
    display = draw(name="a", draw=False)
    assert legend(display.plot(name="b").ax_) == ["b"]
    assert legend(display.plot().ax_) == ["a"]


@every_display
def test_displays_can_be_compared(draw):
    first, second = draw(draw=False), draw(draw=False)
    assert [first, second].index(second) == 1


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
    with refuses(sentence, MissingExtraError):
        OnlineCurveDisplay.from_predictions([1, 2], [1, 2])


# Options are refused before anything is measured.


@pytest.mark.parametrize(
    "cutoffs",
    [[], 0, -1, 5, None, [0], [1, -1], [2.0], ["1"], "123", [True], [1, None], [2**60]],
    ids=repr,
)
def test_cutoffs_are_refused(cutoffs):
    sentence = (
        "RankingCurveDisplay: cutoffs must be integers from 1 to 2**53, one at least; "
        f"got {cutoffs!r}."
    )
    with refuses(sentence):
        RankingCurveDisplay.from_predictions(None, None, cutoffs=cutoffs)


@pytest.mark.parametrize(
    ("metric", "hint"),
    [
        ("ap", ""),
        ("tau", ""),
        ("p(best)", ""),
        ("ndcg(2)", ""),
        ("ndcg@10", " Give cut-offs as cutoffs=[...]."),
        ("p@5(2)", " Give cut-offs as cutoffs=[...]."),
        ("ndgc", " Did you mean 'ndcg'?"),
        ("", ""),
        (None, ""),
        (["p"], ""),
    ],
    ids=repr,
)
def test_metrics_without_a_cutoff_are_refused(metric, hint):
    sentence = (
        "RankingCurveDisplay: metric must be one that has a cut-off ('rr', 'p', "
        "'recall', 'hits', 'rank', 'ndcg', 'err'), with what is good or the gain in brackets "
        f"if need be ('p(2)', 'ndcg(exponential)'); got {metric!r}.{hint}"
    )
    with refuses(sentence):
        RankingCurveDisplay.from_predictions(None, None, metric=metric)


DISPLAYS = [RankingCurveDisplay, OnlineCurveDisplay]
each_display = pytest.mark.parametrize("display", DISPLAYS)


@each_display
@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        ("name", 5, "None or a string"),
        ("ax", "left", "None or axes of matplotlib"),
        ("ax", np.array([None]), "None or axes of matplotlib"),
        ("draw", "no", "True or False"),
        ("draw", None, "True or False"),
    ],
)
def test_options_are_refused(display, option, value, rule):
    sentence = f"{display.__name__}: {option} must be {rule}; got {value!r}."
    with refuses(sentence):
        display.from_predictions(None, None, **{option: value})


@each_display
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"cutoff": 3, "colour": "red", "lw": 2},
            "options must be those of matplotlib's plot; got cutoff, colour.",
        ),
        ({"draw": False, "color": "red"}, "options must be none with draw=False; got color."),
    ],
)
def test_options_of_lines_are_refused(display, options, sentence):
    with refuses(f"{display.__name__}: {sentence}", TypeError):
        display.from_predictions(None, None, **options)


@every_display
def test_options_of_plot_are_refused(draw):
    display = draw(draw=False)
    name = type(display).__name__
    with pytest.raises(ValueError, match=rf"^{name}: ax must be .*; got 3\.$"):
        display.plot(3)
    with pytest.raises(ValueError, match=rf"^{name}: name must be .*; got 3\.$"):
        display.plot(name=3)
    with pytest.raises(TypeError, match=rf"^{name}: options must be .*; got qid\.$"):
        display.plot(qid=QID)
    assert not hasattr(display, "ax_")
