"""Files from strangers: a sentence, or a model that does no harm."""

import tracemalloc
import warnings

import numpy as np
import pytest
import sklearn.metrics.pairwise  # noqa: F401  lest its memory counts below

import peckorder
from peckorder.exceptions import ModelFileError
from support.damaged_files import WAYS
from support.stored_models import CASES

# What a sound model may still say: rows overflow, or no longer suit what was learnt.
SAYABLE = (ValueError, TypeError)


def contents_of(names, folder):
    """Return the files of some models, as bytes."""
    found = {}
    for name in names:
        CASES[name].fit().save(folder / "sound")
        found[name] = (folder / "sound").read_bytes()
    return found


def used(case, model):
    """Call all methods of a model, and continue learning."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for use in (case.ask, case.go_on, case.ask):
            try:
                if use is not None:
                    use(model)
            except SAYABLE:
                pass


def check_strange_files(names, n_files, folder, seed):
    """Load damaged files; return how many were taken for sound."""
    rng, path = np.random.default_rng(seed), folder / "strange"
    sources = contents_of(names, folder)
    n_loaded = 0
    for i in range(n_files):
        name = names[i % len(names)]
        content = WAYS[rng.integers(len(WAYS))](sources[name], rng)
        path.write_bytes(content)
        tracemalloc.start()
        try:
            model = peckorder.load(path)
        except ModelFileError as error:
            sentence = str(error)
            assert sentence.startswith("load: path must be a sound model file; got ")
            assert sentence.endswith(".")
            assert "\n" not in sentence
            model = None
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 1_000_000 + 50 * len(content)
        if model is not None:
            n_loaded += 1
            used(CASES[name], model)
    return n_loaded


def test_damaged_files_are_refused_or_harmless(tmp_path):
    n_loaded = check_strange_files(list(CASES), 1500, tmp_path, 0)
    assert 0 < n_loaded < 750


@pytest.mark.slow
def test_ten_thousand_damaged_files_are_refused_or_harmless(tmp_path):
    assert check_strange_files(list(CASES), 10_000, tmp_path, 1) > 0
