"""Pictures of named values: a dot each, with its interval, over one axis."""

import io
import warnings
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from peckorder.reports.charts import (
    INK,
    NARROW,
    REFERENCE_DASHES,
    ROUND_STEPS,
    RULE,
    SERIES,
    SOFT,
    WIDE,
    Picture,
    Shape,
    Ticks,
    clean_svg,
    draw,
    plain,
)
from peckorder.reports.model import Chart, Dots

# Heights in the units of the SVG: of a line, and of all around the lines.
_LINE: Final = 23.0
_AROUND: Final = 62.0
# Letters of a name that fit beside a picture of either width.
_LETTERS: Final = {"wide": 34, "narrow": 19}


def draw_any(chart: Chart | Dots, name: str) -> Picture:
    """Draw what there is; `name` must be its own on the page."""
    return draw_dots(chart, name) if isinstance(chart, Dots) else draw(chart, name)


def draw_dots(chart: Dots, name: str) -> Picture:
    """Draw `chart`; `name` must be its own on the page, for it starts every id."""
    wide = _draw(chart, WIDE, f"{name}-wide")
    narrow = _draw(chart, NARROW, f"{name}-narrow")
    return Picture(wide, narrow, (), True)


def _draw(chart: Dots, shape: Shape, name: str) -> str:
    file = io.StringIO()
    n = len(chart.dots)
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams.update(
            {"svg.fonttype": "none", "svg.hashsalt": name, "font.size": shape.font_size}
        )
        size = (shape.width / 72, (_AROUND + _LINE * n) / 72)
        figure = Figure(size, 72, layout="constrained")
        axes = figure.add_subplot()
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color(SOFT)
        axes.grid(axis="x", color=RULE, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.set_xlabel(plain(chart.x_label), color=INK, parse_math=False, labelpad=6)
        axes.tick_params(length=0, pad=6, labelcolor=SOFT)
        axes.tick_params(axis="y", labelcolor=INK)
        axes.xaxis.set_major_locator(
            MaxNLocator(6 if shape is WIDE else 4, steps=ROUND_STEPS)
        )
        axes.xaxis.set_major_formatter(Ticks(is_linear=True))
        place = np.arange(n)
        labels = [_short(dot.label, _LETTERS[shape.name]) for dot in chart.dots]
        axes.set_yticks(place, labels, parse_math=False)
        axes.set_ylim(n - 0.4, -0.6)
        for at, dot in enumerate(chart.dots):
            if dot.low is not None and dot.high is not None:
                axes.plot([dot.low, dot.high], [at, at], color=SERIES[0], linewidth=1.6)
            axes.plot([dot.value], [at], marker="o", markersize=6, color=SERIES[0])
        if chart.reference is not None:
            text, at_x = chart.reference
            axes.axvline(at_x, color=SOFT, linewidth=1.2, dashes=REFERENCE_DASHES)
            low, high = axes.get_xlim()
            is_left = at_x - low < (high - low) / 2
            axes.annotate(
                plain(text),
                (at_x, 1.0),
                xytext=(0, 5),
                xycoords=axes.get_xaxis_transform(),
                textcoords="offset points",
                ha="left" if is_left else "right",
                color=SOFT,
                parse_math=False,
                annotation_clip=False,
            )
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return clean_svg(file.getvalue(), name)


def _short(text: str, n_letters: int) -> str:
    text = plain(text)
    is_long = len(text) > n_letters
    return f"{text[: n_letters - 1]}\N{HORIZONTAL ELLIPSIS}" if is_long else text
