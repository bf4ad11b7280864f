"""Cortes, Mohri and Rastogi (2007): magnitude-preserving ranking."""

from peckorder.experiments.cortes_2007.data import Config
from peckorder.experiments.cortes_2007.figure_1 import FIGURES
from peckorder.experiments.cortes_2007.given import GIVEN
from peckorder.experiments.cortes_2007.leave_pair_out import LEFT_OUT
from peckorder.experiments.cortes_2007.tables import TABLES
from peckorder.experiments.framework import experiment_of

EXPERIMENT = experiment_of(__name__, Config, (*TABLES, *FIGURES, LEFT_OUT), GIVEN)
