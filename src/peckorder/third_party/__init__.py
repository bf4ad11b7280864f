"""Rankers of other packages, where these are installed, with the interface of ours.

`peckorder.compare` measures them beside our own. What it keeps of them is in a model
file as their own text, which is checked before their own loaders read it.
"""

from peckorder.third_party.catboost import CatBoost
from peckorder.third_party.lightgbm import LightGBM
from peckorder.third_party.linear import Mord, Ridge
from peckorder.third_party.trees import Trees, installed
from peckorder.third_party.xgboost import XGBoost

__all__ = ["CatBoost", "LightGBM", "Mord", "Ridge", "Trees", "XGBoost", "installed"]
