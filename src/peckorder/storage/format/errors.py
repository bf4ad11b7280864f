"""Files that are no sound model files, and values that no file holds."""


class Damaged(Exception):
    """A file is not what it should be; the text says in what, as a relative clause.

    For instance "which is cut short", or "in which classes must be distinct".
    """


class Unstorable(TypeError):
    """A file cannot hold a value; the text says what was given."""


def broken(path: str, rule: str) -> Damaged:
    """Return what is said of a part of the header that breaks a rule."""
    return Damaged(f"in which {path} must be {rule}")


def unsuited(value: object) -> Unstorable:
    """Return what is said of a value that has no place in a file."""
    return Unstorable(f"an object of type {type(value).__name__}")
