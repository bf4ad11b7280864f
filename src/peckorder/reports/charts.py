"""Pictures of charts: inline SVG that takes its colours from the page."""

import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator, NullLocator
from scipy.optimize import isotonic_regression

from peckorder._core.typing import Floats, Ints
from peckorder.reports.contents import Chart, Curve, Dots

# The colours of Okabe and Ito without their yellow, which is lost on white, and
# their black, which is the ink of the page. The page holds one shade of each for
# light and one for dark, so a picture names the variable instead of the colour.
SERIES: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
INK, SOFT, RULE = "#010101", "#020202", "#030303"
VARIABLES: Final = {
    **{colour: f"var(--series-{i})" for i, colour in enumerate(SERIES, start=1)},
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    RULE: "var(--rule)",
}
COLOURS: Final = (*SERIES, INK)
# Seven colours and five dashes have no common factor: 35 curves differ.
DASHES: Final = ((), (7.0, 2.5), (2.0, 2.0), (8.0, 2.5, 2.0, 2.5), (13.0, 3.0))
REFERENCE_DASHES: Final = (4.0, 3.0)

ROUND_STEPS: Final = (1, 2, 2.5, 5, 10)
LABEL_GAP: Final = 15.0
# Heights in the units of the SVG: of the line of a dot, and of all around these lines.
HEIGHT_OF_DOT: Final = 23.0
HEIGHT_AROUND_DOTS: Final = 62.0
LONGEST_LABEL: Final = 30
FONT_SIZE: Final = 11.5


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a picture is, in the units of its SVG, and how much it shows.

    `n_letters` of a name fit beside it.
    """

    width: float
    height: float
    n_points: int
    n_letters: int


WIDE: Final = Shape(800, 420, 400, 34)
NARROW: Final = Shape(360, 300, 150, 19)


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend: a name, a colour and the dashes of its line."""

    label: str
    colour: str
    dashes: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart drawn twice, for a page and for a phone, with its legend."""

    wide: str
    narrow: str
    keys: tuple[Key, ...]
    has_labels: bool


def draw(chart: Chart | Dots, name: str) -> Picture:
    """Draw `chart`; `name` must be unique on the page, for it starts every id."""
    if isinstance(chart, Dots):
        wide = draw_dots(chart, WIDE, f"{name}-wide")
        return Picture(wide, draw_dots(chart, NARROW, f"{name}-narrow"), (), True)
    lines = [(curve.label, *style(i)) for i, curve in enumerate(chart.curves)]
    if chart.reference is not None:
        lines.append((chart.reference[0], SOFT, REFERENCE_DASHES))
    keys = tuple(
        Key(label, VARIABLES[colour], " ".join(f"{dash:g}" for dash in dashes))
        for label, colour, dashes in lines
    )
    has_labels = fits_labels(chart, [key.label for key in keys])
    wide = draw_shape(chart, WIDE, f"{name}-wide", has_labels)
    narrow = draw_shape(chart, NARROW, f"{name}-narrow", False)
    return Picture(wide, narrow, keys, has_labels)


def style(index: int) -> tuple[str, tuple[float, ...]]:
    """Return the colour and the dashes of curve `index`."""
    return COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]


def fits_labels(chart: Chart, labels: Sequence[str]) -> bool:
    """Return whether every line can be named at its right end."""
    is_few = len(labels) * LABEL_GAP <= 0.8 * WIDE.height
    is_short = max(map(len, labels)) <= LONGEST_LABEL
    return is_few and is_short and all(np.isfinite(c.y).any() for c in chart.curves)


def thin(x: Floats | Ints, n_points: int, *, log_x: bool) -> Ints:
    """Choose at most `n_points` positions of `x`, its first and last among them."""
    last = x.size - 1
    if x.size <= n_points:
        return np.arange(x.size)
    if log_x:
        chosen = np.searchsorted(x, np.geomspace(x[0], x[-1], n_points)).clip(0, last)
        chosen[0], chosen[-1] = 0, last
    else:
        chosen = np.linspace(0, last, n_points).round().astype(int)
    return np.unique(chosen)


def draw_svg(shape: Shape, height: float, name: str, paint: Callable[[Figure, Axes], None]) -> str:
    """Return a picture that `paint` fills, as SVG text ready to stand in a page."""
    file = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        # The measuring font may lack a letter that the reader's fonts have.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        mpl.rcdefaults()  # inside the context: a user's own settings come back
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": name, "font.size": FONT_SIZE})
        # An SVG has 72 units to the inch.
        figure = Figure((shape.width / 72, height / 72), 72, layout="constrained")
        axes = figure.add_subplot()
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color(SOFT)
        axes.set_axisbelow(True)
        axes.tick_params(length=0, pad=6, labelcolor=SOFT)
        paint(figure, axes)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return clean_svg(file.getvalue(), name)


def draw_shape(chart: Chart, shape: Shape, name: str, has_labels: bool) -> str:
    """Draw `chart` in one shape."""

    def paint(figure: Figure, axes: Axes) -> None:
        prepare_axes(axes, chart, shape)
        for k, curve in enumerate(chart.curves):
            points = thin(curve.x, shape.n_points, log_x=chart.log_x)
            draw_curve(axes, curve, k, points)
        if chart.reference is not None:
            axes.axhline(chart.reference[1], color=SOFT, linewidth=1.2, dashes=REFERENCE_DASHES)
        if has_labels:
            draw_labels(figure, axes, chart)

    return draw_svg(shape, shape.height, name, paint)


def prepare_axes(axes: Axes, chart: Chart, shape: Shape) -> None:
    """Set scales, ticks, grid and axis names."""
    axes.margins(x=0, y=0.04)
    axes.grid(color=RULE, linewidth=0.8)
    axes.set_xlabel(plain(chart.x_label), color=INK, parse_math=False, labelpad=6)
    axes.set_ylabel(plain(chart.y_label), color=INK, parse_math=False, labelpad=6)
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=ROUND_STEPS))
    if chart.log_x:
        axes.set_xscale("log")
        ratio = max(c.x[-1] for c in chart.curves) / min(c.x[0] for c in chart.curves)
        subs = (1.0,) if ratio >= 100 else (1.0, 2.0, 5.0)
        axes.xaxis.set_major_locator(LogLocator(subs=subs))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6 if shape is WIDE else 5, steps=ROUND_STEPS))
    # Not matplotlib's own: the logarithmic one would write mathtext, whose
    # exponents are placed for a font that the page does not use.
    axes.xaxis.set_major_formatter(Ticks(is_linear=not chart.log_x))
    axes.yaxis.set_major_formatter(Ticks(is_linear=True))


class Ticks(Formatter):
    """Tick values with grouped thousands, a true minus, and equal decimals."""

    def __init__(self, *, is_linear: bool) -> None:
        self.is_linear = is_linear

    def __call__(self, value: float, pos: int | None = None) -> str:
        """Write one value by itself."""
        return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Write the values of an axis; on a linear one with equal decimals."""
        texts = [self(value) for value in values]
        if not self.is_linear or any("e" in text for text in texts):
            return texts
        n_decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
        return [f"{value:,.{n_decimals}f}".replace("-", "\N{MINUS SIGN}") for value in values]


def draw_curve(axes: Axes, curve: Curve, index: int, chosen: Ints) -> None:
    """Draw the `chosen` points of one curve, and its band below all lines."""
    colour, dashes = style(index)
    x = curve.x[chosen]
    if curve.low is not None and curve.high is not None:
        low, high = curve.low[chosen], curve.high[chosen]
        axes.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0, zorder=1)
    (line,) = axes.plot(x, curve.y[chosen], color=colour, linewidth=1.8, zorder=3)
    if x.size == 1:
        line.set_marker("o")
    if dashes:
        # Dashes are lengths in the picture here and in the legend alike.
        line.set_linestyle((0, tuple(dash / 1.8 for dash in dashes)))


def draw_labels(figure: Figure, axes: Axes, chart: Chart) -> None:
    """Name each line at its right end, moved just enough not to overlap."""
    ends = [(c.label, *last_point(c), style(i)[0]) for i, c in enumerate(chart.curves)]
    if chart.reference is not None:
        text, height = chart.reference
        ends.append((text, axes.get_xlim()[1], height, SOFT))
    labels = [draw_label(axes, *end) for end in ends]
    # Only after the layout is settled are heights in the picture known. Moving a
    # label up or down leaves its width, and with it the layout, as they are.
    figure.draw_without_rendering()
    box = axes.get_window_extent()
    wanted = np.array([axes.transData.transform((x, y))[1] for _, x, y, _ in ends])
    half = LABEL_GAP / 2
    heights = spread(wanted, LABEL_GAP, box.y0 + half, box.y1 - half)
    for label, height in zip(labels, heights, strict=True):
        label.set_y((height - box.y0) / box.height)
    figure.set_layout_engine("none")


def draw_label(axes: Axes, text: str, x: float, y: float, colour: str) -> Annotation:
    """Write `text` right of the axes, with a thin line to the point it names."""
    return axes.annotate(
        plain(text),
        xy=(x, y),
        xytext=(1.025, 0.5),
        textcoords="axes fraction",
        color=SOFT if colour == SOFT else INK,
        verticalalignment="center_baseline",
        annotation_clip=False,
        parse_math=False,
        arrowprops={
            "arrowstyle": "-",
            "color": colour,
            "linewidth": 0.8,
            "shrinkA": 2,
            "shrinkB": 0,
            "relpos": (0, 0.5),
        },
    )


def last_point(curve: Curve) -> tuple[float, float]:
    """Return the last point at which the curve has a value."""
    last = np.flatnonzero(np.isfinite(curve.y))[-1]
    return float(curve.x[last]), float(curve.y[last])


def spread(wanted: Floats, gap: float, low: float, high: float) -> Floats:
    """Move heights as little as possible to stand `gap` apart within the limits.

    With the gaps taken out, "apart" is "in order", so the least squares answer
    is an isotonic regression; clipping it keeps it the best within the limits.
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(wanted.size)
    fitted = isotonic_regression(wanted[order] - steps).x
    placed = np.empty(wanted.size)
    placed[order] = np.clip(fitted, low, high - steps[-1]) + steps
    return placed


def draw_dots(chart: Dots, shape: Shape, name: str) -> str:
    """Draw named values in one shape: one dot each, with its interval."""
    n = len(chart.dots)

    def paint(figure: Figure, axes: Axes) -> None:
        axes.grid(axis="x", color=RULE, linewidth=0.8)
        axes.set_xlabel(plain(chart.x_label), color=INK, parse_math=False, labelpad=6)
        axes.tick_params(axis="y", labelcolor=INK)
        axes.xaxis.set_major_locator(MaxNLocator(6 if shape is WIDE else 4, steps=ROUND_STEPS))
        axes.xaxis.set_major_formatter(Ticks(is_linear=True))
        labels = [shorten(dot.label, shape.n_letters) for dot in chart.dots]
        axes.set_yticks(np.arange(n), labels, parse_math=False)
        axes.set_ylim(n - 0.4, -0.6)
        for y, dot in enumerate(chart.dots):
            if dot.low is not None and dot.high is not None:
                axes.plot([dot.low, dot.high], [y, y], color=SERIES[0], linewidth=1.6)
            axes.plot([dot.value], [y], marker="o", markersize=6, color=SERIES[0])
        if chart.reference is not None:
            draw_reference(axes, *chart.reference)

    return draw_svg(shape, HEIGHT_AROUND_DOTS + HEIGHT_OF_DOT * n, name, paint)


def draw_reference(axes: Axes, text: str, x: float) -> None:
    """Draw a dashed vertical line with its name above."""
    axes.axvline(x, color=SOFT, linewidth=1.2, dashes=REFERENCE_DASHES)
    low, high = axes.get_xlim()
    is_left = x - low < (high - low) / 2
    axes.annotate(
        plain(text),
        (x, 1.0),
        xytext=(0, 5),
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        ha="left" if is_left else "right",
        color=SOFT,
        parse_math=False,
        annotation_clip=False,
    )


def shorten(text: str, n_letters: int) -> str:
    """Return the text, or as much of it as fits beside a picture."""
    text = plain(text)
    is_long = len(text) > n_letters
    return f"{text[: n_letters - 1]}\N{HORIZONTAL ELLIPSIS}" if is_long else text


def plain(text: str) -> str:
    """Keep one line of what can be printed: SVG is XML and takes no control codes."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())


def clean_svg(text: str, name: str) -> str:
    """Make matplotlib's SVG file a part of a page.

    Colours become variables of the page, fonts are left to it, ids start with
    `name`, and what serves a separate file only (namespaces, metadata, a style
    sheet for all elements, sizes, indentation) goes.
    """
    root = ElementTree.fromstring(text)
    named = set(re.findall(r"(?:href=\"|url\()#([\w.-]+)", text))
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.tail = None
        if element.tag != "text":
            element.text = None
        element.attrib = {
            key.rpartition("}")[2]: clean_attribute(key, value, name)
            for key, value in element.attrib.items()
            if key != "id" or value in named
        }
    root.attrib = {"viewBox": root.attrib["viewBox"], "class": name.rpartition("-")[2]}
    return ElementTree.tostring(root, encoding="unicode")


def clean_attribute(key: str, value: str, name: str) -> str:
    """Rewrite one attribute of a picture for use in a page."""
    match key:
        case "style":
            value = re.sub(r"font-family:[^;]*;? ?", "", value)
            value = re.sub(r"font:[^;]*?([\d.]+px)[^;]*", r"font-size: \1", value)
            return re.sub(r"#\w{6}", lambda c: VARIABLES.get(c[0], c[0]), value)
        case "d":
            # A tenth of a unit is below what a screen or printer shows.
            value = re.sub(r"\d+\.\d+", lambda n: f"{float(n[0]):.1f}", value)
            return re.sub(r"\s*([MLz])\s*", r"\1", value).strip()
        case "id":
            return f"{name}-{value}"
        case "clip-path" | "href" | "{http://www.w3.org/1999/xlink}href":
            return value.replace("#", f"#{name}-")
        case _:
            return value
