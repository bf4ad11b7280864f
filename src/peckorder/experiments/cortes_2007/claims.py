"""What the paper says of tables 1 and 2, judged by paired differences."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from peckorder._core.typing import Floats
from peckorder.experiments.framework.experiment import Claim
from peckorder.experiments.framework.margins import within
from peckorder.experiments.framework.verdicts import difference_text, side, verdict

# M1D within so much of SVRank's is called comparable, and misrankings that are worse
# than RankBoost's by no more.
CLOSE_SHARE, CLOSE = 0.05, 0.02
HALF = "± half the 95 % interval"

# Of a ranker in a measure: the values of every repetition (or reviewer), a group each.
Found = Callable[[str, str], Sequence[Floats]]


def magnitude_claims(name: str, groups: Sequence[str], found: Found) -> Iterable[Claim]:
    """Judge what is said of MSD and M1D."""

    def text(differences: Sequence[Floats]) -> str:
        return _by_group(name, groups, differences)

    def shares(ranker: str, measure: str) -> str:
        pairs = zip(found(ranker, measure), found("constant", measure), strict=True)
        return ", ".join(
            f"{np.nanmean(one) / np.nanmean(other):.3f}" for one, other in pairs
        )

    svrank, boost = (gaps(found, other, "msd") for other in ("SVRank", "RankBoost"))
    yield Claim(
        f"{name}: MPRank obtains the best MSD values.",
        verdict(side(-each) for each in (*svrank, *boost)),
        f"MPRank minus SVRank, {HALF}: {text(svrank)}; minus RankBoost: {text(boost)}. "
        f"Over a constant: MPRank {shares('MPRank', 'msd')}; SVRank "
        f"{shares('SVRank', 'msd')}.",
    )
    relative = [
        each / np.nanmean(other)
        for each, other in zip(
            gaps(found, "SVRank", "m1d"), found("SVRank", "m1d"), strict=True
        )
    ]
    yield Claim(
        f"{name}: MPRank and SVRank obtain comparable M1D values.",
        verdict(within(each, CLOSE_SHARE) for each in relative),
        f"MPRank minus SVRank, over SVRank's mean, {HALF}: {text(relative)}; "
        f"comparable is within {CLOSE_SHARE}. Over a constant: MPRank "
        f"{shares('MPRank', 'm1d')}; SVRank {shares('SVRank', 'm1d')}.",
    )
    m1d = gaps(found, "RankBoost", "m1d")
    yield Claim(
        f"{name}: RankBoost is not competitive in MSD and M1D.",
        verdict(side(-each) for each in (*boost, *m1d)),
        f"MPRank minus RankBoost in M1D, {HALF}: {text(m1d)}; in MSD as above. "
        "RankBoost's scores grow with its rounds, and are on no scale of ratings.",
    )


def misranking_claim(name: str, groups: Sequence[str], found: Found) -> Claim:
    """Judge what is said of misrankings: to be better is comparable as well."""
    misrank = gaps(found, "RankBoost", "misranking")
    halves = gaps(found, "RankBoost", "ties half")
    return Claim(
        f"{name}: the pairwise misranking error of MPRank is comparable to that of "
        "RankBoost.",
        verdict(side(CLOSE - each) for each in misrank),
        f"MPRank minus RankBoost, {HALF}: {_by_group(name, groups, misrank)}; with "
        f"ties as half errors: {_by_group(name, groups, halves)}. Judged by whether "
        f"MPRank is worse by less than {CLOSE}.",
    )


def gaps(found: Found, other: str, measure: str) -> list[Floats]:
    """Return MPRank minus another, what is NaN left out; a group each."""
    pairs = zip(found("MPRank", measure), found(other, measure), strict=True)
    return [(one - two)[np.isfinite(one - two)] for one, two in pairs]


def _by_group(name: str, groups: Sequence[str], differences: Sequence[Floats]) -> str:
    return "; ".join(
        f"{group.removeprefix(name)} {difference_text(each)}".strip()
        for group, each in zip(groups, differences, strict=True)
    )
