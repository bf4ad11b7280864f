"""Texts about a contest that the terminal and the report share."""

from math import floor, isnan, log10
from typing import Final

from peckorder.compare.contest import Contest, Result
from peckorder.compare.measures import Measure

KINDS: Final = {
    "ordinal": "ordered classes",
    "magnitude": "real-valued relevance",
    "graded": "grades within queries",
    "ratings": "ratings of items by people",
    "runs": "ranked lists with judgements",
}
MEANINGS: Final = {
    "mean rank loss": "steps between the predicted and the true class; less is better",
    "exactly right": "share of rows whose class is predicted; more is better",
    "msd": "squared difference between predicted and true distances of pairs; less is better",
    "disagreement": "share of pairs that are ranked the wrong way; less is better",
    "ap": "average precision; more is better",
}


def meaning(measure: str) -> str:
    """Return what a measure is."""
    if measure.startswith("ndcg"):
        places = measure.partition("@")[2]
        first = f" of the first {places} places" if places else ""
        return f"normalised discounted gain{first}; more is better"
    return MEANINGS.get(measure, "see peckorder.metrics")


def decimals(contest: Contest, measure: Measure) -> int:
    """Return how many decimals give the best mean four figures."""
    size = abs(contest.best.mean(measure))
    return 4 if size == 0 or isnan(size) else min(max(3 - floor(log10(size)), 0), 8)


def written(contest: Contest, result: Result, measure: Measure) -> str:
    """Return the mean of a measure as text."""
    return f"{result.mean(measure):.{decimals(contest, measure)}f}"


def signed(contest: Contest, result: Result) -> str:
    """Return how far behind as text, marked where no difference was shown."""
    behind, n = contest.behind(result), decimals(contest, contest.measures[0])
    level = " ≈" if behind.is_level else ""
    return f"{behind.mean:.{n}f} ± {behind.half_width:.{n}f}{level}"


def board_row(contest: Contest, result: Result, with_half: bool = False) -> list[str]:
    """Return the figures of a leaderboard: of the first measure, behind, of the others.

    `with_half`: the first has half its interval.
    """
    first, *others = contest.measures
    value = written(contest, result, first)
    if with_half:
        half = contest.half_width(result.values[first.name])
        value += f" ± {half:.{decimals(contest, first)}f}"
    behind = "" if result is contest.best else signed(contest, result)
    return [value, behind, *(written(contest, result, measure) for measure in others)]


def level_text(contest: Contest) -> str:
    """Return which candidate is first, and which were not shown to differ from it."""
    best, level = contest.best, [result.name for result in contest.level()]
    if len(contest.results) == 1:
        return f"{best.name} is alone: there is nothing to compare it with."
    if not level:
        return f"{best.name} is first, and no other is level with it."
    names = listed(level)
    return f"{best.name} is first; no difference from {names} was shown (≈)."


def listed(names: list[str]) -> str:
    """Return names as an enumeration."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def chosen_text(result: Result) -> str:
    """Return the settings that a ranker chose in all folds."""
    names: dict[str, list[object]] = {}
    for chosen in result.chosen:
        for name, value in chosen.items():
            names.setdefault(name, []).append(value)
    parts = []
    for name, values in names.items():
        texts = [f"{v:.3g}" if isinstance(v, float) else str(v) for v in values]
        same = len(set(texts)) == 1
        parts.append(f"{name} {texts[0] if same else ', '.join(texts)}")
    return "; ".join(parts)
