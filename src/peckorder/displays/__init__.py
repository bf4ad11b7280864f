"""Pictures of rankings, in the way of scikit-learn's displays. Needs matplotlib."""

from peckorder.displays._curves import OnlineCurveDisplay, RankingCurveDisplay
from peckorder.displays._rules import PRankUpdateDisplay, VersionSpaceDisplay

__all__ = ["OnlineCurveDisplay", "PRankUpdateDisplay", "RankingCurveDisplay", "VersionSpaceDisplay"]
