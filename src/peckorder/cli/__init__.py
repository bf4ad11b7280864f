"""The command `peckorder`."""

import sys


def main() -> None:
    """Run the command line; the entry point of the `peckorder` script."""
    try:
        from peckorder.cli.app import run
    except ModuleNotFoundError as missing:
        if missing.name not in {"cyclopts", "rich"}:
            raise
        sys.exit(f"{missing.name} is not installed; run pip install 'peckorder[cli]'.")
    except KeyboardInterrupt:
        sys.exit(130)  # while still importing
    run()


__all__ = ["main"]
