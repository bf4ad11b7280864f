"""Turn plain data into one self-contained HTML page.

The page needs nothing but itself: the pictures are inline SVG, the style is in
the page, and rendering the same report twice gives the same text.
"""

from peckorder.reports.html import check_path, render, write
from peckorder.reports.model import Cell, Chart, Curve, Dot, Dots, Report, Section, Table

__all__ = [
    "Cell",
    "Chart",
    "Curve",
    "Dot",
    "Dots",
    "Report",
    "Section",
    "Table",
    "check_path",
    "render",
    "write",
]
