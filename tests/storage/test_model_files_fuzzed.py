"""Files from strangers: a sentence, or a model that works and can be saved again."""

import traceback
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics.pairwise  # lest its memory counts below

import peckorder
import peckorder.io
from peckorder._core.errors import refusal_of
from peckorder.exceptions import ModelFileError
from support.damaged_files import WAYS
from support.stored_models import CASES


def is_sentence(error):
    """Tell whether we refuse, or scikit-learn: rows that no longer suit the model."""
    return refusal_of(error) is not None or traceback.extract_tb(error.__traceback__)[
        -1
    ].filename.startswith(str(Path(sklearn.__file__).parent))


def methods(model):
    """Call what of a model needs no arguments, and look at its attributes."""
    for name in dir(model):
        if not name.startswith("_"):
            value = getattr(model, name, None)
            if name.startswith("leave_") and callable(value):
                value()


def contents_of(names, folder):
    """Return the files of some models, as bytes."""
    found = {}
    for name in names:
        CASES[name].fit().save(folder / "sound")
        found[name] = (folder / "sound").read_bytes()
    return found


def used(case, model):
    """Call all methods of a model, save it, and continue learning."""

    def save(fitted):
        peckorder.io.from_bytes(fitted.to_bytes())

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        save(model)
        for use in (methods, case.ask, repr, case.go_on, case.ask, save):
            try:
                if use is not None:
                    use(model)
            except Exception as error:
                # What a sound model may still say: an overflow, for instance.
                if isinstance(error, ModelFileError) or not is_sentence(error):
                    raise


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
