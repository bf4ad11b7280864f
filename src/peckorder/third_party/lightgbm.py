"""LightGBM: its trees as a ranker of ours, and its text, checked line by line."""

import re
from typing import Any, ClassVar, Final

import numpy as np

from peckorder._core.errors import entry
from peckorder._core.typing import Array, Bools, Floats, Ints
from peckorder.third_party.trees import Trees, few_threads, require

_END: Final = "end of trees\n"
_HEADER: Final = {
    "version",
    "num_class",
    "num_tree_per_iteration",
    "label_index",
    "max_feature_idx",
    "objective",
    "feature_names",
    "feature_infos",
    "tree_sizes",
}
# What belongs to inner nodes and what to leaves: integers, and other numbers.
_OF_NODES: Final = {
    "split_gain": float,
    "threshold": float,
    "internal_value": float,
    "internal_weight": float,
    "internal_count": int,
}
_OF_LEAVES: Final = {"leaf_value": float, "leaf_weight": float, "leaf_count": int}
_LINKS: Final = ("split_feature", "decision_type", "left_child", "right_child")
_SETS: Final = ("cat_boundaries", "cat_threshold")
_TREE: Final = {"num_leaves", "num_cat", "is_linear", "shrinkage", *_LINKS}
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
_NUMBER: Final = re.compile(r"-?(?:[0-9]{1,400}(?:\.[0-9]{1,400})?(?:e[+-]?[0-9]{1,3})?|inf)")

_RANGE: Final = re.compile(rf"none|\[{_NUMBER.pattern}:{_NUMBER.pattern}\]")
_SET: Final = re.compile(r"none|-?[0-9]{1,3}(?::-?[0-9]{1,3})*")


@entry
class LightGBM(Trees, stored=True):
    """LightGBM, by the number of leaves of a tree.

    Lambdarank within queries, multiclass for `classes`, else least squares.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of rounds.
    learning_rate : float, default=0.1
        What each tree is multiplied by.
    leaves : int, default=15
        The most leaves of a tree.
    depth : int, default=5
        Not used.
    classes : array-like, default=None
        Ordered classes, lowest first, if these are to be predicted: of each row the
        median by the probabilities.
    categorical_features : list of int, default=None
        The columns that are categories, as LightGBM divides them into two sets: whole numbers from
        0 to 255 that have no order. Others than these are missing when predicted.
    cat_smooth : float, default=10.0
        Levels of fewer rows go with the others, and means of levels are smoothed by so
        many rows.
    random_state : int, default=0
        The seed.

    Attributes
    ----------
    model_ : lightgbm.Booster or None
        The trees; None where one class was seen.
    classes_ : ndarray of shape (n_classes,)
        The classes, if there are some.
    seen_ : ndarray
        The positions of those that were seen.
    n_features_in_ : int
        The number of features.

    Notes
    -----
    Needs LightGBM: ``pip install lightgbm``. A model file has LightGBM's own text.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.
    """

    package = "lightgbm"
    sizes: ClassVar = {"leaves": (7, 15, 31)}
    # By default a table of 500 rows has hardly a level that is not left out.
    sizes_of_levels: ClassVar = {"cat_smooth": (10.0, 1.0)}

    def _boosted(self, library: Any, kind: str, X: Floats, y: Any, qid: Ints | None) -> Any:
        options = {
            "n_estimators": self.n_estimators,
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "cat_smooth": self.cat_smooth,
            "random_state": self.random_state,
            "verbosity": -1,
            "deterministic": True,
            "force_row_wise": True,
            "n_jobs": 1 if few_threads(X) else None,
        }
        given = {"categorical_feature": self._categories or "auto"}
        if qid is not None:
            model = library.LGBMRanker(**options)
            return model.fit(X, y, group=np.bincount(qid), **given).booster_
        make = library.LGBMClassifier if kind == "classes" else library.LGBMRegressor
        return make(**options).fit(X, y, **given).booster_

    def _scores(self, X: Floats, rounds: int | None) -> Any:
        return self.model_.predict(X, num_iteration=rounds or -1, num_threads=_threads(X))

    def _contributions(self, X: Floats) -> Any:
        return self.model_.predict(X, pred_contrib=True, num_threads=_threads(X))[:, :-1]

    def _text(self, model: Any) -> bytes:
        # What follows the trees is how they were learnt: file names among other things.
        trees, end, _ = model.model_to_string().partition(_END)
        return f"{trees}{end}".encode("ascii")

    def _loaded(self, library: Any, text: bytes) -> Any:
        return library.Booster(model_str=text.decode("ascii"))

    def _check_text(self, text: str, n_features: int, n_classes: int) -> None:
        head, trees = _checked_head(text, set(self._categories))
        n_trees = n_classes if n_classes > 2 else 1
        objectives = {0: ("regression", "lambdarank"), 2: ("binary sigmoid:1",)}
        allowed = objectives.get(n_classes, (f"multiclass num_class:{n_classes}",))
        expected = {
            "num_class": str(n_trees),
            "num_tree_per_iteration": str(n_trees),
            "max_feature_idx": str(n_features - 1),
            "feature_names": " ".join(f"Column_{k}" for k in range(n_features)),
        }
        fits = all(head[name] == value for name, value in expected.items())
        require(fits and head["objective"] in allowed, "the columns and classes of its ranker")
        require(len(trees) % n_trees == 0, "as many trees for each class")
        for number, tree in enumerate(trees):
            _check_tree(number, tree, n_features, self._categories)


def _threads(X: Floats) -> int:
    return 1 if few_threads(X) else 0


def _checked_head(text: str, categories: set[int]) -> tuple[dict[str, str], list[str]]:
    """Return the entries of the head, and the text of each tree."""
    first, _, rest = text.partition("\n")
    head, gap, body = rest.partition("\n\n")
    entries = _entries(head, _HEADER)
    is_known = first == "tree" and bool(gap) and entries["version"] in ("v3", "v4")
    require(is_known and entries["label_index"] == "0", "the head of LightGBM's texts")
    infos = entries["feature_infos"].split(" ")
    n_features = len(entries["feature_names"].split(" "))
    is_info = [_SET if k in categories else _RANGE for k in range(n_features)]
    fits = len(infos) == n_features
    fits = fits and all(known.fullmatch(i) for known, i in zip(is_info, infos, strict=True))
    require(fits, "one range or set of levels per feature")
    sizes = _numbers(entries["tree_sizes"], int)
    ends = np.cumsum(sizes)
    is_whole = len(sizes) > 0 and (sizes > 0).all() and ends[-1] == len(body) - len(_END)
    require(bool(is_whole) and body.endswith(_END), "trees of the sizes that it says")
    return entries, [body[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _check_tree(number: int, text: str, n_features: int, categories: list[int]) -> None:
    """Refuse a tree unless its nodes are a tree and its features are there."""
    first, _, rest = text.partition("\n")
    names = {**_OF_NODES, **_OF_LEAVES}
    has_sets = bool(categories) and "\nnum_cat=0\n" not in rest
    entries = _entries(rest.rstrip("\n"), {*names, *_TREE, *(_SETS if has_sets else ())})
    is_plain = entries["is_linear"] == "0" and (has_sets or entries["num_cat"] == "0")
    require(first == f"Tree={number}" and is_plain, "plain trees in their order")
    require(_NUMBER.fullmatch(entries["shrinkage"]) is not None, "numbers where they belong")
    (n_leaves,) = _numbers(entries["num_leaves"], int, 1)
    require(n_leaves >= 1, "a leaf in each tree")
    for name, kind in names.items():
        is_leaf = name in _OF_LEAVES
        if n_leaves == 1 and name == "leaf_weight" and not entries[name]:
            continue
        _numbers(entries[name], kind, n_leaves if is_leaf else n_leaves - 1)
    feature, decision, left, right = (_numbers(entries[name], int, n_leaves - 1) for name in _LINKS)
    node = np.arange(n_leaves - 1)
    # Bit 0 is for categories; the others say where missing values go.
    is_set = np.isin(feature, categories)
    fits = (
        ((feature >= 0) & (feature < n_features)).all()
        and np.isin(decision, (0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11)).all()
        and np.array_equal(decision % 2 == 1, is_set)
        and all(((side < 0) | (side > node)).all() for side in (left, right))
    )
    # Leaf k is -1 - k: all numbers but the root's, each once; a leaf alone is the root.
    every = np.arange(-n_leaves, n_leaves - 1)
    below = every[every != 0] if n_leaves > 1 else every[:0]
    fits = fits and np.array_equal(np.sort(np.concatenate([left, right])), below)
    require(bool(fits), "trees that can be followed")
    if has_sets:
        _check_sets(entries, is_set)


def _check_sets(entries: dict[str, str], is_set: Bools) -> None:
    """Refuse sets of levels, in words of 32 bits, unless each node of categories has one."""
    (n_sets,) = _numbers(entries["num_cat"], int, 1)
    ends = _numbers(entries["cat_boundaries"], int)
    levels = _numbers(entries["cat_threshold"], int)
    owner = _numbers(entries["threshold"], float)[is_set]
    fits = (
        len(ends) == n_sets + 1
        and ends[0] == 0
        and ends[-1] == len(levels)
        and (np.diff(ends) > 0).all()
        and ((levels >= 0) & (levels < 2**32)).all()
        and np.array_equal(np.sort(owner), np.arange(n_sets))
    )
    require(bool(fits), "a set of levels for each node of categories")


def _entries(text: str, names: set[str]) -> dict[str, str]:
    """Return lines of the form NAME=VALUE, each name once, and all of them."""
    pairs = [line.partition("=") for line in text.split("\n")]
    entries = {name: value for name, _, value in pairs}
    fits = len(entries) == len(pairs) and entries.keys() == names
    require(fits, f"the lines {', '.join(sorted(names)[:3])} and so on, each once")
    return entries


def _numbers(text: str, kind: type, size: int | None = None) -> Array:
    """Return the numbers of a line, as many as there must be."""
    words = text.split(" ") if text else []
    is_number = (_WHOLE if kind is int else _NUMBER).fullmatch
    fits = size in (None, len(words)) and all(map(is_number, words))
    require(fits, "as many numbers in a line as there are nodes")
    return np.array(words, dtype=np.float64 if kind is float else np.int64)
