"""CatBoost: its symmetric trees as a ranker of ours, and its JSON, checked entry by entry."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from scipy.special import softmax

from peckorder._core.errors import entry
from peckorder._core.typing import Floats, Ints
from peckorder.storage.format import decoded
from peckorder.third_party.trees import (
    MOST_LEVELS,
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
# Tables of counts by level, if there are categories, and the means that are made of them.
_TABLES: Final = "ctr_data"
_OF_MEAN: Final = (
    "borders ctr_type elements identifier prior_denomerator prior_numerator scale shift"
    " target_border_idx"
)
_NO_HASH: Final = str(2**64 - 1)
_HASH: Final = re.compile("[0-9]{1,20}")

# A split as a tree has it.
Split: TypeAlias = dict[str, object]


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
    categorical_features : list of int, default=None
        The columns that are categories, of whose levels CatBoost learns mean targets on
        rows before each: whole numbers from 0 to 255 that have no order. Others than these
        are missing when predicted.
    cat_smooth : float, default=10.0
        Not used.
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
        if not self._categories:
            return library.CatBoost(options).fit(X, y, group_id=qid)
        # One category at a time, as in the other libraries.
        model = library.CatBoost(options | {"max_ctr_complexity": 1})
        return model.fit(library.Pool(self._parted(library, X), label=y, group_id=qid))

    def _parted(self, library: Any, X: Floats) -> Any:
        """Return rows as CatBoost takes them: numbers first, then levels as texts."""
        if not self._categories:
            return X
        levels = np.where(np.isnan(X[:, self._categories]), -1, X[:, self._categories])
        texts = np.array([b"", *(b"%d" % k for k in range(MOST_LEVELS))], dtype=object)
        numbers = np.delete(X, self._categories, axis=1).astype(np.float32)
        return library.FeaturesData(
            num_feature_data=numbers if numbers.shape[1] else None,
            cat_feature_data=texts[levels.astype(np.int64) + 1],
        )

    def _scores(self, X: Floats, rounds: int | None) -> Any:
        rows = self._parted(self._library(), X)
        raw = self.model_.predict(rows, prediction_type="RawFormulaVal", ntree_end=rounds or 0)
        return raw if self.classes is None else softmax(raw, axis=1)

    def _contributions(self, X: Floats) -> Any:
        library = self._library()
        rows = library.Pool(self._parted(library, X))
        added = self.model_.get_feature_importance(rows, type="ShapValues")[:, :-1]
        order = [*np.delete(np.arange(X.shape[1]), self._categories), *self._categories]
        return added[:, np.argsort(order)]

    def _text(self, model: Any) -> bytes:
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.json")
            model.save_model(str(path), format="json")
            whole = json.loads(path.read_bytes())
        # Without how it was learnt.
        kept = {name: whole[name] for name in (*_KEPT, _TABLES) if name in whole}
        for table in kept.get(_TABLES, {}).values():
            # In one order, without its mark of empty places, which repeats the first row:
            # CatBoost's own order is another after its model was loaded.
            cells, width = table["hash_map"], table["hash_stride"]
            rows = sorted(cells[k : k + width] for k in range(0, len(cells), width))
            table["hash_map"] = [cell for row in rows if row[0] != _NO_HASH for cell in row]
        return json.dumps(kept).encode("ascii")

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
        whole = fields(decoded(text.encode("ascii"), "model"), " ".join(_KEPT), _TABLES)
        n_numbers = n_features - len(self._categories)
        optional = "categorical_features ctrs" if self._categories else ""
        info = fields(whole["features_info"], "float_features" if n_numbers else "", optional)
        numbers = info.get("float_features", [])
        is_list = isinstance(numbers, list) and len(numbers) == n_numbers
        require(is_list, "the columns of its ranker")
        splits = [split for k, value in enumerate(numbers) for split in _splits_of(value, k)]
        known, levels = _levels_and_splits(
            info.get("categorical_features", []), n_numbers, len(self._categories)
        )
        tables = _checked_tables(whole.get(_TABLES, {}), known)
        splits += levels + _splits_of_means(info.get("ctrs", []), tables)
        for number, split in enumerate(splits):
            split["split_index"] = number
        n_outputs = max(n_classes, 1)
        scale_and_bias = whole["scale_and_bias"]
        is_pair = isinstance(scale_and_bias, list) and len(scale_and_bias) == 2
        # With another scale there are no Shapley values; CatBoost learns none.
        is_plain = is_pair and scale_and_bias[0] == 1
        require(is_plain, "a scale of one and a first score")
        finite_numbers(scale_and_bias[1], n_outputs)
        trees = whole["oblivious_trees"]
        require(isinstance(trees, list) and len(trees) > 0, "trees")
        for tree in trees:
            _check_tree(tree, splits, n_outputs)


def _splits_of(value: Any, number: int) -> list[Split]:
    """Return the splits at the borders of a feature, as trees have them."""
    feature = fields(value, _OF_FEATURE)
    is_placed = feature["feature_index"] == feature["flat_feature_index"] == number
    is_known = feature["nan_value_treatment"] in ("AsIs", "AsFalse", "AsTrue")
    is_known = is_known and type(feature["has_nans"]) is bool and feature["feature_id"] == ""
    require(is_placed and is_known, "its features in their order")
    split = {"float_feature_index": number, "split_type": "FloatFeature"}
    return [{**split, "border": border} for border in _ascending(feature["borders"])]


def _ascending(borders: Any) -> list[Any]:
    require(bool((np.diff(finite_numbers(borders)) > 0).all()), "borders that ascend")
    return list(borders)


def _levels_and_splits(
    value: Any, n_numbers: int, n_categories: int
) -> tuple[list[int], list[Split]]:
    """Return the categories that are used, by number, and splits at one level of them."""
    require(isinstance(value, list), "a list of categories")
    known: list[int] = []
    splits: list[Split] = []
    for entries in value:
        feature = fields(entries, "feature_id feature_index flat_feature_index", "values")
        (number,) = integers([feature["feature_index"]], 0, n_categories)
        (place,) = integers([feature["flat_feature_index"]], 0, 2**31)
        is_next = number > max(known, default=-1) and feature["feature_id"] == ""
        require(is_next, "its features in their order")
        hashes = integers(feature.get("values", []), -(2**31), 2**31)
        require(len(np.unique(hashes)) == len(hashes), "levels that differ")
        split = {"cat_feature_index": int(number), "split_type": "OneHotFeature"}
        splits += [{**split, "value": level} for level in hashes.tolist()]
        known.append(int(number))
        require(place - number == n_numbers, "its features in their order")
    return known, splits


def _checked_tables(value: Any, known: list[int]) -> dict[str, int]:
    """Return the width of each table with counts of levels; refuse what is no table."""
    require(isinstance(value, dict), "tables by their names")
    allowed = {_identifier(number, kind) for number in known for kind in ("Borders", "Counter")}
    require(value.keys() <= allowed, "tables of its categories")
    widths = {}
    for name, entries in value.items():
        table = fields(entries, "counter_denominator hash_map hash_stride")
        cells = table["hash_map"]
        (width,) = integers([table["hash_stride"]], 2, 1 << 16)
        integers([table["counter_denominator"]], 0, 2**31)
        is_whole = isinstance(cells, list) and len(cells) % width == 0
        require(is_whole, "tables of the width that they say")
        hashes = cells[::width]
        are_hashes = all(isinstance(h, str) and _HASH.fullmatch(h) for h in hashes)
        are_hashes = are_hashes and sorted(set(hashes)) == hashes
        require(are_hashes and all(int(h) < int(_NO_HASH) for h in hashes), "levels that differ")
        for k in range(1, width):
            integers(cells[k::width], 0, 2**31)
        widths[name] = int(width)
    return widths


def _splits_of_means(value: Any, tables: dict[str, int]) -> list[Split]:
    """Return the splits at mean targets, or numbers of rows, of levels."""
    require(isinstance(value, list), "a list of means")
    splits: list[Split] = []
    for entries in value:
        mean = fields(entries, _OF_MEAN)
        elements = mean["elements"]
        is_one = isinstance(elements, list) and len(elements) == 1
        require(is_one, "means of one category at a time")
        element = fields(elements[0], "cat_feature_index combination_element")
        (number,) = integers([element["cat_feature_index"]], 0, 2**31)
        kind = mean["ctr_type"]
        name = _identifier(int(number), kind if isinstance(kind, str) else "")
        is_known = mean["identifier"] == name and name in tables
        is_known = is_known and element["combination_element"] == "cat_feature_value"
        require(is_known, "means of its tables")
        # Of two classes or more, how many rows are above the first few.
        most = 1 if kind == "Counter" else tables[name] - 2
        (above,) = integers([mean["target_border_idx"]], 0, max(most, 0))
        of_mean = [
            mean[part] for part in ("prior_denomerator", "prior_numerator", "scale", "shift")
        ]
        require(bool((np.abs(finite_numbers(of_mean)) <= 1e6).all()), "priors of means")
        require(of_mean[0] > 0, "priors of means")
        split = {"ctr_target_border_idx": int(above), "split_type": "OnlineCtr"}
        splits += [{**split, "border": border} for border in _ascending(mean["borders"])]
    return splits


def _identifier(number: int, kind: str) -> str:
    """Return what CatBoost calls the table of a category."""
    element = {"cat_feature_index": number, "combination_element": "cat_feature_value"}
    return json.dumps({"identifier": [element], "type": kind}, separators=(",", ":"))


def _check_tree(value: Any, known: list[Split], n_outputs: int) -> None:
    """Refuse a tree unless its splits are borders of features, and its leaves are all there."""
    tree = fields(value, "leaf_values leaf_weights splits")
    splits = [] if tree["splits"] is None else tree["splits"]
    require(isinstance(splits, list) and len(splits) <= 16, "trees of a depth up to 16")
    finite_numbers(tree["leaf_values"], n_outputs << len(splits))
    finite_numbers(tree["leaf_weights"], 1 << len(splits))
    for split in splits:
        is_split = isinstance(split, dict) and "split_index" in split
        require(is_split, "splits with their number")
        (number,) = integers([split["split_index"]], 0, len(known))
        # By their text: 1, 1.0 and true are one in Python.
        same = json.dumps(split, sort_keys=True) == json.dumps(known[number], sort_keys=True)
        require(same, "splits of its features")
