"""Try an installed peckorder: python -I tests/meta/try_wheel.py, from anywhere."""

import shutil
import subprocess
import sys
from pathlib import Path

import peckorder
from peckorder import (
    AggregatePRank,
    MPRank,
    MPRankCV,
    MulticlassPerceptron,
    PRank,
    RankBoost,
    Ratings,
    SVRank,
    WidrowHoff,
)
from peckorder.collaborative import PersonalRanker

X = [[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [3.0, 0.0]]
CLASSES = [1, 1, 2, 3]
RELEVANCE = [1.0, 1.5, 3.0, 4.5]


def check_where_it_is() -> None:
    """Refuse to try the sources instead of what was installed."""
    assert Path(sys.prefix) in Path(peckorder.__file__).parents, peckorder.__file__


def check_families() -> None:
    """Let every estimator learn four rows, and put them in order."""
    for family in (PRank, AggregatePRank, WidrowHoff, MulticlassPerceptron):
        model = family(max_iter=50).fit(X, CLASSES)
        assert set(model.predict(X)) <= set(CLASSES)
    for model in (RankBoost(), MPRank(C=100.0), MPRankCV(), SVRank(C=100.0)):
        assert model.fit(X, RELEVANCE).rank(X).tolist() == [4, 3, 2, 1], model
    ratings = Ratings(list("aabbbcc"), [1, 2, 1, 2, 3, 2, 3], [5, 1, 4, 2, 5, 1, 4])
    model = PersonalRanker(n_factors=1, random_state=0).fit(ratings)
    assert model.recommend("c").items.tolist() == [1]


def check_command() -> None:
    """Ask the command for help; compare all rankers twice, and look at the page."""
    command = shutil.which("peckorder", path=str(Path(sys.executable).parent))
    assert command is not None
    subprocess.run([command, "--help"], check=True)
    subprocess.run([command, "compare", "--repeats", "2", "-o", "page.html"], check=True)
    assert "</html>" in Path("page.html").read_text(encoding="utf-8")


if __name__ == "__main__":
    check_where_it_is()
    if sys.argv[1] == "families":
        check_families()
    else:
        check_command()
