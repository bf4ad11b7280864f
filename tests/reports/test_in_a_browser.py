"""Reports as a browser shows them: nothing runs over, every chart is seen."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from peckorder.reports import Chart, Curve, Report, Section, Table, render
from support.tables import written

BROWSER = next(
    filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

# Asked of the page itself, which answers in its title.
QUESTION = """<script>
const seen = (all) => [...all].filter(e => e.getBoundingClientRect().height > 50);
document.title = JSON.stringify({
  width: innerWidth,
  over: document.documentElement.scrollWidth - innerWidth,
  charts: seen(document.querySelectorAll(".chart > svg")).length,
  paper: getComputedStyle(document.body).backgroundColor,
});
</script>"""


def report():
    x = np.arange(1, 50)
    chart = Chart("Loss", "round", "loss", (Curve("PRank", x, 1 / x), Curve("OAP", x, 2 / x)))
    cells = ("a ranker", "0.123 ± 0.004", "a sentence that is far too long for a phone")
    table = Table(("ranker", "loss", "said of it"), (cells,) * 3, "A caption.")
    section = Section("Findings", ("Text. " * 40,), (table,), (chart, chart))
    return Report("A report", "What to read first.", (section,), "peckorder", ())


def ask(tmp_path, width, *flags):
    page = written(
        tmp_path / "page.html", render(report()).replace("</body>", QUESTION + "</body>")
    )
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", *flags]
    command += [f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},900"]
    try:
        done = subprocess.run(
            [*command, "--dump-dom", page.as_uri()],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"Chromium does not start here: {error}")
    return json.loads(re.search("<title>(.*?)</title>", done.stdout)[1])


@pytest.mark.parametrize("width", [1200, 500])
def test_nothing_runs_over_and_each_chart_is_seen_once(width, tmp_path):
    answer = ask(tmp_path, width)
    assert answer["width"] <= width
    assert answer["over"] <= 0
    assert answer["charts"] == 2


def test_it_is_dark_for_those_who_like_it(tmp_path):
    flags = ["--blink-settings=preferredColorScheme=0"]
    assert ask(tmp_path, 1200)["paper"] == "rgb(255, 255, 255)"
    assert ask(tmp_path, 1200, *flags)["paper"] == "rgb(21, 24, 28)"
