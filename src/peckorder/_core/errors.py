"""Errors about data that say where it is."""

from peckorder.exceptions import DataError

_LONGEST = 300


def located(error: Exception, where: str) -> Exception | None:
    """Return an error about data with a sentence more; None if it is about none.

    scikit-learn refuses NaN and infinity by a plain ValueError, of several lines.
    """
    if type(error) not in (ValueError, DataError):
        return None
    said = str(error)
    is_data = isinstance(error, DataError) or said.startswith("Input ")
    gap = " " if said.endswith(".") and "\n" not in said else "\n"
    return (DataError if is_data else ValueError)(f"{said}{gap}{where}")


def cause(error: object) -> str:
    """Return what another package says of a failure, to be ended by a full stop."""
    said = " ".join(str(error).split())
    if len(said) > _LONGEST:
        return f"{said[:_LONGEST].rstrip()} .."
    return said.rstrip(". ")
