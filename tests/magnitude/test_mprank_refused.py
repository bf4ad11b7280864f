"""What MPRank refuses, in one sentence, and without a change."""

import numpy as np
import pytest
from scipy import sparse

from peckorder import MPRank, MPRankCV
from peckorder.exceptions import DataError
from support.helpers import refuses

X = np.random.default_rng(0).normal(size=(6, 2))
Y = np.arange(6.0)
K = X @ X.T


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"C": 0}, "MPRank: C must be a finite number > 0; got 0."),
        ({"C": -1.0}, "MPRank: C must be a finite number > 0; got -1.0."),
        ({"C": 10**400}, f"MPRank: C must be a finite number > 0; got {10**400}."),
        (
            {"kernel": "gaussian"},
            "MPRank: kernel must be one of 'linear', 'poly', 'rbf', 'precomputed' or a "
            "function of two matrices; got 'gaussian'. Did you mean 'rbf'?",
        ),
        (
            {"solver": "svd"},
            "MPRank: solver must be one of 'auto', 'cholesky', 'eigh', 'cg', "
            "'coordinate', 'gradient'; got 'svd'. Did you mean 'eigh'?",
        ),
        ({"step": 0.1}, "MPRank: step must be None unless solver='gradient'; got 0.1."),
        (
            {"step": 50.0, "solver": "gradient", "max_iter": 10_000},
            "MPRank: step must be shorter to converge, None for a safe one; got 50.0.",
        ),
        ({"stopping": "never"}, "MPRank: stopping must be one of 'gap', 'relative'; got 'never'."),
        ({"tol": 0.0}, "MPRank: tol must be a finite number > 0; got 0.0."),
        ({"max_iter": 0}, "MPRank: max_iter must be an integer >= 1; got 0."),
    ],
)
def test_parameters_are_refused(parameters, sentence):
    model = MPRank().fit(X, Y)
    before = dict(vars(model.set_params(**parameters)))
    with refuses(sentence):
        model.fit(X, Y)
    assert vars(model) == before


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {"Cs": [1.0, 0.0]},
            "MPRankCV: Cs must be one or more finite numbers > 0; got [1.0, 0.0].",
        ),
        ({"Cs": 1.0}, "MPRankCV: Cs must be one or more finite numbers > 0; got 1.0."),
        (
            {"Cs": [[1], [1, 2]]},
            "MPRankCV: Cs must be one or more finite numbers > 0; got [[1], [1, 2]].",
        ),
        ({"Cs": "123"}, "MPRankCV: Cs must be one or more finite numbers > 0; got '123'."),
        (
            {"Cs": [10**400]},
            f"MPRankCV: Cs must be one or more finite numbers > 0; got [{10**400}].",
        ),
        ({"Cs": []}, "MPRankCV: Cs must be one or more finite numbers > 0; got []."),
        (
            {"gammas": [1.0]},
            "MPRankCV: gammas must be None unless kernel is 'rbf' or 'poly'; got [1.0].",
        ),
        (
            {"method": "diagonal", "cost": "absolute"},
            "MPRankCV: cost must be 'squared' with method='diagonal'; got 'absolute'.",
        ),
    ],
)
def test_parameters_of_a_search_are_refused(parameters, sentence):
    with refuses(sentence):
        MPRankCV(**parameters).fit(X, Y)


def test_asymmetric_kernels_are_refused():
    model = MPRank(kernel="precomputed")
    lopsided = K.copy()
    lopsided[0, 1] += 1.0
    for solver in ("cholesky", "eigh", "cg", "coordinate"):
        with pytest.raises(DataError, match=r"^MPRank: X must be symmetric"):
            model.set_params(solver=solver).fit(lopsided, Y)
    with pytest.raises(DataError, match=r"^MPRank: kernel must be symmetric"):
        MPRank(kernel=lambda A, B: A[:, :1] + 2 * B[:, 0]).fit(X, Y)


SOLVERS = ["cholesky", "eigh", "cg", "coordinate", "gradient"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0, 1e8])
def test_kernels_with_negative_eigenvalues_are_refused(solver, C):
    sentence = (
        r"^MPRank: kernel must be positive semidefinite, up to rounding and a "
        r"constant; got one with the eigenvalue -\d[-.e\d]* on these rows\.$"
    )
    model = MPRank(kernel="precomputed", solver=solver, C=C)
    before = dict(vars(model))
    # As long as the ridge is above what is wrong with the second only eigenvalues tell.
    for matrix in (-K, K - 3.0 * np.eye(6))[: 1 if C <= 1.0 else 2]:
        with pytest.raises(DataError, match=sentence):
            model.fit(matrix, Y)
        assert vars(model) == before


LARGE = "X and y must be small enough for their squares to be finite; got an objective that is not."


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_numbers_too_large_to_be_squared_are_refused(kernel, solver, form):
    model = MPRank(kernel=kernel, solver=solver)
    before = dict(vars(model))
    wide = (X * 1e200).reshape(2, 6)
    large = [(X * size, Y) for size in (1e155, 1e200, 1e307)]
    for rows, labels in (*large, (X, Y * 1e200), (wide, Y[:2])):
        with refuses(f"MPRank: {LARGE}", DataError):
            model.fit(form(rows), labels)
    assert vars(model) == before


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_numbers_too_large_for_a_search_are_refused(kernel):
    search = MPRankCV(kernel=kernel)
    wide = (X * 1e200).reshape(3, 4)
    for rows, labels in ((X * 1e200, Y), (wide, Y[:3])):
        for form in (np.array, sparse.csr_array):
            with refuses(f"MPRankCV: {LARGE}", DataError):
                search.fit(form(rows), labels)
    assert not hasattr(search, "errors_")


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_numbers_too_large_for_a_stream_are_refused(form):
    model = MPRank().partial_fit(form(X), Y)
    before = dict(vars(model))
    for rows, labels in ((X * 1e200, Y), (X, Y * 1e200), (X * 1e307, Y)):
        with refuses(f"MPRank: {LARGE}", DataError):
            model.partial_fit(form(rows), labels)
    assert vars(model) == before


@pytest.mark.parametrize("solver", SOLVERS)
def test_kernels_too_large_to_be_squared_are_refused(solver):
    sentence = (
        r"kernel must be below 1e\+140 in size, for its squares to be finite; got "
        r"\d[-+.e\d]*|inf on these rows\.$"
    )
    poly = MPRank(kernel="poly", degree=400, solver=solver)
    with pytest.raises(DataError, match=f"^MPRank: {sentence}"):
        poly.fit(4.0 * X, Y)
    with pytest.raises(DataError, match=f"^MPRank: {sentence}"):
        MPRank(kernel="precomputed", solver=solver).fit(1e300 * K, Y)
    with pytest.raises(DataError, match=f"^MPRankCV: {sentence}"):
        MPRankCV(kernel="poly", degree=400).fit(4.0 * X, Y)


def fitted(**data):
    return MPRank().fit(X, Y, **data)


KEEP = (
    "MPRank: keep must be 'C_prime' with queries or unequal weights, since at the same "
    "C each pair left out would change the weights of other rows in its own way; got "
    "'C'."
)
CALLS = [
    (
        lambda: MPRankCV().fit(X[:2], Y[:2]),
        "MPRankCV: X must be 3 rows or more for leaving pairs out, so that one is left "
        "to learn from; got 2 samples.",
    ),
    (
        lambda: MPRankCV(cost="misranking").fit(X, np.ones(6)),
        "MPRankCV: y must have pairs within queries to choose by; got none.",
    ),
    (
        lambda: MPRankCV(method="diagonal").fit(X, Y, qid=[1, 2] * 3),
        "MPRankCV: method must be 'exact' with queries or unequal weights; got 'diagonal'.",
    ),
    (
        lambda: MPRank(kernel="precomputed").fit(X, Y),
        "MPRank: X must be square with kernel='precomputed', one column per row; "
        "got 6 rows and 2 columns.",
    ),
    (lambda: MPRank().fit(X, Y[:5]), "MPRank: y must be one number per row, 6 in all; got 5."),
    (
        lambda: fitted(sample_weight=np.zeros(6)),
        "MPRank: sample_weight must be > 0 for some row; got zero for all (there must "
        "be at least one non-zero sample weight).",
    ),
    (
        lambda: MPRank().fit(X[:2], Y[:2]).leave_pair_out_error(),
        "MPRank: X must be 3 rows or more for leave_pair_out_error, so that one is "
        "left to learn from; got 2 samples.",
    ),
    (lambda: fitted(qid=[1, 2] * 3).leave_pair_out_error(keep="C"), KEEP),
    (lambda: fitted(sample_weight=1 + Y).leave_pair_out_error(keep="C"), KEEP),
    (lambda: fitted(sample_weight=1 + Y).leave_one_out_predictions("C"), KEEP),
    (lambda: MPRankCV(keep="C").fit(X, Y, qid=[1, 2] * 3), KEEP.replace("MPRank", "MPRankCV")),
    (
        lambda: fitted(sample_weight=1 + Y).leave_pair_out_error(method="paper"),
        "MPRank: method must be 'exact' for a model fitted with queries or unequal "
        "weights; got 'paper'.",
    ),
    (
        lambda: MPRank().partial_fit(X, Y).leave_pair_out_error(),
        "MPRank: leave_pair_out_error must be called on a model that still has the "
        "rows of its fit; got one learnt by partial_fit, copied or loaded.",
    ),
    (
        lambda: MPRank().partial_fit(X, Y).partial_fit(X, Y, qid=Y),
        "MPRank: qid must be None, as in the calls before; got another.",
    ),
    (
        lambda: MPRank().partial_fit(X, Y, qid=Y).partial_fit(X, Y),
        "MPRank: qid must be given, as in the calls before; got None.",
    ),
]


@pytest.mark.parametrize(("call", "sentence"), CALLS)
def test_calls_are_refused(call, sentence):
    with refuses(sentence, DataError):
        call()


def test_refusals_leave_models_usable():
    model = MPRank()
    for data in ({"y": Y[:5]}, {"y": Y, "sample_weight": np.zeros(6)}):
        with pytest.raises(DataError):
            model.fit(X, **data)
        assert not hasattr(model, "coef_")
    assert len(model.fit(X[:2], Y[:2]).leave_one_out_predictions()) == 2
    sentence = (
        "MPRank: cost must be one of 'squared', 'absolute', 'misranking'; got "
        "'square'. Did you mean 'squared'?"
    )
    with refuses(sentence):
        model.leave_pair_out_error(cost="square")


def test_partial_fit_needs_rows():
    assert not hasattr(MPRank(kernel="precomputed"), "partial_fit")
    with pytest.raises(AttributeError) as error:
        MPRank(kernel="precomputed").partial_fit(X, Y)
    assert "MPRank: kernel must be another than 'precomputed' for partial_fit" in str(
        error.value.__cause__ or error.value
    )
