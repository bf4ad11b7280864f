"""How much of the experiments on combining preferences is run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes of all parts.

    A split is a draw of viewers who are features and of people who are targets; a
    partition is one of all queries into four. `made` data need no files.
    """

    made: bool
    # Figure 4.
    learner_splits: int
    learner_targets: int
    learner_features: int
    rounds_shown: int
    # Table 1.
    list_partitions: int
    run_partitions: int
    # Figure 5.
    sizes: tuple[int, ...]
    splits: int
    targets: int
    # Figures 6 and 7: limits of the bins, both included.
    bins: tuple[tuple[int, int], ...]
    density_features: int
    density_splits: int
    density_targets: int
    feedback_features: int
    feedback_splits: int
    feedback_targets: int
    # What the paper proposes to try.
    idea_features: int
    idea_splits: int
    idea_targets: int
    bipartite_features: int
    # OHSUMED: how many rounds there are to choose from.
    letor_rounds: int
    fold_rounds: int = 50


BINS = ((10, 20), (21, 40), (41, 60), (61, 100), (101, 100_000))
SIZES = (100, 200, 500, 750, 1000, 2000)

QUICK = Config(
    made=True,
    learner_splits=3,
    learner_targets=2,
    learner_features=20,
    rounds_shown=10,
    list_partitions=3,
    run_partitions=3,
    sizes=(10, 20, 40),
    splits=4,
    targets=3,
    bins=((10, 20), (21, 40), (41, 1000)),
    density_features=20,
    density_splits=3,
    density_targets=2,
    feedback_features=30,
    feedback_splits=3,
    feedback_targets=2,
    idea_features=30,
    idea_splits=3,
    idea_targets=2,
    bipartite_features=10,
    letor_rounds=10,
    fold_rounds=5,
)
FULL = Config(
    made=False,
    learner_splits=20,
    learner_targets=8,
    learner_features=1000,
    rounds_shown=200,
    list_partitions=5,
    run_partitions=10,
    sizes=SIZES,
    splits=20,
    targets=40,
    bins=BINS,
    density_features=700,
    density_splits=20,
    density_targets=15,
    feedback_features=1000,
    feedback_splits=20,
    feedback_targets=20,
    idea_features=1000,
    idea_splits=20,
    idea_targets=15,
    bipartite_features=200,
    letor_rounds=500,
)
# The counts as printed where the set has so many people (but for the ideas, which the
# paper did not try): 1,000 targets leave 500 features to every bin but the lowest.
PAPER = Config(
    made=False,
    learner_splits=5,
    learner_targets=200,
    learner_features=1000,
    rounds_shown=1000,
    list_partitions=1,
    run_partitions=1,
    sizes=SIZES,
    splits=5,
    targets=2000,
    bins=BINS,
    density_features=500,
    density_splits=6,
    density_targets=1000,
    feedback_features=1000,
    feedback_splits=6,
    feedback_targets=1000,
    idea_features=1000,
    idea_splits=6,
    idea_targets=1000,
    bipartite_features=1000,
    letor_rounds=500,
)
