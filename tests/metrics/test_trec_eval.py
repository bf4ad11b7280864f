"""Our numbers are those of others, where they mean the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kendalltau
from sklearn.metrics import ndcg_score

from peckorder import metrics

N_QUERIES, N_DOCUMENTS = 12, 40
OURS = {
    "map": metrics.average_precision,
    "recip_rank": metrics.reciprocal_rank,
    "P_5": lambda *table, **how: metrics.precision_at(*table, 5, **how),
    "P_100": lambda *table, **how: metrics.precision_at(*table, 100, **how),
    "recall_5": lambda *table, **how: metrics.recall_at(*table, 5, **how),
    "success_5": lambda *table, **how: metrics.hits_at(*table, 5, **how),
    "Rprec": metrics.r_precision,
    "bpref": metrics.bpref,
    "ndcg": metrics.ndcg,
    "ndcg_cut_5": lambda *table, **how: metrics.ndcg(*table, k=5, **how),
    "ndcg_cut_10": lambda *table, **how: metrics.ndcg(*table, k=10, **how),
}
every_measure = pytest.mark.parametrize("name", OURS)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def scores(rng, kind, n):
    """Return scores with ties, with ties in single precision only, or without any."""
    few = rng.integers(0, 6, n) / 4
    return {
        "tied": few,
        "tied in float32": few + rng.choice([-1e-9, 0.0, 1e-9], n),
        "apart in float32": few + rng.choice([-1e-6, 0.0, 1e-6], n),
        "distinct": rng.permutation(n) / n,
    }[kind]


KINDS = ["tied", "tied in float32", "apart in float32", "distinct"]
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def table(rng, kind):
    """Rows of several queries: truth, score, query and name, all mixed up."""
    n = N_QUERIES * N_DOCUMENTS
    truth = rng.choice([0, 0, 0, 1, 2, 3], n)
    qid = np.repeat([f"q{i}" for i in range(N_QUERIES)], N_DOCUMENTS)
    docid = np.array([f"{letter}{i}" for i in range(20) for letter in "dD"])
    docid = np.concatenate([rng.permutation(docid) for _ in range(N_QUERIES)])
    mixed = rng.permutation(n)
    return tuple(c[mixed] for c in (truth, scores(rng, kind, n), qid, docid))


def by_query(values, qid, docid):
    """Return a dictionary of dictionaries, as trec_eval's friends want it."""
    nested = {}
    for q, d, value in zip(qid.tolist(), docid.tolist(), values.tolist(), strict=True):
        nested.setdefault(q, {})[d] = value
    return nested


def ours(name, table):
    truth, score, qid, docid = table
    values = OURS[name](truth, score, qid=qid, ties="docid", docid=docid, per_query=True)
    return dict(zip(dict.fromkeys(qid.tolist()), values.tolist(), strict=True))


@every_kind
@every_measure
def test_values_are_those_of_trec_eval(name, table):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    truth, score, qid, docid = table
    evaluator = pytrec_eval.RelevanceEvaluator(
        by_query(truth, qid, docid),
        {"map", "recip_rank", "P", "recall", "success", "ndcg", "ndcg_cut", "Rprec", "bpref"}
        | {"P_5,100", "recall_5", "success_5", "ndcg_cut_5,10"},
    )
    theirs = evaluator.evaluate(by_query(score, qid, docid))
    got = ours(name, table)
    assert_allclose([got[q] for q in theirs], [row[name] for row in theirs.values()])


@every_kind
@pytest.mark.parametrize(
    ("measure", "name"),
    [
        ("AP", "map"),
        ("RR", "recip_rank"),
        ("P@5", "P_5"),
        ("R@5", "recall_5"),
        ("Success@5", "success_5"),
        ("Rprec", "Rprec"),
        ("Bpref", "bpref"),
        ("nDCG", "ndcg"),
        ("nDCG@10", "ndcg_cut_10"),
    ],
)
def test_means_are_those_of_ir_measures(measure, name, table):
    pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    ir_measures = pytest.importorskip("ir_measures", reason="ir-measures is not installed")
    truth, score, qid, docid = table
    wanted = ir_measures.pytrec_eval.calc_aggregate(
        [ir_measures.parse_measure(measure)],
        by_query(truth, qid, docid),
        by_query(score, qid, docid),
    )
    got = OURS[name](truth, score, qid=qid, ties="docid", docid=docid)
    assert_allclose(got, next(iter(wanted.values())))


def test_expected_reciprocal_rank_is_that_of_gdeval(rng):
    ir_measures = pytest.importorskip("ir_measures", reason="ir-measures is not installed")
    provider = ir_measures.gdeval
    if not provider.is_available():
        pytest.skip("ir-measures has no gdeval here, which is written in Perl")
    n, names = 40, [f"d{k}" for k in range(40)]
    truth, score = rng.integers(0, 5, n), rng.permutation(n).astype(float)
    qrels = {"1": {d: int(v) for d, v in zip(names, truth, strict=True)}}
    run = {"1": {d: float(v) for d, v in zip(names, score, strict=True)}}
    wanted = provider.calc_aggregate([ir_measures.ERR @ 20], qrels, run)
    got = metrics.expected_reciprocal_rank(truth, score, k=20, highest=4)
    # It prints five digits.
    assert got == pytest.approx(next(iter(wanted.values())), abs=6e-6)


def test_one_relevant_document_of_ten_with_equal_scores():
    # What depends on names elsewhere: 1, 1/10, or the mean of 1/1, ..., 1/10.
    truth, score = np.arange(10) == 4, np.zeros(10)
    first, last = [*"abcdzefghi"], [*"bcdeafghij"]
    options = {"ties": "docid"}
    assert metrics.reciprocal_rank(truth, score, docid=first, **options) == 1.0
    assert metrics.reciprocal_rank(truth, score, docid=last, **options) == 0.1
    mean = np.mean(1 / np.arange(1, 11))
    assert metrics.reciprocal_rank(truth, score) == pytest.approx(mean, rel=1e-14)


@pytest.mark.parametrize("k", [None, 1, 7, 100])
@pytest.mark.parametrize("kind", ["tied", "distinct"])
def test_ndcg_is_that_of_scikit_learn(rng, k, kind):
    shape = N_QUERIES, N_DOCUMENTS
    truth = rng.integers(0, 4, shape)
    score = scores(rng, kind, truth.size).reshape(shape)
    qid = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
    got = metrics.ndcg(truth.ravel(), score.ravel(), qid=qid, k=k)
    assert_allclose(got, ndcg_score(truth, score, k=k), rtol=1e-12)


@pytest.mark.parametrize("n", [2, 5, 100, 1000])
def test_kendall_tau_is_that_of_scipy_without_ties(rng, n):
    truth, score = rng.permutation(n), rng.permutation(n)
    wanted = kendalltau(truth, score).statistic
    assert_allclose(metrics.kendall_tau(truth, score), wanted, rtol=0, atol=1e-12)


def test_kendall_tau_of_scipy_with_ties_is_over_other_pairs():
    # Ours leaves pairs of equal truths out; tau-b takes the root of both numbers.
    truth, score = np.array([0, 0, 1, 2]), np.array([1.0, 2.0, 2.0, 3.0])
    n_pairs, n_scored = 5, 5
    ours = metrics.kendall_tau(truth, score)
    wanted = kendalltau(truth, score).statistic * np.sqrt(n_pairs * n_scored) / n_pairs
    assert_allclose(ours, wanted, rtol=1e-12)
