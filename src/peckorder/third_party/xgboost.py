"""XGBoost: its trees as a ranker of ours, and its JSON, checked entry by entry."""

import re
from typing import Any, ClassVar, Final

import numpy as np

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

_ROOT: Final = 2**31 - 1
_SETS: Final = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
_FLOATS: Final = ("base_weights", "loss_changes", "split_conditions", "sum_hessian")
_LINKS: Final = "default_left left_children parents right_children split_indices split_type"
_NUMBER: Final = r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:E-?[0-9]{1,3})?"
# One number, or a list of one for each class.
_SCORES: Final = re.compile(rf"{_NUMBER}|\[{_NUMBER}(?:,{_NUMBER})*\]")
_PLAIN: Final = ("attributes", "feature_names")


@entry
class XGBoost(Trees, stored=True):
    """XGBoost, by the depth of trees.

    ``rank:ndcg`` within queries, multiclass for `classes`, else least squares.

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
        The columns that are categories, as XGBoost divides them into two sets: whole numbers from
        0 to 255 that have no order. Others than these are missing when predicted.
    cat_smooth : float, default=10.0
        Not used.
    random_state : int, default=0
        The seed.

    Attributes
    ----------
    model_ : xgboost.Booster or None
        The trees; None where one class was seen.
    classes_ : ndarray of shape (n_classes,)
        The classes, if there are some.
    seen_ : ndarray
        The positions of those that were seen.
    n_features_in_ : int
        The number of features.

    Notes
    -----
    Needs XGBoost: ``pip install xgboost``. A model file has XGBoost's own JSON.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.
    """

    package = "xgboost"
    sizes: ClassVar = {"depth": (3, 5, 8)}

    def _boosted(self, library: Any, kind: str, X: Floats, y: Any, qid: Ints | None) -> Any:
        options = {
            "n_estimators": self.n_estimators,
            "learning_rate": self.learning_rate,
            "max_depth": self.depth,
            "random_state": self.random_state,
            "tree_method": "hist",
            "n_jobs": 1 if few_threads(X) else None,
        }
        if self._categories:
            options |= {"feature_types": self._kinds(X.shape[1]), "enable_categorical": True}
        if qid is not None:
            lists = {"objective": "rank:ndcg", "lambdarank_pair_method": "topk"}
            return library.XGBRanker(**lists, **options).fit(X, y, qid=qid).get_booster()
        make = library.XGBClassifier if kind == "classes" else library.XGBRegressor
        return make(**options).fit(X, y).get_booster()

    def _scores(self, X: Floats, rounds: int | None) -> Any:
        return self.model_.inplace_predict(X, iteration_range=(0, rounds or 0))

    def _contributions(self, X: Floats) -> Any:
        kinds: dict[str, Any] = {}
        if self._categories:
            kinds = {"feature_types": self._kinds(X.shape[1]), "enable_categorical": True}
        rows = self._library().DMatrix(X, **kinds)
        return self.model_.predict(rows, pred_contribs=True)[:, :-1]

    def _kinds(self, n_features: int) -> list[str]:
        """Return c for columns of categories, q for others."""
        return ["c" if k in self._categories else "q" for k in range(n_features)]

    def _text(self, model: Any) -> bytes:
        return bytes(model.save_raw("json"))

    def _loaded(self, library: Any, text: bytes) -> Any:
        booster = library.Booster()
        booster.load_model(bytearray(text))
        return booster

    def _check_text(self, text: str, n_features: int, n_classes: int) -> None:
        whole = fields(decoded(text.encode("ascii"), "model"), "learner version")
        integers(whole["version"], 0, 1000, 3)
        learner = fields(
            whole["learner"],
            "gradient_booster learner_model_param objective",
            "attributes feature_names feature_types",
        )
        kinds = self._kinds(n_features) if self._categories else []
        fits = not any(map(learner.get, _PLAIN)) and (learner.get("feature_types") or []) == kinds
        require(fits, "no names or attributes, and the categories of its ranker")
        objectives = {0: ("reg:squarederror", "rank:ndcg"), 2: ("binary:logistic",)}
        allowed = objectives.get(n_classes, ("multi:softprob",))
        objective = learner["objective"]
        name = objective.get("name") if isinstance(objective, dict) else None
        require(name in allowed, "an objective for its ranker")
        n_trees = n_classes if n_classes > 2 else 1
        sizes = fields(
            learner["learner_model_param"],
            "base_score num_class num_feature num_target",
            "boost_from_average",
        )
        expected = {
            "num_class": str(n_trees if n_classes > 2 else 0),
            "num_feature": str(n_features),
            "num_target": "1",
        }
        fits = all(sizes[key] == value for key, value in expected.items())
        require(fits, "the columns and classes of its ranker")
        base = sizes["base_score"]
        is_score = isinstance(base, str) and _SCORES.fullmatch(base) is not None
        require(is_score and base.count(",") in (0, n_trees - 1), "one first score per class")
        booster = fields(learner["gradient_booster"], "model name")
        require(booster["name"] == "gbtree", "trees")
        _check_trees(booster["model"], n_features, n_trees, self._categories)


def _check_trees(value: Any, n_features: int, n_groups: int, categories: list[int]) -> None:
    model = fields(value, "gbtree_model_param iteration_indptr tree_info trees", "cats")
    trees = model["trees"]
    n_trees = len(trees) if isinstance(trees, list) else -1
    sizes = model["gbtree_model_param"]
    expected = {"num_parallel_tree": "1", "num_trees": str(n_trees)}
    require(
        sizes == expected and n_trees > 0 and n_trees % n_groups == 0, "as many trees as it says"
    )
    if "cats" in model:
        cats = fields(model["cats"], "enc feature_segments sorted_idx")
        require(not any(cats.values()), "no names of categories")
    group = integers(model["tree_info"], 0, n_groups, n_trees)
    require(np.array_equal(group, np.arange(n_trees) % n_groups), "the trees of classes in turn")
    rounds = integers(model["iteration_indptr"], 0, n_trees + 1)
    require(np.array_equal(rounds, np.arange(0, n_trees + 1, n_groups)), "whole rounds")
    for number, tree in enumerate(trees):
        _check_tree(tree, number, n_features, categories)


def _check_tree(value: Any, number: int, n_features: int, categories: list[int]) -> None:
    """Refuse a tree unless its nodes are a tree and its features are there."""
    tree = fields(value, f"id tree_param {_LINKS} {' '.join(_FLOATS)}", " ".join(_SETS))
    left = tree["left_children"]
    n_nodes = len(left) if isinstance(left, list) else 0
    expected = {"num_deleted": "0", "num_feature": str(n_features), "num_nodes": str(n_nodes)}
    fits = tree["tree_param"] == {**expected, "size_leaf_vector": "1"} and tree["id"] == number
    require(fits, "plain trees in their order")
    for name in _FLOATS:
        finite_numbers(tree[name], n_nodes)
    integers(tree["default_left"], 0, 2, n_nodes)
    is_set = integers(tree["split_type"], 0, 2, n_nodes) == 1
    feature = integers(tree["split_indices"], 0, n_features, n_nodes)
    left = integers(left, -1, n_nodes, n_nodes)
    right = integers(tree["right_children"], -1, n_nodes, n_nodes)
    parent = integers(tree["parents"], 0, _ROOT + 1, n_nodes)
    inner = np.flatnonzero(left >= 0)
    children = np.concatenate([left[inner], right[inner]])
    owner = np.concatenate([inner, inner])
    # Both children or none; each node but the root behind its one parent.
    fits = np.array_equal(left >= 0, right >= 0) and n_nodes > 0
    fits = fits and np.array_equal(np.sort(children), np.arange(1, n_nodes))
    fits = fits and bool((children > owner).all() and (parent[children] == owner).all())
    require(fits and parent[0] == _ROOT, "trees that can be followed")
    owners = inner[np.isin(feature[inner], categories)]
    require(np.array_equal(np.flatnonzero(is_set), owners), "sets of levels for categories alone")
    sets = [tree.get(name, []) for name in _SETS]
    levels, owner_of_set = integers(sets[0], 0, MOST_LEVELS), integers(sets[1], 0, n_nodes)
    first, size = (integers(part, 0, len(levels) + 1, len(owners)) for part in sets[2:])
    fits = np.array_equal(owner_of_set, owners) and bool((size > 0).all())
    fits = fits and np.array_equal(first + size, np.cumsum(size)) and size.sum() == len(levels)
    require(bool(fits), "a set of levels for each node of categories")
    # Shares of rows by which its Shapley values are weighted.
    cover = np.asarray(tree["sum_hessian"], dtype=np.float64)
    are_shares = (cover[inner] > 0).all() and (cover >= 0).all()
    are_shares = are_shares and (cover[children] <= 1.1 * cover[owner]).all()
    require(bool(are_shares), "nodes with a part of the rows of their parent")
