"""Cortes, Mohri and Rastogi: magnitude-preserving ranking of films, jokes and books."""

from peckorder.experiments._cortes_config import FULL, PAPER, QUICK, Config
from peckorder.experiments._cortes_data import (
    load_jester,
    load_movielens,
    load_netflix,
)
from peckorder.experiments._cortes_tables import (
    measure_dense,
    measure_sparse,
    show_groups,
)
from peckorder.experiments._experiment import Experiment, Part


def _repetitions(config: Config) -> int:
    return config.repetitions


def _dense_repetitions(config: Config) -> int:
    return config.dense_repetitions


EXPERIMENT = Experiment(
    name="cortes-2007",
    title="An Alternative Ranking Problem for Search Engines",
    citation=(
        "Cortes, Mohri and Rastogi, An Alternative Ranking Problem for Search Engines, "
        "WEA 2007."
    ),
    presets={"quick": QUICK, "full": FULL, "paper": PAPER},
    parts=(
        Part(
            "movielens",
            "Tables 1 and 2: MovieLens",
            load_movielens,
            _repetitions,
            measure_sparse,
            show_groups("MovieLens", "MovieLens 1M"),
        ),
        Part(
            "jester",
            "Tables 1 and 2: Jester",
            load_jester,
            _repetitions,
            measure_sparse,
            show_groups("Jester", "Jester data set 1"),
        ),
        Part(
            "netflix",
            "Tables 1 and 2: Netflix",
            load_netflix,
            _dense_repetitions,
            measure_dense,
            show_groups("Netflix", "A matrix of 1200 x 1200, 77 % filled"),
        ),
    ),
)
