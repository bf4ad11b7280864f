from types import SimpleNamespace

import numpy as np
import pytest

import peckorder
from peckorder import datasets
from peckorder.tables.files.read import read_columns
from peckorder.tables.model_rows import contributions, scores_of
from support.command_line import check_refused, output_of, result_of, run, table, write_table

X, Y, QID = table()
RANKERS = {
    "RankBoost": peckorder.RankBoost(n_rounds=9),
    "MPRank": peckorder.MPRank(),
    "SVRank": peckorder.SVRank(),
    "PRank": peckorder.PRank(),
    "PRank, as it is": peckorder.PRank(unit_norm=False, fit_intercept=False),
    "AggregatePRank": peckorder.AggregatePRank(n_estimators=5, random_state=0),
    "WidrowHoff": peckorder.WidrowHoff(fit_intercept=False),
}


@pytest.mark.parametrize("name", RANKERS)
def test_contributions_add_up_to_scores(name):
    model = RANKERS[name].fit(X, Y)
    added, constant = contributions(model, X)
    assert added.shape == X.shape
    total = added.sum(axis=1) + constant
    np.testing.assert_allclose(total, scores_of(model, X), rtol=1e-10, atol=1e-12)


@pytest.fixture
def trained(tmp_path):
    data = write_table(tmp_path / "w.csv", colours=False)
    words = ("fit", data, "--target", "grade", "--ranker", "MPRank", "--quiet")
    assert run(*words, "--set", "C=1", "-o", tmp_path / "m.peckorder") == 0
    return data, tmp_path / "m.peckorder"


def test_explain_a_row(trained, tmp_path, capsys):
    data, model = trained
    out = tmp_path / "all.csv"
    (result,) = result_of(capsys, "explain", model, data, "--row", 3, "--json", "-o", out)["rows"]
    coef = peckorder.load(model).ranker_.coef_
    scaled = (X[2] - X.mean(axis=0)) / X.std(axis=0)
    expected = dict(zip("abc", coef * scaled, strict=True))
    for part in result["features"]:
        np.testing.assert_allclose(part["adds"], expected[part["feature"]], rtol=1e-9)
        assert part["value"] == X[2, "abc".index(part["feature"])]
    size = [abs(part["adds"]) for part in result["features"]]
    assert size == sorted(size, reverse=True)
    every = read_columns(out)
    assert every.names == ("a", "b", "c", "constant", "score")
    np.testing.assert_allclose(every.arrays["score"][2], result["score"], rtol=1e-12)
    shown = output_of(capsys, "explain", model, data, "--top", 1)
    assert "row 1: score" in shown
    assert "2 others" in shown


def test_explain_shows_the_cells_of_text(tmp_path, capsys):
    data, model = tmp_path / "w.csv", tmp_path / "m.peckorder"
    levels = ["low", "medium", "high"] * 40
    lines = [f"{level},{k % 7},{k % 3 + 1}" for k, level in enumerate(levels)]
    data.write_text("risk,size,grade\n" + "\n".join(lines) + "\n")
    words = ("fit", data, "--target", "grade", "--ranker", "RankBoost", "--quiet")
    assert run(*words, "--set", "n_rounds=3", "-o", model) == 0
    (row,) = result_of(capsys, "explain", model, data, "--row", 2, "--json")["rows"]
    parts = {part["feature"]: part for part in row["features"]}
    assert (parts["risk"]["value"], parts["risk"]["cell"]) == (1.0, "medium")
    assert parts["size"]["value"] == 1.0
    assert "cell" not in parts["size"]
    shown = output_of(capsys, "explain", model, data, "--row", 2)
    assert any("risk" in line and "medium" in line for line in shown.splitlines())


def test_explain_classes_by_their_odds(tmp_path, capsys):
    data, model = write_table(tmp_path / "w.csv", colours=False), tmp_path / "m.peckorder"
    words = ("fit", data, "--target", "grade", "--ranker", "OrdinalBoost", "--quiet")
    assert run(*words, "--set", "n_rounds=5", "-o", model) == 0
    (row,) = result_of(capsys, "explain", model, data, "--json")["rows"]
    ranker = peckorder.load(model).ranker_
    log_odds = ranker.decision_function(X[:1]).mean()
    np.testing.assert_allclose(row["mean log odds"], log_odds, rtol=1e-9)
    added = sum(part["adds"] for part in row["features"])
    np.testing.assert_allclose(added + row["constant"], log_odds, rtol=1e-9)
    assert "row 1: mean log odds" in output_of(capsys, "explain", model, data)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("m.peckorder w.csv --row 999", "explain: row must be from 1 to 120; got 999."),
        ("m.peckorder", "explain: file must be given for this model; got none."),
        ("k.peckorder w.csv", "explain: the model must be boosted for scores, PersonalRanker or"),
        (
            "p.peckorder --user u1 --item nothing",
            "explain: user must be one that the model knows; got 'u1'.",
        ),
    ],
)
def test_explain_refuses(trained, tmp_path, capsys, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    peckorder.MPRank(kernel="rbf").fit(X, Y).save("k.peckorder")
    ratings = datasets.make_ratings(20, 30, random_state=0)
    peckorder.collaborative.PersonalRanker(random_state=0).fit(ratings).save("p.peckorder")
    assert check_refused(capsys, "explain", *words.split()).startswith(sentence)


def test_explain_a_rating(tmp_path, capsys):
    ratings = datasets.make_ratings(20, 30, random_state=0)
    model = peckorder.collaborative.PersonalRanker(random_state=0).fit(ratings)
    path = tmp_path / "p.peckorder"
    model.save(path)
    user, item = model.users_[1], model.items_[2]
    words = ("explain", path, "--user", user, "--item", item)
    result = result_of(capsys, *words, "--json")
    found = model.explain(user, item)
    assert result["score"] == found.score
    assert [part["adds"] for part in result["by_items"]] == found.by_items.tolist()
    assert "by others who rated it" in output_of(capsys, *words)
    assert check_refused(capsys, *words[:4], "--item", "nothing") == (
        "explain: item must be one that the model knows; got 'nothing'."
    )


def test_info_tells_what_is_in_a_file(trained, capsys):
    _, model = trained
    result = result_of(capsys, "info", model, "--json")
    assert (result["class"], result["kept_as"]) == ("MPRank", "TableRanker")
    assert result["parameters"]["C"] == 1.0
    assert result["feature_names"] == ["a", "b", "c"]
    assert result["scaled_as"][0].startswith("(a - ")
    assert result["written_by"] == f"peckorder {peckorder.__version__}"
    assert (result["format"], result["checksum"]) == (1, "ok")
    shown = output_of(capsys, "info", model)
    assert "feature names  a, b, c" in shown
    assert "checksum       ok" in shown


def test_a_damaged_model_is_refused(trained, capsys):
    data, model = trained
    content = bytearray(model.read_bytes())
    content[len(content) // 2] ^= 1
    model.write_bytes(content)
    for words in (("info", model), ("rank", model, data), ("explain", model, data)):
        sentence = check_refused(capsys, *words)
        assert sentence.startswith("model must be a sound model file; got ")


def test_data_lists_what_is_here(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PECKORDER_DATA", str(tmp_path))
    monkeypatch.setenv("PECKORDER_CACHE", str(tmp_path / "cache"))
    (tmp_path / "ml-100k").mkdir()
    (tmp_path / "ml-100k" / "u.data").write_text("1\t1\t5\t0\n")
    result = result_of(capsys, "data", "--json")
    assert result["ml-100k"]["found"] == str(tmp_path / "ml-100k")
    assert result["jester"]["found"] is None
    for entry in result.values():
        assert hasattr(datasets, entry["loader"].rpartition(".")[2])
    shown = output_of(capsys, "data")
    assert f"here: {tmp_path / 'ml-100k'}" in shown
    assert "peckorder data fetch jester" in shown


def test_data_fetch(capsys, monkeypatch):
    asked = []

    def fetch(**options):
        asked.append(options)
        return SimpleNamespace(ratings=[1, 2, 3])

    monkeypatch.setattr(datasets, "fetch_jester", fetch)
    assert run("data", "fetch", "jester", "--url", "http://mirror") == 0
    assert asked == [{"url": "http://mirror"}]
    assert "3 ratings" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ([], "data: name must be one of "),
        (["jster"], "got 'jster'. Did you mean 'jester'?"),
        (["ohsumed_letor"], "Get the five parts of OHSUMED"),
    ],
)
def test_data_fetch_refuses(capsys, name, sentence):
    refused = check_refused(capsys, "data", "fetch", *name)
    assert sentence in refused
    assert "ml-100k" in refused


@pytest.mark.parametrize(
    "command", ["fit", "rank", "evaluate", "fuse", "explain", "info", "data", "compare"]
)
def test_help_has_an_example(command, capsys):
    shown = output_of(capsys, command, "--help")
    assert "Usage:" in shown
    if command != "data":
        assert "Example: " in shown


def test_unknown_commands_are_refused_in_a_sentence(capsys):
    sentence = check_refused(capsys, "rnk")
    assert sentence.startswith('Unknown command "rnk". Did you mean "rank"?')
