"""Pictures of what PRank does: a row that is learnt, and the version space."""

from copy import deepcopy
from functools import partial

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Annotation
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from peckorder import AggregatePRank, PRank, WidrowHoff
from peckorder.displays import PRankUpdateDisplay, VersionSpaceDisplay
from support import online_oracles
from support.helpers import integer_data, real_data, refuses, same

VIEW = {"fit_intercept": False, "unit_norm": False}
X, Y = real_data(0, n=60)
LAST = PRank(rule="last").fit(X[:40], Y[:40])
COLUMN = np.array([[0.3], [1.0], [2.0], [3.2], [4.0], [5.0]])
HALVES = [1, 1, 1, 2, 2, 2]
few = partial(AggregatePRank, n_estimators=7, random_state=0, max_iter=20, **VIEW)
ENSEMBLE = few().fit(COLUMN, HALVES)
draw_update = partial(PRankUpdateDisplay.from_estimator, LAST, X[40], Y[40])
draw_space = partial(VersionSpaceDisplay.from_estimator, ENSEMBLE, COLUMN, HALVES)
each = pytest.mark.parametrize("make", [draw_update, draw_space], ids=["update", "space"])


@pytest.fixture(autouse=True)
def no_screen():
    from matplotlib import pyplot

    with mpl.rc_context({"backend": "agg"}):
        yield
        pyplot.close("all")


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_an_update_is_that_of_the_definition(seed, k):
    A, b = integer_data(seed, n=12, k=k)
    model = PRank(rule="last", classes=range(1, k + 1), **VIEW).fit(A[:11], b[:11])
    oracle = online_oracles.PRank(3, k, "last")
    oracle.progressive(A[:11].tolist(), b[:11].tolist())
    display = PRankUpdateDisplay.from_estimator(model, A[11], b[11], draw=False)
    assert (display.score, display.thresholds.tolist()) == (oracle.score(A[11]), oracle.b)
    oracle.learn(A[11], b[11])
    assert (display.new_score, display.new_thresholds.tolist()) == (oracle.score(A[11]), oracle.b)
    assert display.classes[display.level] == b[11]


@pytest.mark.parametrize(
    "options", [{}, {"kernel": "rbf"}, {"update": "projection"}, {"update": "romma"}, {"budget": 5}]
)
def test_any_kernel_and_update_is_shown(options):
    model = PRank(rule="last", **options).fit(X[:40], Y[:40])
    before = deepcopy(vars(model))
    display = PRankUpdateDisplay.from_estimator(model, X[40], Y[40])
    assert same(vars(model), before)
    assert_array_equal(display.thresholds, model.thresholds_)
    model.partial_fit(X[40:41], Y[40:41])
    assert_array_equal(display.new_thresholds, model.thresholds_)
    assert display.new_score == model.decision_function(X[40:41])[0]


def test_the_picture_of_an_update():
    model = PRank(rule="last", classes=["low", "mid", "high"], **VIEW)
    model.fit([[1.0], [2.0]], ["low", "high"])
    display = PRankUpdateDisplay.from_estimator(model, [0.5], "mid", name="row", color="blue")
    assert_array_equal(display.line_.get_xdata(), [display.score, display.new_score])
    assert display.line_.get_color() == "blue"
    ax = display.ax_
    arrows = [text for text in ax.texts if isinstance(text, Annotation)]
    moved = display.thresholds != display.new_thresholds
    assert [(arrow.xyann[0], arrow.xy[0]) for arrow in arrows] == list(
        zip(display.thresholds[moved], display.new_thresholds[moved], strict=True)
    )
    # "mid" has no interval before: both thresholds are 0.
    names = [text.get_text() for text in ax.texts if not isinstance(text, Annotation)]
    assert names == ["low", "high", "low", "mid", "high"]
    shaded = [band.get_paths()[0].get_extents() for band in ax.collections]
    assert [(band.x0, band.x1) for band in shaded] == [(0.0, 0.0), (0.0, 1.0)]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["before", "after"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["row"]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(1, 3)), min_size=3, max_size=12),
    st.integers(1, 2),
    st.integers(0, 2**32 - 1),
)
def test_mistakes_of_an_arc_are_those_of_its_rules(rows, threshold, seed):
    A, b = np.array(rows, dtype=float)[:, :1] / 2, np.array([label for _, label in rows])
    model = few(classes=[1, 2, 3], max_iter=1).fit(A, b)
    display = VersionSpaceDisplay.from_estimator(model, A, b, threshold=threshold, draw=False)
    edges = display.edges
    assert (edges[0], edges[-1]) == (-np.pi, np.pi)
    angles = np.random.default_rng(seed).uniform(-np.pi, np.pi, 50)
    for angle in angles[np.abs(angles[:, np.newaxis] - edges).min(axis=1) > 1e-9]:
        wrong = (A[:, 0] * np.cos(angle) >= np.sin(angle)) != (b > threshold)
        assert display.mistakes[np.searchsorted(edges, angle) - 1] == wrong.sum()
    assert_allclose(display.members[:, 0], model.member_coef_[:, 0])
    assert_allclose(display.members[:, 1], model.member_thresholds_[:, threshold - 1])
    assert_allclose(display.mean, display.members.mean(axis=0))


def test_the_version_space_is_where_all_rows_are_right():
    display = draw_space(draw=False)
    ((low, high),) = display.version_space
    # Between the rows at 2 and 3.2: these are b / w.
    assert_allclose(np.tan([low, high]), [2.0, 3.2])
    assert low < display.angle < high
    members = np.arctan2(*display.members.T[::-1])
    assert ((members >= low) & (members <= high)).all()


def test_without_a_version_space_the_best_arcs_are_shown():
    x, y = np.array([[1.0], [2.0], [3.0]]), [2, 1, 2]
    display = VersionSpaceDisplay.from_estimator(few().fit(x, y), x, y)
    assert display.mistakes.min() == 1
    assert len(display.version_space) == (display.mistakes == 1).sum() > 1
    # A sector per arc, and one more on each of the best.
    sectors = [len(drawn.get_paths()) for drawn in display.ax_.collections]
    assert sectors == [len(display.mistakes), len(display.version_space)]


def test_a_version_space_of_many_rows_is_drawn_in_one_piece():
    x = np.random.default_rng(0).normal(size=(300, 1))
    display = VersionSpaceDisplay.from_estimator(ENSEMBLE, x, np.where(x[:, 0] > 0.2, 2, 1))
    assert (len(display.ax_.patches), len(display.ax_.collections)) == (0, 2)
    assert display.ax_.collections[0].get_paths()[7].vertices.shape[1] == 2


@pytest.mark.parametrize("form", [sparse.csr_matrix, pd.DataFrame, list])
def test_a_row_of_any_form_is_shown_and_names_are_kept(form, recwarn):
    named = pd.DataFrame(X[:40]).add_prefix("x")
    model = PRank(rule="last").fit(named if form is pd.DataFrame else X[:40], Y[:40])
    row = form(X[40:41]) if form is not list else X[40].tolist()
    row = row.add_prefix("x") if form is pd.DataFrame else row
    display = PRankUpdateDisplay.from_estimator(model, row, Y[40], draw=False)
    assert display.new_score == draw_update(draw=False).new_score
    assert not recwarn.list


def test_the_picture_of_a_version_space():
    display = draw_space(name="members", marker="x")
    angles = np.arctan2(display.line_.get_ydata(), display.line_.get_xdata())
    assert_allclose(np.tan(angles), display.members[:, 1] / display.members[:, 0])
    assert display.line_.get_marker() == "x"
    star = display.ax_.lines[1]
    assert_allclose(np.arctan2(star.get_ydata(), star.get_xdata()), display.angle)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["members"]


@each
def test_a_picture_is_drawn_again_on_other_axes(make):
    display = make(draw=False)
    assert not hasattr(display, "ax_")
    first = display.plot(name="a").ax_
    assert display.plot().ax_ is not first
    assert display.ax_.get_legend() is None
    assert display.ax_.get_xscale() == "linear"


@each
@pytest.mark.parametrize(
    ("options", "sentence", "error"),
    [
        ({"ax": 3}, "ax must be None or axes of matplotlib; got 3.", ValueError),
        ({"draw": 1}, "draw must be True or False; got 1.", ValueError),
        ({"colour": "red"}, "options must be those of matplotlib's plot; got colour.", TypeError),
    ],
)
def test_options_are_refused(make, options, sentence, error):
    name = type(make(draw=False)).__name__
    with refuses(f"{name}: {sentence}", error):
        make(**options)


def test_models_are_refused():
    update, space = PRankUpdateDisplay.from_estimator, VersionSpaceDisplay.from_estimator
    with refuses(
        "PRankUpdateDisplay: estimator must be a fitted PRank; got WidrowHoff().", TypeError
    ):
        update(WidrowHoff(), [1], 1)
    with pytest.raises(NotFittedError):
        update(PRank(rule="last"), [1], 1)
    with refuses(
        "PRankUpdateDisplay: estimator must be of rule='last', the one that a row moves; got "
        "PRank()."
    ):
        update(PRank().fit(X, Y), X[0], Y[0])
    with refuses("PRankUpdateDisplay: x must be one row; got 2 rows."):
        update(LAST, X[:2], Y[:2])
    with pytest.raises(ValueError, match="9"):
        update(LAST, X[0], 9)
    with refuses("VersionSpaceDisplay: threshold must be an integer from 1 to 1; got 2."):
        draw_space(threshold=2)
    rule = "have one feature and weights, with fit_intercept=False and unit_norm=False"
    for model in (few().fit(X, Y), few(kernel="rbf").fit(COLUMN, HALVES)):
        with pytest.raises(ValueError, match=rule):
            space(model, COLUMN, HALVES)
    with refuses(
        "VersionSpaceDisplay: X must be a column of one feature; got an array of shape (6, 2)."
    ):
        space(ENSEMBLE, np.hstack([COLUMN, COLUMN]), HALVES)
