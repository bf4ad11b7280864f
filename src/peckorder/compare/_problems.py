"""The problems that rankers are compared on when no file is given."""

from typing import Final

from peckorder.compare._graded import SEARCH
from peckorder.compare._magnitudes import PROGRESSION
from peckorder.compare._ordinal import DIABETES, SQUARE

PROBLEMS: Final = (SQUARE, DIABETES, SEARCH, PROGRESSION)
