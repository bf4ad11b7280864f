"""How standard input and output are written on the command line."""

STDIN = "-"
# What the command line hands on for "-", which its parser would take for an option.
DASH = "\0-"
_STDOUT = "/dev/stdout"


def is_standard(path: object) -> bool:
    """Say whether a path stands for standard input or output."""
    return str(path) in (STDIN, DASH, _STDOUT)
