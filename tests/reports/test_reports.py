import dataclasses
import os
import re
import sys
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest

from peckorder import reports
from peckorder.exceptions import MissingExtraError
from peckorder.reports import Chart, Curve, Dot, Dots, Report, Section, Table, charts, render, write
from support.tables import written


def curve(label="PRank", n_points=50, end=0.4):
    x = np.arange(1, n_points + 1)
    y = end + (1.5 - end) / x
    return Curve(label, x, y, y - 0.1, y + 0.1)


def report(*chosen, table=None, **changes):
    table = table or Table(("method", "loss"), (("PRank", 0.41), ("Widrow", 12.5)))
    section = Section("Findings", ("Seven learners.",), (table,), chosen)
    whole = Report("Trial", "It wins.", (section,), "peckorder compare", (("seed", "7"),))
    return dataclasses.replace(whole, **changes)


def chart(*curves, **options):
    return Chart("Loss", "round", "mean loss", curves or (curve(),), **options)


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.text = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)

    def values(self, *names):
        return [v for _, a in self.found for k, v in a.items() if k in names]


def test_shows_everything_it_is_given():
    drawn = chart(caption="Below the chart.", reference=("published", 0.3))
    table = Table(("method", "loss"), (("Widrow", 0.63),), "Above the table.")
    text = " ".join(Tags(render(report(drawn, table=table))).text)
    for part in (
        *("Trial", "It wins.", "Findings", "Seven learners.", "To repeat this"),
        *("peckorder compare", "seed", "7", "method", "Widrow", "0.6300"),
        *("Above the table.", "Below the chart.", "PRank", "published"),
        *("Loss", "round", "mean loss"),
    ):
        assert part in text


def test_describes_a_chart_in_words():
    drawn = chart(curve(n_points=2), reference=("goal", 0.25), caption="Lower is good.")
    figures = [a for t, a in Tags(render(report(drawn))).found if t == "figure"]
    assert figures[-1]["role"] == "img"
    assert figures[-1]["aria-label"] == (
        "Loss. Line chart of mean loss against round: PRank ends at 0.95; "
        "goal stands at 0.25. Lower is good."
    )


def test_escapes_every_text():
    evil = "<script>alert('\"&')</script>"
    table = Table((evil, evil), ((evil, evil),), evil)
    drawn = Chart(evil, evil, evil, (curve(evil),), evil, (evil, 0.3))
    section = Section(evil, (evil,), (table,), (drawn,))
    page = render(Report(evil, evil, (section,), evil, ((evil, evil),)))
    tags = Tags(page)
    assert "<script" not in page
    assert "script" not in {tag for tag, _ in tags.found}
    # Title twice, lead, command, name and value; section and paragraph; headings,
    # cells and caption; title and caption; the axes of both pictures; the legend;
    # the labels at line ends.
    assert "".join(tags.text).count(evil) == 6 + 2 + 5 + 2 + 4 + 2 + 2


def test_labels_at_line_ends_are_escaped():
    assert "&lt;b&gt;" in charts.draw(chart(curve("<b>")), "one").wide


def test_rendering_twice_gives_the_same_text():
    whole = report(chart(), chart(log_x=True))
    assert render(whole) == render(whole)


def settings():
    # Reading the backend would choose one.
    return {key: mpl.rcParams[key] for key in mpl.rcParams if key != "backend"}


def test_takes_no_notice_of_a_users_settings_and_leaves_them_alone():
    whole = report(chart())
    expected = render(whole)
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        before = settings()
        assert render(whole) == expected
        assert settings() == before


def test_refers_to_nothing_outside_the_page():
    page = render(report(chart(), chart(log_x=True)))
    assert "http" not in page
    assert "@import" not in page
    tags = Tags(page)
    assert all(v.startswith("#") for v in tags.values("src", "href", "xlink:href"))
    assert all(v.startswith("#") for v in re.findall(r"url\(([^)]*)\)", page))
    assert not {"link", "script", "img", "iframe"} & {tag for tag, _ in tags.found}


def test_ids_are_unique_and_every_reference_finds_its_own():
    page = render(report(chart(), chart()))
    ids = Tags(page).values("id")
    used = re.findall(r'(?:href="|url\()#([^)"]+)', page)
    assert len(ids) == len(set(ids))
    assert set(ids) == set(used)
    assert {name.rpartition("-")[0] for name in ids} == {
        f"chart{i}-{shape}" for i in (1, 2) for shape in ("wide", "narrow")
    }


def test_colours_and_fonts_are_the_pages():
    curves = [curve(str(i), end=i / 10) for i in range(9)]
    wide = charts.draw(chart(*curves, reference=("goal", 0.3)), "one").wide
    assert not re.search(r"#[0-9a-f]{6}\b", re.sub(r"#one-\w+-\w+", "", wide))
    assert "font-family" not in wide
    for name in ("series-1", "series-6", "ink", "soft", "rule"):
        assert f"var(--{name})" in wide


def test_curves_differ_without_colour_or_without_dashes():
    styles = [charts.style(i) for i in range(35)]
    assert len(set(styles)) == 35


@pytest.mark.parametrize("log_x", [False, True])
def test_thinning_keeps_the_ends_and_the_limit(log_x):
    x = np.arange(1, 5001)
    places = charts.thin(x, 400, log_x=log_x)
    assert places[0] == 0
    assert places[-1] == 4999
    assert places.size <= 400
    assert (np.diff(places) > 0).all()
    # Half of the points lie before the middle of the axis, whichever its scale.
    middle = np.sqrt(5000) if log_x else 2500
    assert (x[places] < middle).mean() == pytest.approx(0.5, abs=0.35)
    assert np.diff(places).max() <= (120 if log_x else 13)


def test_short_curves_are_not_thinned():
    assert charts.thin(np.arange(400), 400, log_x=False).size == 400


def test_long_curves_leave_the_page_small():
    rng = np.random.default_rng(0)
    noisy = [
        Curve(str(i), np.arange(1, 5001), y, y - 1, y + 1)
        for i, y in enumerate(rng.normal(size=(7, 5000)))
    ]
    assert len(render(report(chart(*noisy), chart(*noisy)))) < 500_000


def test_labels_stand_apart_within_limits():
    # Three at one height share it around its middle; the lone one stays.
    placed = charts.spread(np.array([50.0, 90.0, 50.0, 50.0]), 10.0, 0.0, 100.0)
    np.testing.assert_allclose(placed, [40.0, 90.0, 50.0, 60.0])
    # At the lower limit there is no room below, so they stack upwards.
    placed = charts.spread(np.array([2.0, 2.0]), 10.0, 5.0, 100.0)
    np.testing.assert_allclose(placed, [5.0, 15.0])


@pytest.mark.parametrize(
    ("drawn", "has_labels"),
    [
        (chart(curve("short")), True),
        (chart(curve("a name of more than thirty letters")), False),
        (chart(*[curve(f"no. {i}") for i in range(40)]), False),
        (chart(Curve("unknown", np.arange(2), np.full(2, np.nan))), False),
    ],
)
def test_lines_are_named_directly_where_there_is_room(drawn, has_labels):
    picture = charts.draw(drawn, "one")
    assert picture.has_labels == has_labels
    assert (drawn.curves[0].label in picture.wide) == has_labels
    assert len(picture.keys) == len(drawn.curves)


@pytest.mark.parametrize(
    "drawn",
    [
        chart(Curve("one point", np.array([3]), np.array([1]))),
        chart(Curve("one point", np.array([3]), np.array([1])), log_x=True),
        chart(Curve("flat", np.arange(3), np.zeros(3))),
        chart(Curve("gap", np.arange(3), np.array([1, np.nan, 2]))),
        chart(Curve("large", np.arange(3) * 1e15, np.array([1e300, 0, -1e300]))),
        chart(Curve("narrow", np.array([2, 3]), np.array([1, 2])), log_x=True),
        chart(curve("$x_{ and 順位 \x00\x1b\n\U0001f600")),
        chart(curve(""), reference=("", -5.0)),
    ],
)
def test_draws_odd_curves_without_a_warning(drawn):
    assert "<path" in charts.draw(drawn, "one").narrow


def test_dollars_are_not_mathematics():
    assert "$x^2$" in charts.draw(chart(curve("$x^2$")), "one").wide


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ((0.41, 0.6312), ["0.4100", "0.6312"]),
        ((1234.56, 0.5), ["1,235", "0"]),
        ((-12.345, 1), ["\N{MINUS SIGN}12.35", "1"]),
        ((float("nan"), float("-inf")), ["\N{EN DASH}", "\N{MINUS SIGN}\N{INFINITY}"]),
        ((np.int64(12345), np.float32(0.5)), ["12,345", "0"]),
        (("0.4 ± 0.1", "a-b"), ["0.4 ±\N{NO-BREAK SPACE}0.1", "a-b"]),
        ((0.0, 0.0), ["0.0", "0.0"]),
        ((1e-9, 2e-9), ["0.000000", "0.000000"]),
    ],
)
def test_numbers_of_a_column_share_their_decimals(cells, expected):
    assert reports.write_column(cells) == expected


def test_a_table_may_have_no_rows():
    assert "<th" in render(report(table=Table(("method", "loss"), ())))


def test_writes_what_it_renders(tmp_path):
    path = tmp_path / "page.html"
    write(report(), str(path))
    assert path.read_bytes() == render(report()).encode()
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = written(tmp_path / "page.html", "old")

    def fail(source, target):
        raise OSError("disk is gone")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match=r"^disk is gone$"):
        write(report(), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


@pytest.mark.parametrize(
    ("place", "error", "sentence"),
    [
        ("none/page.html", FileNotFoundError, "in a folder that exists; got '.*page\\.html'"),
        ("", IsADirectoryError, "a file, not a folder; got '.*'"),
    ],
)
def test_bad_paths_are_refused_before_any_work(tmp_path, monkeypatch, place, error, sentence):
    monkeypatch.setattr(reports, "render", lambda _: pytest.fail("rendered"))
    with pytest.raises(error, match=rf"^write: path must be {sentence}\.$"):
        write(report(), tmp_path / place)


def test_names_the_extra_that_is_missing(monkeypatch):
    reports.load_template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    expected = r"^jinja2 is not installed; run pip install 'peckorder\[cli\]'\.$"
    with pytest.raises(MissingExtraError, match=expected):
        render(report())


def broken(*arrays):
    return lambda: Curve("broken", *map(np.array, arrays))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Table(("a", "b"), (("x", 1), ("y", 1, 2))),
            r"Table: rows must be of 2 cells, one per column; got 3 in row 1",
        ),
        (broken([], []), r"Curve: x must be a one-.* at least one point; got shape \(0,\)"),
        (broken([1, 2], [1]), r"Curve: y must be of the shape of x, \(2,\); got \(1,\)"),
        (
            broken([2, 1], [1, 1]),
            r"Curve: x must be finite and never falling; got \[2\.0, 1\.0\].*",
        ),
        (broken([1], [1], [0]), r"Curve: low and high must be given together; got low alone"),
        (broken([1], [1], [0], [1, 2]), r"Curve: high must be of the shape of x, \(1,\); got .*"),
        (
            lambda: Chart("Loss", "round", "loss", ()),
            r"Chart: curves must be at least one curve; got \(\)",
        ),
        (
            lambda: chart(Curve("from nought", np.arange(3), np.ones(3)), log_x=True),
            r"Chart: x must be > 0 in every curve when log_x=True; got 0\.0",
        ),
        (
            lambda: Dot("a", 1.0, low=0.5),
            r"Dot: low and high must be given together; got low alone",
        ),
        (lambda: Dots("Loss", "loss", ()), r"Dots: dots must be at least one; got \(\)"),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(ValueError, match=rf"^{sentence}\.$"):
        make()
