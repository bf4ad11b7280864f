"""Crammer and Singer, "Pranking with Ranking" (2001)."""

from peckorder.experiments.crammer_singer_2001 import batch, movies
from peckorder.experiments.crammer_singer_2001.online import SQUARE, Config
from peckorder.experiments.framework import Experiment
from peckorder.experiments.framework.online import FIRST_OF_ALL

QUICK = Config(
    synthetic=True,
    sequences=8,
    rounds=5_000,
    tested_after=2_000,
    more_than=(30, 60),
    targets=12,
    scales=(1.0, 0.25, 0.1, 0.03),
    samples=4,
    sizes=(20, 50, 100),
    viewers=6,
    class_costs=(1.0, 10.0),
    regression_costs=(1.0, 10.0),
    folds=3,
    passes=(1, 20, 100),
)
PAPER = Config(
    sequences=1_000,
    targets=2_000,
    samples=1_000,
    sizes=(20, 50, 100, 200, 500, 1_000),
    viewers=1_000,
)

EXPERIMENT = Experiment(
    name="crammer-singer-2001",
    title="Pranking with Ranking",
    citation=(
        "K. Crammer and Y. Singer, Pranking with Ranking, "
        "Advances in Neural Information Processing Systems 14, 2001."
    ),
    presets={"quick": QUICK, "full": Config(), "paper": PAPER},
    parts=(SQUARE, *movies.PARTS, *batch.PARTS),
    departures=(
        "The paper prints no number of its experiments: its results are three plots of "
        "curves, and a sentence about batches. So there are no figures to compare "
        "with, and its claims are judged.",
        "EachMovie was withdrawn by its publisher; MovieLens 1M is used instead. It "
        "has five ranks, and the middle one becomes zero, like a missing rating; "
        "EachMovie's six scores, 0 to 1, had no middle one. Features are four times as "
        "large.",
        "The lengths of the sequences, their number, the number of targets and the "
        "step of Widrow-Hoff are illegible in the available copy of the paper: they "
        "are our choice in all presets. Several steps are tried, and the best in "
        "hindsight is shown, which favours Widrow-Hoff.",
        "The noise of the square, 0.125, is read as a standard deviation.",
        "Beside the paper's features, shifted ratings without a constant, the same at "
        "unit norm with a constant are shown, for all rankers. Averaging is ours, not "
        "the paper's: averages of the perceptron and of Widrow-Hoff are not tried.",
        "Curves of viewers end at the smallest number of ratings of the targets; a "
        "whole pass over all ratings of a target is in the tables. Movies come in "
        "random order: the paper does not specify one.",
        "The sizes of the batches are ours, for those of the paper are another "
        "paper's. The SVMs are scikit-learn's: one class against another, a tube of "
        "0.1 for regression, whose predictions are rounded. The third method of that "
        "other paper, large margins on pairs, is not tried.",
        "In a batch the paper ran PRank once over the data, as on-line, and used the "
        "last rule; so the claim is judged with one pass. More passes are ours: 500 "
        "were chosen from 1, 20, 100 and 500 by their losses on 20 further samples of "
        "the square.",
        FIRST_OF_ALL,
    ),
)
