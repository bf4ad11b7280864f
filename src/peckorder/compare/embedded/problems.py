"""The problems that rankers are compared on when no file is given."""

from typing import Final

from peckorder.compare.embedded.graded import SEARCH
from peckorder.compare.embedded.magnitude import PROGRESSION
from peckorder.compare.embedded.ordinal import DIABETES, SQUARE

PROBLEMS: Final = (SQUARE, DIABETES, SEARCH, PROGRESSION)
