"""Freund, Iyer, Schapire and Singer (2003): combining preferences by boosting."""

from peckorder.experiments.framework import experiment_of
from peckorder.experiments.freund_2003.chance import CHANCE
from peckorder.experiments.freund_2003.figures import FIGURES
from peckorder.experiments.freund_2003.films import Config
from peckorder.experiments.freund_2003.learners import FIGURE_4, IDEAS
from peckorder.experiments.freund_2003.lists import LETOR, LISTS, RUNS

# Parts on the same data follow each other, so that they are read once.
PARTS = (FIGURE_4, *FIGURES, CHANCE, IDEAS, LISTS, RUNS, LETOR)
EXPERIMENT = experiment_of(__name__, Config, PARTS)
