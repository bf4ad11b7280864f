"""Harrington (2003): ensembles of PRank, on-line and in collaborative filtering."""

from peckorder.experiments.framework import experiment_of
from peckorder.experiments.harrington_2003.filtering import GIVEN, PARTS
from peckorder.experiments.harrington_2003.methods import Config
from peckorder.experiments.harrington_2003.square import SQUARE

EXPERIMENT = experiment_of(__name__, Config, (SQUARE, *PARTS), GIVEN)
