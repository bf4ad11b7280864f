"""How figures are taken and shown, for all benchmarks.

Every figure is a ratio within one run: what is compared is timed in turn, many times
over, and the best time of each counts, since other tenants of a machine can only slow
things down.
"""

from collections.abc import Callable
from time import perf_counter, sleep

import numpy as np


def seconds(action: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Time one call."""
    begin = clock()
    action()
    return clock() - begin


def in_turn(
    actions: dict[str, Callable[[], object]],
    repeats: int,
    pause: float = 0.0,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, float]:
    """Time all actions in turn; return the best of each. The first turn is warm-up.

    A pause (seconds) before each is for threads of the one before, which may spin for
    some milliseconds when they have nothing left to do, and take a core. The clock may
    be that of the process, for one thread on a machine with other work.
    """
    best = {}
    for turn in range(repeats + 1):
        for name, action in actions.items():
            sleep(pause)
            taken = seconds(action, clock)
            if turn:
                best[name] = min(taken, best.get(name, taken))
    return best


def show(what: str, value: str, wanted: str = "", holds: bool | None = None) -> None:
    """Print one line of the table."""
    verdict = {True: "yes", False: "NO", None: ""}[holds]
    print(f"{what:<70} {value:>10}   {wanted:<12} {verdict}", flush=True)


def at_least(what: str, value: float, bound: float) -> None:
    """Print a ratio that should reach a bound."""
    show(what, f"{value:.2f}", f">= {bound:g}", value >= bound)


def at_most(what: str, value: float, bound: float, unit: str = "") -> None:
    """Print a figure that should stay below a bound."""
    show(what, f"{value:.2f}{unit}", f"<= {bound:g}{unit}", value <= bound)


def grades(score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cut noisy scores into five classes of equal frequency."""
    noisy = score / score.std() + 0.3 * rng.standard_normal(score.size)
    return np.digitize(noisy, np.quantile(noisy, [0.2, 0.4, 0.6, 0.8]))
