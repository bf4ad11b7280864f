"""Cortes, Mohri and Rastogi (2007): magnitude-preserving ranking."""

from peckorder.experiments.cortes_2007.data import FULL, PAPER, QUICK
from peckorder.experiments.cortes_2007.figure_1 import FIGURES
from peckorder.experiments.cortes_2007.leave_pair_out import LEFT_OUT
from peckorder.experiments.cortes_2007.tables import TABLES
from peckorder.experiments.framework import Experiment

DEPARTURES = (
    "All test reviewers of a repetition share their 300 reference reviewers, of whom "
    "none is tested or held out; the paper draws 300 for every test reviewer. The mean "
    "over reviewers is the same in expectation, its spread over repetitions is larger.",
    "Parameters are chosen in every repetition on held-out reviewers: MPRank's and "
    "kernel ridge's by MSD, SVRank's by M1D, RankBoost's number of rounds, and whether "
    "its weights are kept positive, by misrankings, as the paper says. The paper does "
    "not say how many reviewers were held out, nor which values were tried.",
    "RankBoost's misrankings decrease as long as further rounds separate tied items, "
    "and ties are errors. The rounds tried here end at most_rounds (1000 in the preset "
    "full), on the matrix at dense_most_rounds (640), and on MovieLens the largest "
    "number is chosen; the longer it runs the larger are its scores, and with them its "
    "MSD and M1D, which are not on the scale of ratings. The page names every "
    "parameter that was chosen at an end of its grid.",
    "The Netflix data were withdrawn. A matrix of 1200 reviewers and 1200 films, 77 % "
    "filled, is used instead; that it is of Netflix rests on the name of its file. No "
    "part of it is as sparse as the paper's subsets (32, 46 and 58 %): ratings of "
    "reference reviewers are deleted at random down to these densities, and the whole "
    "matrix is a fourth group. The paper takes reviewers of more than 150, 500 and "
    "1500 films, and films with at least 360, 1200 and 1800 reviews, for its three "
    "subsets, and test reviewers from a mixture of the three. Here the same reviewers "
    "are tested for all densities and keep all their ratings, 269 to 1194 of 1200 "
    "films, half of them for training, and no film is left out. So only the density "
    "differs between the groups; in the paper films and reviewers differ too.",
    "Fewer reviewers are tested on that matrix than on the others, because each takes "
    "longer: dense_reviewers in the settings.",
    "Books needs the whole Book-Crossing file. With the subset of 171,274 ratings that "
    "is often distributed, reviewers of 100 books are taken instead of 200, and the "
    "paper's claims about Books are not tried. Parameters are chosen on halves of the "
    "training halves, so that all reviewers can be tested.",
    "Figure 1(a): the matrix has 1200 films, so that beside 700 for training there are "
    "fewer than 500 for the test. Figure 1(b): MovieLens films with their mean "
    "ratings, for no reviewer has rated 3200.",
    "The paper calls MPRank distinct from kernel ridge regression. It is kernel ridge "
    "regression with a free constant, up to rounding; the row 'kernel ridge' is the "
    "one without, on centred ratings, with MPRank's width and its own ridge. On "
    "ratings as they are it was worse than a constant (MovieLens, ridges to 100).",
    "The paper's on-line version has a constant step that is not printed. Ours is the "
    "largest that is safe for every coordinate; a tenth of it, and exact steps, are "
    "shown as well.",
    "Misrankings of a constant are 1, for all its pairs are tied; with ties as half "
    "errors they are one half.",
)

EXPERIMENT = Experiment(
    name="cortes-2007",
    title="An Alternative Ranking Problem for Search Engines",
    citation=(
        "Cortes, Mohri and Rastogi, An Alternative Ranking Problem for Search Engines, WEA 2007."
    ),
    presets={"quick": QUICK, "full": FULL, "paper": PAPER},
    parts=(*TABLES, *FIGURES, LEFT_OUT),
    departures=DEPARTURES,
)
