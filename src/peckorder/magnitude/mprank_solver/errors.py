"""What magnitude-preserving ranking cannot learn from, said in a sentence."""

from typing import NoReturn

from peckorder.exceptions import DataError

# From here on squares of sums may not be finite.
LARGEST = 1e140


def refuse_indefinite(who: str, value: float) -> NoReturn:
    """Say that a kernel is none."""
    raise DataError(
        f"{who}: kernel must be positive semidefinite, up to rounding and a constant; "
        f"got one with the eigenvalue {value!r} on these rows."
    )


def refuse_large(who: str) -> NoReturn:
    """Say that numbers are too large to be multiplied."""
    raise DataError(
        f"{who}: X and y must be small enough for their squares to be finite; got an "
        "objective that is not."
    )


def check_size(who: str, largest: float) -> None:
    """Say that kernels are too large to be multiplied, if they are."""
    if not largest < LARGEST:
        raise DataError(
            f"{who}: kernel must be below {LARGEST} in size, for its squares to be "
            f"finite; got {float(largest)!r} on these rows."
        )
