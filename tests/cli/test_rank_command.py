import gzip
import json

import numpy as np
import pandas as pd
import pytest

import peckorder
from peckorder.gaps import cut_at_gap, gaps
from peckorder.tables.files.read import read_columns
from support.command_line import (
    check_refused,
    give_standard_input,
    output_of,
    result_of,
    run,
    table,
    write_table,
)
from support.tables import written


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    data = write_table(folder / "w.csv")
    for name, ranker in (("m", "MPRank"), ("b", "RankBoost"), ("p", "PRank")):
        words = ("fit", data, "--target", "grade", "--ranker", ranker, "--quiet")
        assert run(*words, "-o", folder / f"{name}.peckorder") == 0
    return folder


def ranks(trained, model, *words):
    return run("rank", trained / f"{model}.peckorder", trained / "w.csv", *words)


def check_positions(score, qid, position):
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        order = rows[np.argsort(-score[rows], kind="stable")]
        assert position[order].tolist() == list(range(1, len(rows) + 1))


@pytest.mark.parametrize("model", ["m", "b", "p"])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_blocks_of_any_size_give_the_same(trained, tmp_path, model, rows):
    out = tmp_path / "o.csv"
    assert ranks(trained, model, "--rows", rows, "-o", out, "--quiet") == 0
    found = read_columns(out).arrays
    X, y, qid = table()
    loaded = peckorder.load(trained / f"{model}.peckorder")
    blue, red = np.arange(120) % 2 == 1, np.arange(120) % 2 == 0
    coded = np.c_[X, blue, red].astype(float)
    if model != "b":
        coded = (coded - coded.mean(axis=0)) / coded.std(axis=0)
    ranker = loaded.ranker_
    scores = ranker.predict if model != "p" else ranker.decision_function
    np.testing.assert_allclose(found["score"], scores(coded), rtol=1e-12, atol=1e-12)
    frame = pd.read_csv(trained / "w.csv")
    scores = loaded.predict if model != "p" else loaded.decision_function
    if rows == 1000:  # sums of a row by itself are made in another order
        np.testing.assert_array_equal(found["score"], scores(frame))
    assert found["docid"].tolist() == [f"d{k}" for k in range(120)]
    assert found["grade"].tolist() == y.tolist()
    assert not {"a", "b", "c", "colour"} & set(found)
    check_positions(found["score"], qid, found["position"])
    np.testing.assert_allclose(found["gap"], gaps(found["score"], qid), atol=1e-15)
    assert found["above_cut"].astype(bool).tolist() == (cut_at_gap(found["score"], qid).tolist())
    if model == "p":
        assert set(found["predicted"].tolist()) <= {0, 1, 2}


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "jsonl.gz", "csv.zst"])
def test_all_formats_say_the_same(trained, tmp_path, suffix):
    plain, other = tmp_path / "o.csv", tmp_path / f"o.{suffix}"
    assert ranks(trained, "b", "-o", plain, "--quiet") == 0
    assert ranks(trained, "b", "-o", other, "--quiet") == 0
    expected, found = read_columns(plain), read_columns(other)
    assert found.names == expected.names
    for name in ("score", "position", "gap"):
        np.testing.assert_array_equal(found.arrays[name], expected.arrays[name])


def test_lists_cut_sorted_and_short(trained, tmp_path):
    out = tmp_path / "o.csv"
    assert ranks(trained, "m", "--sort", "--max-rows", 2, "-o", out, "--quiet") == 0
    found = read_columns(out).arrays
    _, _, qid = table()
    assert found["qid"].tolist() == [q for q in np.unique(qid) for _ in range(2)]
    assert found["position"].tolist() == [1, 2] * len(np.unique(qid))
    assert ranks(trained, "m", "--cut", "-o", out, "--quiet") == 0
    assert set(read_columns(out).arrays["above_cut"].tolist()) == {1}


def test_a_run_on_standard_output(trained, capfdbinary):
    assert ranks(trained, "m", "--out-format", "run") == 0
    shown = capfdbinary.readouterr()
    lines = shown.out.decode().splitlines()
    assert len(lines) == 120
    assert lines[0].split()[:4] == ["0", "Q0", "d2", "1"]
    assert b"120 rows of 12 lists in standard output" in shown.err


def test_standard_input_in_gzip(trained, tmp_path, monkeypatch):
    packed = gzip.compress((trained / "w.csv").read_bytes())
    give_standard_input(monkeypatch, packed)
    model, out = trained / "b.peckorder", tmp_path / "o.csv"
    words = ("rank", model, "-", "--format", "csv", "-o", out, "--quiet")
    assert run(*words, "--features") == 0
    found = read_columns(out)
    assert len(found) == 120
    assert {"a", "b", "c", "colour"} <= set(found.names)


def test_without_queries_all_rows_are_one_list(trained, tmp_path):
    file, out = tmp_path / "n.csv", tmp_path / "o.csv"
    rows = [f"{k},0.5,0.1,red" for k in range(5)]
    file.write_text("\n".join(["a,b,c,colour", *rows]) + "\n")
    model = trained / "m.peckorder"
    assert run("rank", model, file, "-o", out, "--rows", 2, "--quiet") == 0
    assert read_columns(out).arrays["position"].tolist() == [5, 4, 3, 2, 1]


def test_a_query_that_comes_again(trained, tmp_path, capsys):
    file, out = tmp_path / "n.csv", tmp_path / "o.csv"
    rows = [f"{q},0.{k},0.1,1,red" for k, q in enumerate("aabba")]
    file.write_text("\n".join(["qid,a,b,c,colour", *rows]) + "\n")
    words = ("rank", trained / "m.peckorder", file, "-o", out)
    assert check_refused(capsys, *words, "--rows", 2) == (
        f"rank: rows of a query must stand together in {file}; got query 'a' again in "
        "row 5. Sort the file by 'qid' before."
    )
    assert not out.exists()
    assert run(*words, "--no-positions", "--quiet") == 0
    assert read_columns(out).names == ("qid", "score")


def test_missing_features_are_named_and_others_ignored(trained, tmp_path, capsys):
    file = written(tmp_path / "n.csv", "qid,b,extra,colour\n1,0.5,9,red\n")
    assert check_refused(capsys, "rank", trained / "m.peckorder", file) == (
        f"rank: {file} must have all columns that the model learnt from; got none for "
        "a, c. It has qid, b, extra, colour."
    )


def test_an_empty_cell_is_named(trained, tmp_path, capsys):
    file = write_table(tmp_path / "w.csv", n_rows=9)
    model = peckorder.MPRank().fit([[0.0], [1.0]], [0, 1])
    model.feature_names_in_ = np.array(["a"], dtype=object)
    model.save(tmp_path / "one.peckorder")
    text = file.read_text().splitlines()
    cells = text[6].split(",")
    text[6] = ",".join([*cells[:2], "", *cells[3:]])
    file.write_text("\n".join(text))
    words = ("rank", tmp_path / "one.peckorder", file, "-o", tmp_path / "o.csv")
    sentence = check_refused(capsys, *words, "--rows", 4)
    assert sentence == (
        f"rank: column 'a' of {file} must be finite numbers; got an empty cell in row 6."
    )


@pytest.mark.parametrize("names", [True, False])
def test_letor_with_more_and_fewer_features(tmp_path, names, capsys):
    X, y, qid = table()
    model = peckorder.RankBoost(n_rounds=9).fit(X, y, qid=qid)
    expected = model.predict(np.c_[X[:, :2], np.zeros(120)])
    if names:
        model.feature_names_in_ = np.array(["1", "2", "3"], dtype=object)
    model.save(tmp_path / "m.peckorder")
    lines = [f"{y[k]} qid:{qid[k]} 1:{X[k, 0]} 2:{X[k, 1]} 9:5 #docid = d{k}" for k in range(120)]
    file, out = tmp_path / "test.txt", tmp_path / "o.csv"
    file.write_text("\n".join(lines))
    words = ("rank", tmp_path / "m.peckorder", file, "-o", out, "--rows", 50)
    assert result_of(capsys, *words, "--json")["lists"] == 12
    found = read_columns(out)
    assert found.names[:3] == ("target", "qid", "docid")
    np.testing.assert_allclose(found.arrays["score"], expected, rtol=1e-13)
    again = tmp_path / "o.letor"
    assert run(*words[:3], "-o", again, "--quiet") == 0
    assert again.read_text().startswith(f"{y[0]} qid:0 #docid = d0, score = ")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "p.peckorder"
    ratings = peckorder.datasets.make_ratings(20, 30, random_state=0)
    model = peckorder.collaborative.PersonalRanker(random_state=0).fit(ratings)
    model.save(path)
    return path, model


def test_a_list_for_a_person(people, tmp_path):
    path, model = people
    user = model.users_[3]
    out = tmp_path / "o.csv"
    words = ("rank", path, "--user", user, "--max-rows", 4, "-o", out)
    assert run(*words, "--quiet") == 0
    best = model.recommend(user, 4)
    found = read_columns(out).arrays
    assert list(map(str, found["item"])) == list(map(str, best.items))
    np.testing.assert_array_equal(found["score"], best.scores)


def test_a_file_of_people(people, tmp_path, capsys):
    path, model = people
    file, out = tmp_path / "f.csv", tmp_path / "o.csv"
    pairs = [(u, i) for i in model.items_[:5] for u in model.users_[:3]]
    file.write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in pairs))
    assert run("rank", path, file, "-o", out, "--quiet") == 0
    found = read_columns(out).arrays
    expected = [model.predict(u, [i])[0] for u, i in pairs]
    np.testing.assert_allclose(found["score"], expected, rtol=1e-12)
    check_positions(found["score"], np.array([str(u) for u, _ in pairs]), found["position"])
    file.write_text("user,item\n" + f"{model.users_[0]},nothing\n")
    sentence = check_refused(capsys, "rank", path, file)
    assert "must have users and items that the model knows" in sentence


@pytest.mark.parametrize("how", [(), ("--cut",), ("--max-rows", 20)])
@pytest.mark.parametrize("sort", [(), ("--sort",)])
def test_one_list_of_any_blocks(trained, tmp_path, how, sort):
    file = tmp_path / "n.csv"
    rows = [line.split(",") for line in (trained / "w.csv").read_text().splitlines()]
    file.write_text("\n".join(",".join([r[0], *r[2:]]) for r in rows) + "\n")
    found = []
    for n_rows in (7, 1000):
        out = tmp_path / f"o{n_rows}.csv"
        words = ("rank", trained / "m.peckorder", file, *how, *sort, "--quiet")
        assert run(*words, "--rows", n_rows, "-o", out) == 0
        found.append(out.read_bytes())
    assert found[0] == found[1]
    every = tmp_path / "all.csv"
    assert run("rank", trained / "m.peckorder", file, "-o", every, "--quiet") == 0
    whole, some = read_columns(every).arrays, read_columns(out).arrays
    check_positions(whole["score"], np.zeros(120), whole["position"])
    asked = whole["above_cut"] == 1 if "--cut" in how else whole["position"] <= 20
    asked = asked if how else np.ones(120, dtype=bool)
    rows = np.flatnonzero(asked)
    rows = rows[np.argsort(whole["position"][rows])] if sort else rows
    assert some["docid"].tolist() == whole["docid"][rows].tolist()
    assert some["score"].tolist() == whole["score"][rows].tolist()


def test_a_run_has_places(trained, tmp_path, capsys):
    words = ("rank", trained / "m.peckorder", trained / "w.csv", "--no-positions")
    sentence = check_refused(capsys, *words, "--out-format", "run", "-o", tmp_path / "o")
    assert "a run must have the columns qid, docid, score and rank" in sentence


def test_says_what_columns_were_taken_for(trained, tmp_path, capsys):
    out = ("-o", tmp_path / "o.csv")
    assert ranks(trained, "m", *out, "--json") == 0
    result = json.loads(capsys.readouterr().out)["taken"]
    assert result == {
        "qid": ["query", "as the model learnt"],
        "docid": ["document", "its name"],
        "grade": ["target", "as the model learnt"],
    }
    assert ranks(trained, "m", *out, "--docid", "docid") == 0
    shown = capsys.readouterr().out
    assert "  qid: query (as the model learnt)" in shown
    assert "  docid: document (--docid)" in shown
    bare = pd.read_csv(trained / "w.csv").drop(columns="qid")
    bare.to_csv(tmp_path / "bare.csv", index=False)
    assert "No column of queries: all rows are one list" in output_of(
        capsys, "rank", trained / "m.peckorder", tmp_path / "bare.csv", *out
    )


def test_several_files_are_for_models_of_runs(trained, capsys):
    words = ("rank", trained / "p.peckorder", trained / "w.csv", trained / "w.csv")
    assert check_refused(capsys, *words).startswith(
        "rank: file must be one, unless the model has learnt from runs; got "
    )


def test_files_with_formulas_for_names_are_read_as_before(tmp_path, capsys):
    X, y, qid = table()
    coded = np.c_[(X[:, 0] - 0.5) / 2.0, np.arange(120) % 2 == 0]
    model = peckorder.MPRank().fit(coded, y, qid=qid)
    expected = model.predict(coded)
    names = ["(a - 0.5) / 2.0", "(colour=red - 0.0) / 1.0"]
    model.feature_names_in_ = np.array(names, dtype=object)
    model.save(tmp_path / "old.peckorder")
    file, out = write_table(tmp_path / "w.csv"), tmp_path / "o.csv"
    assert run("rank", tmp_path / "old.peckorder", file, "-o", out, "--quiet") == 0
    np.testing.assert_allclose(read_columns(out).arrays["score"], expected, rtol=1e-12)
    result = result_of(capsys, "info", tmp_path / "old.peckorder", "--json")
    assert result["feature_names"] == ["a", "colour=red"]
    assert result["scaled_as"] == names
    (row,) = result_of(capsys, "explain", tmp_path / "old.peckorder", file, "--json")["rows"]
    assert {part["feature"] for part in row["features"]} == {"a", "colour=red"}


def test_a_run_is_sorted_as_trec_eval_sorts(tmp_path):
    # Queries in an order of their own, ties in all of them, blocks smaller than queries.
    rng = np.random.default_rng(3)
    docid = rng.permutation([f"d{k}" for k in range(60)])
    rows = [(f"q{q}", docid[20 * i + k]) for i, q in enumerate((10, 9, 2)) for k in range(20)]
    a = rng.integers(0, 4, 60)
    lines = [f"{q},{d},{x},{x}" for (q, d), x in zip(rows, a.tolist(), strict=True)]
    file, model = tmp_path / "t.csv", tmp_path / "m.peckorder"
    file.write_text("\n".join(["qid,docid,a,grade", *lines]))
    out = tmp_path / "my.run"
    assert run("fit", file, "--ranker", "MPRank", "--quiet", "-o", model) == 0
    words = ("rank", model, file, "--quiet", "-o", out)
    assert run(*words, "--rows", 7) == 0
    written = [line.split() for line in out.read_text().splitlines()]
    assert list(dict.fromkeys(q for q, *_ in written)) == ["q10", "q9", "q2"]
    for query in ("q10", "q9", "q2"):
        here = [words for words in written if words[0] == query]
        assert [words[3] for words in here] == [str(k) for k in range(1, 21)]
        # By falling score, then by falling name: trec_eval's comp_sim_docno.
        keys = [(float(score), name) for _, _, name, _, score, _ in here]
        assert keys == sorted(keys, reverse=True)
        assert len({score for score, _ in keys}) < len(keys)
    first = [words for words in written if int(words[3]) <= 3]
    assert run(*words, "--max-rows", 3) == 0
    assert [line.split() for line in out.read_text().splitlines()] == first
