"""Errors that people read: made of fields, rendered as one sentence, in one place.

A refusal is raised where the rule is known, by `refusal`, and names no caller. The
public function or class that was called adds its name on the way out (`entry`), whoever
knows where the data came from adds that (`with_location`): fields, not text.
"""

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, TypeVar, cast

from peckorder.exceptions import DataError, MissingExtraError

T = TypeVar("T")

_LONGEST = 300
_caller: ContextVar[str] = ContextVar("caller", default="peckorder")


@dataclass(frozen=True)
class Refusal:
    """What was refused: ``{caller}: {what} must {rule}; got {got}. {hint}``."""

    what: str
    rule: str = ""
    got: str = ""
    hint: str = ""
    caller: str = ""
    location: str = ""

    def __str__(self) -> str:
        sentence = f"{self.caller}: {self.what}" if self.caller else self.what
        sentence += f" must {self.rule}" if self.rule else ""
        sentence += f"; got {self.got}." if self.got else "."
        return " ".join(filter(None, [sentence, self.hint, self.location]))


def refusal(
    what: object,
    rule: object = "",
    got: object = "",
    *,
    hint: str = "",
    error: type[Exception] = DataError,
) -> Exception:
    """Return an error to raise: ``{what} must {rule}; got {got}. {hint}``."""
    refused = Refusal(str(what), str(rule), str(got), hint.strip())
    return _rendered(error(), refused)


def refusal_of(error: BaseException) -> Refusal | None:
    """Return the fields of an error that `refusal` made; None for any other error."""
    found = vars(error).get("refusal")
    return found if isinstance(found, Refusal) else None


def _rendered(error: Exception, refused: Refusal) -> Exception:
    error.args = (str(refused),)
    if isinstance(error, ImportError):
        error.msg = str(refused)  # what it shows, once it was pickled
    error.refusal = refused  # type: ignore[attr-defined]
    return error


def with_location(error: Exception, location: str) -> Exception | None:
    """Return an error about data with the place of the data; None for other errors.

    Scikit-learn refuses NaN and infinity by a plain ValueError, of several lines.
    """
    refused = refusal_of(error)
    if type(error) not in (ValueError, DataError):
        return None
    if refused is not None:
        return _rendered(type(error)(), replace(refused, location=location))
    text = str(error)
    kind = DataError if text.startswith("Input ") else type(error)
    gap = " " if text.endswith(".") and "\n" not in text else "\n"
    return kind(f"{text}{gap}{location}")


def shortened(error: object) -> str:
    """Return the message of another package, to be ended by a full stop."""
    text = " ".join(str(error).split())
    if len(text) > _LONGEST:
        return f"{text[:_LONGEST].rstrip()} .."
    return text.rstrip(". ")


@contextmanager
def requiring(package: str, purpose: str, install: str) -> Iterator[None]:
    """Refuse a package that an import inside does not find, and tell how to get it."""
    try:
        yield
    except ImportError:
        hint = f"Type pip install {install}."
        raise refusal(
            package, f"be installed {purpose}", "none", hint=hint, error=MissingExtraError
        ) from None


def caller() -> str:
    """Return the name of the public function or class that was called."""
    return _caller.get()


def _package_of(frame: FrameType) -> str:
    # Code that was run by exec may have no module.
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn in the name of the caller, at the line of the user that called it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and _package_of(frame) == "peckorder":
        frame, level = frame.f_back, level + 1
    warnings.warn(f"{caller()}: {message}", category, stacklevel=level)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Name the caller of refusals that are raised inside and have none yet."""
    token = _caller.set(name)
    try:
        yield
    except Exception as error:
        name_caller(error, name)
        raise
    finally:
        _caller.reset(token)


def name_caller(error: Exception, name: str, *, override: bool = False) -> None:
    """Give a refusal this caller if it has none yet, or with `override` in any case."""
    refused = refusal_of(error)
    if refused is not None and (override or not refused.caller):
        _rendered(error, replace(refused, caller=name))


def entry(target: T) -> T:
    """Let a public function or class give its name to refusals raised inside.

    On a function, ``@entry`` gives the function's name; on a class, each public method
    and property gives the name of the class. ``@entry_named("fit")`` gives another one.
    """
    name = None if inspect.isclass(target) else cast("Any", target).__name__
    return _decorated(target, name)


def entry_named(name: str) -> Callable[[T], T]:
    """Let a function or class give this name to refusals raised inside."""
    return functools.partial(_decorated, name=name)


def unnamed(function: T) -> T:
    """Mark a method of an entry that names no caller, since estimators call it."""
    cast("Any", function).is_unnamed = True
    return function


# The special methods that people call without knowing it.
_SPECIAL = {"__init__", "__post_init__", "__call__", "__add__", "__mul__", "__rmul__"}


def _decorated(target: T, name: str | None) -> T:
    if not inspect.isclass(target):
        return cast("T", _wrapped(cast("Any", target), name))
    for attribute, member in list(vars(target).items()):
        if attribute.startswith("_") and attribute not in _SPECIAL:
            continue
        if isinstance(member, classmethod):
            setattr(target, attribute, classmethod(_wrapped(member.__func__, name)))
        elif isinstance(member, property) and member.fget is not None:
            getter = _wrapped(member.fget, name)
            changed = property(getter, member.fset, member.fdel, member.__doc__)
            setattr(target, attribute, changed)
        elif inspect.isfunction(member):
            setattr(target, attribute, _wrapped(member, name))
        elif hasattr(member, "fn") and hasattr(member, "check"):  # available_if
            member.fn = _wrapped(member.fn, name)
            member.check = _wrapped(member.check, name)
    return target


def _wrapped(function: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    """Wrap a function; without a name, a method, which has the name of its class."""
    if hasattr(function, "is_unnamed"):
        return function

    def name_for(args: tuple[Any, ...]) -> str:
        if name is not None:
            return name
        owner = args[0]
        return (owner if isinstance(owner, type) else type(owner)).__name__

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        # As `named` does, without the cost of a context manager.
        title = name_for(args)
        token = _caller.set(title)
        try:
            return function(*args, **kwargs)
        except Exception as error:
            name_caller(error, title)
            raise
        finally:
            _caller.reset(token)

    @functools.wraps(function)
    def generator(*args: Any, **kwargs: Any) -> Iterator[Any]:
        # Without the context variable, which code between two items would see.
        try:
            yield from function(*args, **kwargs)
        except Exception as error:
            name_caller(error, name_for(args))
            raise

    return generator if inspect.isgeneratorfunction(function) else wrapper
