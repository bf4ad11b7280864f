"""Freund, Iyer, Schapire and Singer (2003): combining preferences by boosting."""

from dataclasses import replace

from peckorder.experiments.framework import experiment_of
from peckorder.experiments.freund_2003.chance import CHANCE
from peckorder.experiments.freund_2003.documents import LETOR
from peckorder.experiments.freund_2003.figures import FIGURES
from peckorder.experiments.freund_2003.films import Config, load_given, load_given_bins
from peckorder.experiments.freund_2003.ideas import IDEAS
from peckorder.experiments.freund_2003.learners import FIGURE_4
from peckorder.experiments.freund_2003.lists import LISTS, RUNS

# Parts on the same data follow each other, so that they are read once.
PARTS = (FIGURE_4, *FIGURES, CHANCE, IDEAS, LISTS, RUNS, LETOR)
_BINNED = ("figure-6", "figure-7", "figure-8")
GIVEN = tuple(
    replace(part, load=load_given_bins if part.name in _BINNED else load_given)
    for part in (FIGURE_4, *FIGURES, CHANCE, IDEAS)
)
EXPERIMENT = experiment_of(__name__, Config, PARTS, GIVEN)
