"""Crammer and Singer, "Pranking with Ranking" (2001)."""

from peckorder.experiments.crammer_singer_2001 import batch, movies
from peckorder.experiments.crammer_singer_2001.online import SQUARE, Config
from peckorder.experiments.framework import experiment_of

EXPERIMENT = experiment_of(
    __name__, Config, (SQUARE, *movies.PARTS, *batch.PARTS), (*movies.GIVEN, *batch.GIVEN)
)
