"""Cortes, Mohri and Rastogi: magnitude-preserving ranking of films, jokes and books."""

from functools import partial

from peckorder.experiments.cortes_2007.data import (
    FULL,
    PAPER,
    QUICK,
    Config,
    load_books,
    load_jester,
    load_movielens,
    load_netflix,
)
from peckorder.experiments.cortes_2007.figure_1 import (
    load_dense,
    load_films,
    measure_convergence,
    measure_time,
    show_convergence,
    show_time,
)
from peckorder.experiments.cortes_2007.leave_pair_out import (
    measure_left_out,
    show_left_out,
)
from peckorder.experiments.cortes_2007.tables import (
    measure_books,
    measure_dense,
    measure_sparse,
    show_books,
    show_groups,
)
from peckorder.experiments.framework.experiment import Experiment, Part


def _repetitions(config: Config) -> int:
    return config.repetitions


def _dense_repetitions(config: Config) -> int:
    return config.dense_repetitions


def _reviewers(config: Config) -> int:
    return config.online_reviewers


def _left_out(config: Config) -> int:
    return config.left_out_repetitions


def _one(config: Config) -> int:
    return 1


_DEPARTURES = (
    "All test reviewers of a repetition share their 300 reference reviewers, of whom "
    "none is tested or held out; the paper draws 300 for every test reviewer. A mean "
    "over reviewers is the same in expectation, its spread over repetitions is larger.",
    "Parameters are chosen in every repetition on held-out reviewers of its own, by "
    "their other halves: MPRank's and kernel ridge's by MSD, SVRank's by M1D, "
    "RankBoost's number of rounds, and whether its weights are kept positive, by "
    "misrankings, as the paper says of each. The paper does not say how many reviewers "
    "were held out, nor which values were tried.",
    "RankBoost's misrankings fall for as long as further rounds part items that are "
    "still tied, and ties are errors. The rounds tried here end at most_rounds (1000 "
    "in the preset full), on the matrix at dense_most_rounds (640), and on MovieLens "
    "the most is what is chosen; the longer it runs the larger are its scores, and "
    "with them its MSD and M1D, which are of no scale of ratings. Where what was "
    "chosen is an end of what was tried, of any parameter, the page says so.",
    "The Netflix data were withdrawn. In their place is a matrix of 1200 reviewers and "
    "1200 films of which 77 % is filled; that it is of Netflix rests on the name of "
    "its file. No part of it is as thin as the paper's subsets (32, 46 and 58 %): "
    "ratings of reference reviewers are deleted at random down to these densities, and "
    "the whole matrix is a fourth group. The paper takes reviewers of more than 150, "
    "500 and 1500 films, and films with at least 360, 1200 and 1800 reviews, for its "
    "three subsets, and test reviewers from a mixture of the three. Here all reviewers "
    "are of one kind: those who are tested, the same for all densities, keep all their "
    "ratings, 269 to 1194 of 1200 films, half of them to learn from, and no film is "
    "left out. So it is the density alone that differs between the groups; in the "
    "paper films and reviewers differ too.",
    "Fewer reviewers are tested on that matrix than on the others, for each takes "
    "longer: dense_reviewers in the settings.",
    "Books needs the whole Book-Crossing file. With the part of 171,274 ratings that "
    "is often passed on, reviewers of 100 books are taken in place of 200, and what "
    "the paper says of Books is not tried. Parameters "
    "are chosen on halves of the training halves, so that all reviewers can be tested.",
    "Figure 1(a): the matrix has 1200 films, so that beside 700 to train on there are "
    "fewer than 500 to test on. Figure 1(b): MovieLens films with their mean ratings, "
    "for no reviewer has rated 3200.",
    "The paper calls MPRank distinct from kernel ridge regression. It is kernel ridge "
    "regression with a free constant, to rounding; the row 'kernel ridge' is the one "
    "without, on ratings less their mean, with MPRank's width and a ridge of its own. "
    "On ratings as they are it was worse than a constant (MovieLens, ridges to 100).",
    "The paper's on-line version has a constant step that is not printed. Ours is the "
    "largest that is safe for every coordinate; a tenth of it, and exact steps, stand "
    "beside.",
    "Misrankings of a constant are 1, for all its pairs are tied; with ties as half "
    "errors they are one half.",
)

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
            partial(show_groups, name="MovieLens", where="MovieLens 1M"),
        ),
        Part(
            "jester",
            "Tables 1 and 2: Jester",
            load_jester,
            _repetitions,
            measure_sparse,
            partial(show_groups, name="Jester", where="Jester data set 1"),
        ),
        Part(
            "netflix",
            "Tables 1 and 2: Netflix",
            load_netflix,
            _dense_repetitions,
            measure_dense,
            partial(
                show_groups,
                name="Netflix",
                where="A matrix of 1200 x 1200, 77 % filled",
            ),
        ),
        Part("books", "Table 1: Books", load_books, _one, measure_books, show_books),
        Part(
            "convergence",
            "Figure 1(a): on-line against batch",
            load_dense,
            _reviewers,
            measure_convergence,
            show_convergence,
        ),
        Part(
            "time",
            "Figure 1(b): training time",
            load_films,
            _one,
            measure_time,
            show_time,
            alone=True,
        ),
        Part(
            "left-out",
            "Leave-pair-out against held-out error",
            load_movielens,
            _left_out,
            measure_left_out,
            show_left_out,
        ),
    ),
    departures=_DEPARTURES,
)
