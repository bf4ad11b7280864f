"""Trees of other libraries in model files: to the bit, and checked before they are read."""

import json
import sys

import numpy as np
import pytest

import peckorder
import peckorder.io
from peckorder import third_party
from peckorder.exceptions import MissingExtraError, ModelFileError
from support.damaged_files import closed, opened
from support.helpers import exactly

_rng = np.random.default_rng(3)
X = _rng.normal(size=(120, 4))
HEIGHT = X[:, 0] * 2 + X[:, 1]
X[::7, 1] = np.nan
LEVEL = np.digitize(HEIGHT, [-1.0, 1.0])
QUERY = np.repeat(np.arange(12), 10)
# Two columns of levels, of many and of two, that say most.
PLACE, SIDE = _rng.integers(0, 12, 120), _rng.integers(0, 2, 120)
WITH_LEVELS = np.column_stack([PLACE, X[:, 0], SIDE, X[:, 1]]).astype(float)
WITH_LEVELS[::11, 0] = np.nan
NAMES = ["LightGBM", "XGBoost", "CatBoost"]
WAYS = ["values", "lists", "classes", "two classes", "one class"]


def rows_of(way):
    return WITH_LEVELS if way.startswith("categories") else X


def fitted(name, way):
    """Return trees of a library, which is skipped where it is not installed."""
    kind = getattr(third_party, name)
    pytest.importorskip(kind.package, reason=f"{kind.package} is not installed")
    size = {"leaves": 4, "depth": 3, "n_estimators": 6}
    if way.startswith("categories"):
        return _with_levels(kind, size, way)
    if way == "values":
        return kind(**size).fit(X, HEIGHT)
    if way == "lists":
        return kind(**size).fit(X, LEVEL, qid=QUERY)
    labels = np.array(["low", "middle", "high", "top"], dtype=object)[LEVEL]
    model = kind(**size, classes=["low", "middle", "high", "top"])
    if way == "classes":
        return model.fit(X, labels)
    kept = labels == "low" if way == "one class" else labels != "low"
    return model.fit(X[kept], labels[kept])


def _with_levels(kind, size, way):
    height = np.sin(7 * PLACE) + SIDE + 0.3 * X[:, 0]
    level = np.digitize(height, [0.0, 1.0])
    if way == "categories of classes":
        model = kind(**size, classes=[0, 1, 2], categorical_features=[0, 2])
        return model.fit(WITH_LEVELS, level)
    # LightGBM wants a hundred rows of a level, else.
    times = 9
    rows = np.tile(WITH_LEVELS, (times, 1))
    model = kind(**size, categorical_features=[0, 2])
    if way == "categories in lists":
        return model.fit(rows, np.tile(level, times), qid=np.repeat(np.arange(108), 10))
    return model.fit(rows, np.tile(height, times))


def asked(model, X):
    if model.classes is None:
        return [model.predict(X), model.explain(X), model.rank(X, QUERY), model.predict(X, 2)]
    return [model.predict(X), model.predict_proba(X), model.decision_function(X)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "way", [*WAYS, "categories", "categories in lists", "categories of classes"]
)
def test_they_come_back_to_the_bit(name, way):
    model, X = fitted(name, way), rows_of(way)
    content = model.to_bytes()
    again = peckorder.io.from_bytes(content)
    assert repr(again) == repr(model)
    for mine, theirs in zip(asked(model, X), asked(again, X), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert again.to_bytes() == content
    if model.classes is None:
        added = model.explain(X)
        assert added.shape == X.shape
        constant = model.predict(X) - added.sum(axis=1)
        np.testing.assert_allclose(constant, constant[0], atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_levels_have_no_order_and_others_are_missing(name):
    model, rows = fitted(name, "categories"), WITH_LEVELS.copy()
    model.set_params(n_estimators=60)
    height = np.sin(7 * PLACE) + SIDE
    model.fit(np.tile(rows, (9, 1)), np.tile(height, 9))
    # Numbers would need more leaves than four per tree; three values of four were seen.
    assert np.corrcoef(model.predict(rows), height)[0, 1] > 0.9
    gap = rows.copy()
    gap[:, 0] = np.nan
    for wrong in (-1.0, 0.5, 256.0, 1e300, np.inf, -np.inf):
        rows[:, 0] = wrong
        np.testing.assert_array_equal(model.predict(rows), model.predict(gap))
        np.testing.assert_array_equal(model.explain(rows), model.explain(gap))
        with pytest.raises(ValueError, match="be whole numbers from 0 to 255 in columns of cat"):
            model.fit(rows, HEIGHT)
    for levels in (256, [4], [0, 0], ["a"], [-1], [True]):
        with pytest.raises(ValueError, match=f"^{name}: categorical_features must be"):
            model.set_params(categorical_features=levels).fit(WITH_LEVELS, HEIGHT)


def test_trees_that_are_leaves_come_back():
    # Rows that are all alike or too few; classes of which all rows are sure.
    pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    kind, level = third_party.LightGBM, np.digitize(X[:, 0], [-1.0, 0.0])
    for model in (
        kind(n_estimators=3).fit(np.ones_like(X), HEIGHT),
        kind(n_estimators=3, classes=[0, 1, 2]).fit(X[:15], level[:15]),
        kind(n_estimators=300, learning_rate=0.3, classes=[0, 1, 2]).fit(X, level),
    ):
        assert b"num_leaves=1\n" in model._text(model.model_)
        again = peckorder.io.from_bytes(model.to_bytes())
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        if model.classes is not None:
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", NAMES)
def test_a_library_that_is_not_installed_is_named(name, monkeypatch):
    content = fitted(name, "values").to_bytes()
    package = getattr(third_party, name).package
    monkeypatch.setitem(sys.modules, package, None)
    sentence = (
        f"from_bytes: {package} must be installed for a {name} model; got none. "
        f"Type pip install {package}."
    )
    with pytest.raises(MissingExtraError, match=exactly(sentence)):
        peckorder.io.from_bytes(content)


def with_text(content, change):
    """Return a file, with a checksum that fits, whose text of a model is changed."""
    header, parts = opened(content)
    number = header["state"]["model"]["array"]
    text = change(parts[number].decode()).encode("utf-8", "surrogateescape")
    parts[number], header["arrays"][number][1] = text, [len(text)]
    return closed(header, parts)


def in_json(*path, value):
    """Return what puts a value in a place of a JSON text, or computes it there."""

    def change(text):
        whole = json.loads(text)
        node = whole
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = value(node[path[-1]]) if callable(value) else value
        return json.dumps(whole)

    return change


_BOOSTER = ("learner", "gradient_booster", "model")
_FIRST = (*_BOOSTER, "trees", 0)


def line(name, value, tree=0):
    """Return what changes a line of a tree of LightGBM, its length in the head too."""

    def change(text):
        head, first, rest = text.partition(f"Tree={tree}\n")
        before, key, after = rest.partition(f"{name}=")
        old, _, after = after.partition("\n")
        new = value(old) if callable(value) else value
        sizes = head.partition("tree_sizes=")[2].partition("\n")[0].split(" ")
        sizes[tree] = str(int(sizes[tree]) + len(new) - len(old))
        head = head.partition("tree_sizes=")[0] + f"tree_sizes={' '.join(sizes)}\n\n"
        return f"{head}{first}{before}{key}{new}\n{after}"

    return change


HARM = {
    "LightGBM": [
        lambda text: "",
        lambda text: text[:-20],
        lambda text: text + "parameters:\n[machines: far.away]\nend of parameters\n",
        lambda text: text.replace("objective=regression", "objective=custom"),
        lambda text: text.replace("max_feature_idx=3", "max_feature_idx=9"),
        lambda text: text.replace("num_class=1", "num_class=7"),
        lambda text: text.replace("label_index=0", "label_index=0\nlabel_index=0"),
        lambda text: text.replace("Tree=1", "Tree=9"),
        lambda text: text.replace("tree_sizes=", "tree_sizes=1"),
        lambda text: text.replace("threshold", "thresholds", 1),
        lambda text: text.replace("Column_0", "Cölumn_0"),
        line("split_feature", "0 1 4"),
        line("split_feature", "0 1 -1"),
        line("left_child", "0 -1 -2"),
        line("left_child", "1 -1 -9"),
        line("right_child", lambda old: " ".join(["99", *old.split(" ")[1:]])),
        line("num_leaves", "99"),
        line("num_leaves", "-1"),
        line("num_cat", "1"),
        line("decision_type", "1 1 1"),
        line("decision_type", "2 2"),
        line("threshold", "0 nan 0"),
        line("threshold", "0 0 0x1"),
        line("leaf_value", "1 2 3"),
        line("is_linear", "1"),
        line("leaf_count", "1 2 3 99999999999999999999"),
        lambda text: text.replace("tree_sizes=", "tree_sizes=9" * 400),
    ],
    "XGBoost": [
        lambda text: "",
        lambda text: text[:-5],
        lambda text: text.replace('"version"', '"version":[3,0,0],"version"'),
        lambda text: "[" * 4000 + "]" * 4000,
        in_json("learner", "objective", "name", value="rank:custom"),
        in_json("learner", "attributes", value={"best_iteration": "7"}),
        in_json("learner", "learner_model_param", "num_feature", value="1000"),
        in_json("learner", "learner_model_param", "base_score", value="[1,2]"),
        in_json("learner", "learner_model_param", "base_score", value="1" * 99),
        in_json("learner", "gradient_booster", "name", value="dart"),
        in_json(*_BOOSTER, "gbtree_model_param", "num_trees", value="7"),
        in_json(*_BOOSTER, "iteration_indptr", value=[0, 1, 2, 3, 4, 5, 99]),
        in_json(*_BOOSTER, "tree_info", value=[0, 0, 0, 0, 0, 5]),
        in_json(*_BOOSTER, "trees", value=lambda trees: trees[:-1]),
        in_json(*_BOOSTER, "cats", "enc", value=[1]),
        in_json(*_FIRST, "split_indices", 0, value=4),
        in_json(*_FIRST, "split_indices", 0, value=True),
        in_json(*_FIRST, "left_children", 0, value=0),
        in_json(*_FIRST, "left_children", 0, value=99),
        in_json(*_FIRST, "right_children", 0, value=-1),
        in_json(*_FIRST, "right_children", 0, value=1),
        in_json(*_FIRST, "parents", 0, value=1),
        in_json(*_FIRST, "split_conditions", 0, value="x"),
        in_json(*_FIRST, "split_conditions", value=lambda old: old[1:]),
        in_json(*_FIRST, "split_type", 0, value=1),
        in_json(*_FIRST, "categories", value=[1]),
        in_json(*_FIRST, "tree_param", "num_nodes", value="999"),
        in_json(*_FIRST, "tree_param", "size_leaf_vector", value="2"),
        in_json(*_FIRST, "id", value=3),
        in_json(*_FIRST, "sum_hessian", 0, value=0.0),
        in_json(*_FIRST, "sum_hessian", 1, value=1e30),
    ],
    "CatBoost": [
        in_json("scale_and_bias", 0, value=2.0),
        lambda text: "",
        lambda text: text[:-5],
        lambda text: text[:-1] + ', "ctr_data": {}}',
        in_json("features_info", "float_features", value=lambda old: old[:-1]),
        in_json("features_info", "float_features", 0, "flat_feature_index", value=3),
        in_json("features_info", "float_features", 0, "borders", value=lambda old: old[::-1]),
        in_json("features_info", "float_features", 0, "nan_value_treatment", value="x"),
        in_json("scale_and_bias", value=[1]),
        in_json("scale_and_bias", 1, value=[0, 0]),
        in_json("oblivious_trees", value=[]),
        in_json("oblivious_trees", 0, "leaf_values", value=lambda old: old[1:]),
        in_json("oblivious_trees", 0, "leaf_weights", value=lambda old: old[1:]),
        in_json("oblivious_trees", 0, "splits", value=lambda old: old[1:]),
        in_json("oblivious_trees", 0, "splits", value=lambda old: old * 20),
        in_json("oblivious_trees", 0, "splits", 0, "float_feature_index", value=9),
        in_json("oblivious_trees", 0, "splits", 0, "split_index", value=99999),
        in_json("oblivious_trees", 0, "splits", 0, "border", value=0.5),
        in_json("oblivious_trees", 0, "splits", 0, "split_type", value="OneHotFeature"),
        in_json("oblivious_trees", 0, "leaf_values", 0, value=10**400),
    ],
}


@pytest.mark.parametrize(
    ("name", "number"), [(name, k) for name in NAMES for k in range(len(HARM[name]))]
)
def test_a_text_that_would_do_harm_is_refused_before_its_library_reads_it(
    name, number, monkeypatch
):
    content = fitted(name, "values").to_bytes()
    kind = getattr(third_party, name)
    harmed = with_text(content, HARM[name][number])
    assert harmed != content

    def read(self, library, text):
        raise AssertionError("the library was asked")

    monkeypatch.setattr(kind, "_loaded", read)
    with pytest.raises(ModelFileError):
        peckorder.io.from_bytes(harmed)


HARM_OF_SETS = {
    "LightGBM": [
        line("num_cat", "0"),
        line("num_cat", "-1"),
        line("num_cat", "99999999"),
        line("cat_boundaries", lambda old: "1 " + old.partition(" ")[2]),
        line("cat_boundaries", lambda old: old + "0"),
        line("cat_boundaries", lambda old: old[:-1] + "-1"),
        line("cat_threshold", lambda old: old + " 7"),
        line("cat_threshold", lambda old: "4294967296" + old[old.find(" ") :]),
        line("cat_threshold", lambda old: "-1" + old[old.find(" ") :]),
        line("threshold", lambda old: "7" + old[1:]),
        line("threshold", lambda old: "0.5" + old[1:]),
        line("decision_type", lambda old: old.replace("1", "0")),
        line("decision_type", lambda old: old.replace("8", "9").replace("10", "9")),
        lambda text: text.replace("feature_infos=-1:", "feature_infos=-1;"),
        lambda text: text.replace("cat_boundaries", "cat_threshold", 1),
    ],
    "XGBoost": [
        in_json("learner", "feature_types", value=["q", "q", "q", "q"]),
        in_json("learner", "feature_types", value=["c", "q", "c"]),
        in_json(*_FIRST, "categories", 0, value=256),
        in_json(*_FIRST, "categories", 0, value=-1),
        in_json(*_FIRST, "categories", value=lambda old: old[1:]),
        in_json(*_FIRST, "categories_sizes", 0, value=0),
        in_json(*_FIRST, "categories_sizes", 0, value=99),
        in_json(*_FIRST, "categories_segments", 0, value=1),
        in_json(*_FIRST, "categories_nodes", 0, value=99),
        in_json(*_FIRST, "categories_nodes", value=lambda old: old[:-1]),
        in_json(*_FIRST, "split_type", value=lambda old: [0] * len(old)),
        in_json(*_FIRST, "split_type", value=lambda old: [1] * len(old)),
        in_json(*_FIRST, "split_indices", 0, value=1),
    ],
    "CatBoost": [
        in_json("ctr_data", value={}),
        in_json("ctr_data", value=[]),
        in_json("ctr_data", value=lambda old: {**old, "more": next(iter(old.values()))}),
        in_json("ctr_data", value=dict.fromkeys),
        in_json("features_info", "categorical_features", value=[]),
        in_json("features_info", "categorical_features", value=lambda old: old[::-1] * 2),
        in_json("features_info", "categorical_features", 0, "feature_index", value=7),
        in_json("features_info", "categorical_features", 0, "flat_feature_index", value=0),
        in_json("features_info", "categorical_features", 0, "feature_id", value="x"),
        in_json("features_info", "categorical_features", 0, "values", value=[1, 1]),
        in_json("features_info", "ctrs", 0, "ctr_type", value="Buckets"),
        in_json("features_info", "ctrs", 0, "ctr_type", value=["Borders"]),
        in_json("features_info", "ctrs", 0, "identifier", value="x"),
        in_json("features_info", "ctrs", 0, "elements", value=[]),
        in_json("features_info", "ctrs", 0, "elements", value=lambda old: old * 2),
        in_json("features_info", "ctrs", 0, "elements", 0, "cat_feature_index", value=5),
        in_json("features_info", "ctrs", 0, "target_border_idx", value=9),
        in_json("features_info", "ctrs", 0, "prior_denomerator", value=0),
        in_json("features_info", "ctrs", 0, "scale", value="15"),
        in_json("features_info", "ctrs", 0, "shift", value=1e300),
        in_json("features_info", "ctrs", 0, "borders", value=lambda old: [*old, *old]),
        in_json("features_info", "ctrs", value=lambda old: old[1:]),
        *(
            in_json(
                "ctr_data", value=lambda old, k=k, to=to: {n: {**t, k: to} for n, t in old.items()}
            )
            for k, to in [
                ("hash_stride", 0),
                ("hash_stride", 1),
                ("hash_stride", 7),
                ("hash_stride", 1 << 40),
                ("hash_map", ["1", 2]),
                ("hash_map", ["x", 2, 3]),
                ("hash_map", ["7", 2, 3, "7", 2, 3]),
                ("hash_map", [str(2**64), 2, 3]),
                ("hash_map", ["7", -2, 3]),
                ("hash_map", None),
                ("counter_denominator", -1),
            ]
        ),
    ],
}


@pytest.mark.parametrize(
    ("name", "number"), [(name, k) for name in NAMES for k in range(len(HARM_OF_SETS[name]))]
)
def test_sets_of_levels_that_would_do_harm_are_refused(name, number, monkeypatch):
    content = fitted(name, "categories").to_bytes()
    harmed = with_text(content, HARM_OF_SETS[name][number])
    assert harmed != content

    def read(self, library, text):
        raise AssertionError("the library was asked")

    monkeypatch.setattr(getattr(third_party, name), "_loaded", read)
    with pytest.raises(ModelFileError):
        peckorder.io.from_bytes(harmed)


@pytest.mark.parametrize("name", NAMES)
def test_categories_that_are_no_features_are_refused(name):
    header, parts = opened(fitted(name, "categories").to_bytes())
    for value in ([0, 4], [0], [], [0, 2, 3], [0, -1], "02", None):
        header["parameters"]["categorical_features"] = value
        with pytest.raises(ModelFileError):
            peckorder.io.from_bytes(closed(header, parts))


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_fit_the_ranker_is_refused(name):
    header, parts = opened(fitted(name, "two classes").to_bytes())
    classes = header["parameters"]["classes"]
    for value in (None, ["low"], ["low", "low"], 3):
        header["parameters"]["classes"] = value
        with pytest.raises(ModelFileError):
            peckorder.io.from_bytes(closed(header, parts))
    header["parameters"]["classes"] = classes
    for value in (None, header["state"]["model"]):
        with pytest.raises(ModelFileError):
            peckorder.io.from_bytes(
                closed({**header, "state": {"seen": value, "model": None}}, parts)
            )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", ["values", "classes", "categories", "categories of classes"])
def test_random_damage_is_refused_or_answers(name, way):
    content, X = fitted(name, way).to_bytes(), rows_of(way)
    rng = np.random.default_rng(11)
    n_refused = 0
    for _ in range(150):

        def change(text):
            for _ in range(int(rng.integers(1, 3))):
                place = int(rng.integers(len(text)))
                what = str(rng.choice([*'0123456789-., \n={}[]"exN', ""]))
                text = text[:place] + what + text[place + int(rng.integers(0, 3)) :]
            return text

        try:
            model = peckorder.io.from_bytes(with_text(content, change))
        except ModelFileError:
            n_refused += 1
            continue
        assert len(model.predict(X)) == len(X)
    assert n_refused > 50
