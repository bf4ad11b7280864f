"""CatBoost: its symmetric trees as a ranker of ours, and its JSON, checked entry by entry."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

import numpy as np
from scipy.special import softmax

from peckorder._core.errors import entry
from peckorder._core.typing import Floats, Ints
from peckorder.storage.format import decoded
from peckorder.third_party.trees import (
    Trees,
    few_threads,
    fields,
    finite_numbers,
    integers,
    require,
)

_KEPT: Final = ("features_info", "oblivious_trees", "scale_and_bias")
_OF_FEATURE: Final = (
    "borders feature_id feature_index flat_feature_index has_nans nan_value_treatment"
)
_OF_SPLIT: Final = "border float_feature_index split_index split_type"


@entry
class CatBoost(Trees, stored=True):
    """CatBoost, by the depth of its symmetric trees.

    YetiRank within queries, multiclass for `classes`, else least squares.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of rounds.
    learning_rate : float, default=0.1
        What each tree is multiplied by.
    leaves : int, default=15
        Not used.
    depth : int, default=5
        The depth of trees.
    classes : array-like, default=None
        Ordered classes, lowest first, if these are to be predicted: of each row the
        median by the probabilities.
    random_state : int, default=0
        The seed.

    Attributes
    ----------
    model_ : catboost.CatBoost or None
        The trees; None where one class was seen.
    classes_ : ndarray of shape (n_classes,)
        The classes, if there are some.
    seen_ : ndarray
        The positions of those that were seen.
    n_features_in_ : int
        The number of features.

    Notes
    -----
    Needs CatBoost: ``pip install catboost``. A model file has CatBoost's own JSON.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.
    """

    package = "catboost"
    sizes: ClassVar = {"depth": (4, 6, 8)}

    def _boosted(self, library: Any, kind: str, X: Floats, y: Any, qid: Ints | None) -> Any:
        options = {
            "n_estimators": self.n_estimators,
            "learning_rate": self.learning_rate,
            "depth": self.depth,
            "random_seed": self.random_state,
            "verbose": False,
            "allow_writing_files": False,
            "thread_count": 1 if few_threads(X) else -1,
            "loss_function": {"values": "RMSE", "lists": "YetiRank"}.get(kind, "MultiClass"),
        }
        return library.CatBoost(options).fit(X, y, group_id=qid)

    def _scores(self, X: Floats, rounds: int | None) -> Any:
        raw = self.model_.predict(X, prediction_type="RawFormulaVal", ntree_end=rounds or 0)
        return raw if self.classes is None else softmax(raw, axis=1)

    def _contributions(self, X: Floats) -> Any:
        rows = self._library().Pool(X)
        return self.model_.get_feature_importance(rows, type="ShapValues")[:, :-1]

    def _text(self, model: Any) -> bytes:
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.json")
            model.save_model(str(path), format="json")
            whole = json.loads(path.read_bytes())
        # Without how it was learnt.
        return json.dumps({name: whole[name] for name in _KEPT}).encode("ascii")

    def _loaded(self, library: Any, text: bytes) -> Any:
        model = library.CatBoost()
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.json")
            path.write_bytes(text)
            model.load_model(str(path), format="json")
        # Its reader is wrong by a last digit in some numbers.
        whole = json.loads(text)
        leaves = [tree["leaf_values"] for tree in whole["oblivious_trees"]]
        model.set_leaf_values(np.concatenate(leaves))
        model.set_scale_and_bias(*whole["scale_and_bias"])
        return model

    def _check_text(self, text: str, n_features: int, n_classes: int) -> None:
        whole = fields(decoded(text.encode("ascii"), "model"), " ".join(_KEPT))
        info = fields(whole["features_info"], "float_features")["float_features"]
        is_list = isinstance(info, list) and len(info) == n_features
        require(is_list, "the columns of its ranker")
        borders = [_checked_borders(feature, k) for k, feature in enumerate(info)]
        n_outputs = max(n_classes, 1)
        scale_and_bias = whole["scale_and_bias"]
        is_pair = isinstance(scale_and_bias, list) and len(scale_and_bias) == 2
        # With another scale there are no Shapley values; CatBoost learns none.
        is_plain = is_pair and scale_and_bias[0] == 1
        require(is_plain, "a scale of one and a first score")
        finite_numbers(scale_and_bias[1], n_outputs)
        trees = whole["oblivious_trees"]
        require(isinstance(trees, list) and len(trees) > 0, "trees")
        first = np.cumsum([0, *map(len, borders)])
        for tree in trees:
            _check_tree(tree, borders, first, n_outputs)


def _checked_borders(value: Any, number: int) -> list[float]:
    feature = fields(value, _OF_FEATURE)
    is_placed = feature["feature_index"] == feature["flat_feature_index"] == number
    is_known = feature["nan_value_treatment"] in ("AsIs", "AsFalse", "AsTrue")
    is_known = is_known and type(feature["has_nans"]) is bool and feature["feature_id"] == ""
    require(is_placed and is_known, "its features in their order")
    borders = finite_numbers(feature["borders"])
    require(bool((np.diff(borders) > 0).all()), "borders that ascend")
    return [float(border) for border in borders]


def _check_tree(value: Any, borders: list[list[float]], first: Ints, n_outputs: int) -> None:
    """Refuse a tree unless its splits are borders of features, and its leaves are all there."""
    tree = fields(value, "leaf_values leaf_weights splits")
    splits = tree["splits"]
    require(isinstance(splits, list) and len(splits) <= 16, "trees of a depth up to 16")
    finite_numbers(tree["leaf_values"], n_outputs << len(splits))
    finite_numbers(tree["leaf_weights"], 1 << len(splits))
    for split in splits:
        entries = fields(split, _OF_SPLIT)
        (feature,) = integers([entries["float_feature_index"]], 0, len(borders))
        low, high = int(first[feature]), int(first[feature + 1])
        (position,) = integers([entries["split_index"]], low, high)
        is_border = entries["border"] == borders[feature][position - low]
        require(is_border and entries["split_type"] == "FloatFeature", "splits at borders")
