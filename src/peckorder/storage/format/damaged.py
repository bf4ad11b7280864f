"""What is said of a file that is no sound model file."""


class Damaged(Exception):
    """A file is not what it should be; the text says in what, as a relative clause.

    For instance "which is cut short", or "in which classes must be distinct".
    """


def broken(path: str, rule: str) -> Damaged:
    """Return what is said of a part of the header that breaks a rule."""
    return Damaged(f"in which {path} must be {rule}")
