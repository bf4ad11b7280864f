"""The names of standard input and output on the command line."""

STDIN = "-"
# What the command line passes on for "-", which its parser would read as an option.
DASH = "\0-"
_STDOUT = "/dev/stdout"


def is_standard(path: object) -> bool:
    """Return whether a path is that of standard input or output."""
    return str(path) in (STDIN, DASH, _STDOUT)
