"""Models as files: what every estimator writes, and how it is made from that again."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from peckorder._core.errors import named, refusal
from peckorder._core.validation import check_parameters, whole
from peckorder._version import __version__
from peckorder.storage.format import Contents, Damaged, Node, Unstorable, pack, read_value
from peckorder.storage.format.labels import as_objects, read_labels, write_labels
from peckorder.storage.format.values import scalar
from peckorder.storage.mixin import MODELS, StoredModel

# A power of a kernel is that many products: no more is taken from a stranger.
MOST_DEGREE = 4096
# Nor more threads, nor rows so wide that a vector of their length is no small thing.
MOST_JOBS = 1024
MOST_FEATURES = 2**31 - 1
# Longer messages about parameters are cut.
_MAX_MESSAGE = 300
_SEED = whole(0)


def packed(model: StoredModel, stream: dict[str, Any] | None = None) -> Contents:
    """Return what a file of the model holds; it is read back once, as a check.

    In a checkpoint it says too how far a `stream` has been learnt.
    """
    name, arrays = type(model).__name__, []  # type: ignore[var-annotated]
    if MODELS.get(name) is not type(model):
        raise refusal(
            "a model",
            "be of one of peckorder's own classes to be saved",
            "one of a class derived from them",
            error=TypeError,
        )
    try:
        first = {"peckorder": __version__} | ({"stream": stream} if stream else {})
        header = pack(document(model) | first, arrays)
        read_model(Node.of(header, arrays), MODELS)
    except Unstorable as error:
        raise refusal("labels", "be plain values to be saved", error, error=TypeError) from None
    except Damaged as error:
        raise refusal("a model", "be sound to be saved", f"one {error}", error=ValueError) from None
    return Contents(header, arrays)


def document(model: Any) -> dict[str, Any]:
    """Return a model, perhaps one of several in a file, as `pack` takes it."""
    names = getattr(model, "feature_names_in_", None)
    return {
        "model": type(model).__name__,
        "parameters": parameters_of(model),
        "n_features": getattr(model, "n_features_in_", None),
        "feature_names": None if names is None else write_labels(np.asarray(names)),
        "state": model._stored_fields.write(model),
    }


def parameters_of(model: Any) -> dict[str, Any]:
    """Return the parameters of a constructor, or say which cannot be saved."""
    parameters: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, list | tuple) and any(isinstance(v, StoredModel) for v in value):
            parameters[name] = {"estimators": [_stored_or_plain(name, part) for part in value]}
            continue
        parameters[name] = _stored_or_plain(name, value)
    return parameters


def _stored_or_plain(name: str, value: Any) -> Any:
    if isinstance(value, StoredModel):
        return {"estimator": {"name": type(value).__name__, "parameters": parameters_of(value)}}
    return stored_parameter(name, value)


def stored_parameter(name: str, value: Any) -> Any:
    """Return a parameter as `pack` takes it, or say that it cannot be saved."""
    try:
        return parameter(value)
    except Unstorable as error:
        raise refusal(
            name,
            f"be {_storable(name)} to be saved, as a file holds no code",
            error,
            error=TypeError,
        ) from None


def _storable(name: str) -> str:
    return {
        "kernel": "a name",
        "weak": "'threshold', 'feature', 'tree' or one of peckorder's own estimators",
        "random_state": "None or an integer",
        "estimator": "None or one of peckorder's own estimators",
        "ranker": "one of peckorder's own estimators",
    }.get(name, "plain values")


def read_model(node: Node, models: Mapping[str, type[StoredModel]]) -> StoredModel:
    """Make the model of a whole file."""
    node.text("peckorder")
    if node.has("stream"):
        # Of a checkpoint the model learnt so far is wanted here.
        node.child("stream").ignore()
    model: StoredModel = read_document(node, models)
    node.close()
    return model


def read_document(node: Node, models: Mapping[str, type[Any]]) -> Any:
    """Make a model from what `document` returned, trusting nothing of it."""
    kind = models[node.word("model", *models)]
    model = _instance(kind, _parameters(node.child("parameters"), models))
    if node.has("n_features"):
        model.n_features_in_ = node.whole("n_features", 1, MOST_FEATURES)
    if node.has("feature_names"):
        n_features = getattr(model, "n_features_in_", 0)
        names = node.labels("feature_names", n_features)
        if not all(type(name) is str for name in names.tolist()):
            raise node.refuse("feature_names", "texts")
        model.feature_names_in_ = as_objects(names.tolist())
    state = node.child("state")
    state.owner = model
    if kind._has_features:
        if not hasattr(model, "n_features_in_"):
            raise node.refuse("n_features", "the number of features")
        state.sizes["features"] = model.n_features_in_
    with np.errstate(all="ignore"):
        vars(model).update(kind._stored_fields.read(state))
    return model


def _parameters(node: Node, models: Mapping[str, type[Any]]) -> dict[str, Any]:
    return {name: _parameter(node, name, models) for name in node.names()}


def _parameter(node: Node, name: str, models: Mapping[str, type[Any]]) -> Any:
    value = node.raw(name)
    if isinstance(value, dict) and value.keys() == {"estimators"}:
        parts = node.nested(name, value).raw("estimators")
        if not isinstance(parts, list):
            raise node.refuse(name, "a list of estimators")
        several = node.nested(name, {str(k): part for k, part in enumerate(parts)})
        return [_parameter(several, part, models) for part in several.names()]
    if isinstance(value, dict) and value.keys() == {"estimator"}:
        inner = node.nested(name, value["estimator"])
        kind = models[inner.word("name", *models)]
        return _instance(kind, _parameters(inner.child("parameters"), models))
    if isinstance(value, dict) and value.keys() == {"labels"}:
        return read_labels(node.nested(name, value["labels"]))
    return read_value(f"{node.path}.{name}", value)


def _instance(kind: type[Any], parameters: dict[str, Any]) -> Any:
    """Return a model with parameters that keep its rules."""
    if not parameters.keys() <= set(kind._get_param_names()):
        raise Damaged(f"in which parameters must be those of {kind.__name__}")
    try:
        model = kind(**parameters)
    except TypeError:  # one without a default is missing
        raise Damaged(f"in which parameters must be all that {kind.__name__} needs") from None
    with refused_parameters(), named(kind.__name__):
        check_parameters(model, kind._rules)
    check_bounds(parameters)
    return model


@contextmanager
def refused_parameters() -> Iterator[None]:
    """Say of a file what is refused inside of its parameters."""
    try:
        yield
    except (TypeError, ValueError, ArithmeticError) as error:
        text = str(error).rstrip(".")
        if len(text) > _MAX_MESSAGE:
            text = f"{text[:_MAX_MESSAGE]}..."
        raise Damaged(f"in which parameters break a rule: {text}") from None


def check_bounds(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that would keep a computer busy for ever."""
    if parameters.get("degree", 1) > MOST_DEGREE:
        raise Damaged(f"in which degree must be at most {MOST_DEGREE}")
    if (parameters.get("n_jobs") or 1) > MOST_JOBS:
        raise Damaged(f"in which n_jobs must be at most {MOST_JOBS}")
    seed = parameters.get("random_state")
    if seed is not None and not (_SEED.accepts(seed) and seed < 2**32):
        raise Damaged("in which random_state must be None or an integer below 2**32")


def parameter(value: Any) -> Any:
    """Return the value of a parameter as `pack` takes it.

    Columns of frames, indexes and ranges become lists.
    """
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise Unstorable(f"an array of shape {value.shape}")
        return {"labels": write_labels(value)}
    if isinstance(value, tuple):
        return {"tuple": [parameter(part) for part in value]}
    if isinstance(value, range):
        value = list(value)
    elif hasattr(value, "tolist") and not isinstance(value, np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [parameter(part) for part in value]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise Unstorable("a dict with other keys than texts")
        return {"dict": [[parameter(key), parameter(part)] for key, part in value.items()]}
    return scalar(value)
