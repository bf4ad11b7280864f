"""`peckorder info`: what is in a model file."""

from peckorder.cli.options import AsJson, Quiet


def info(model: str, /, *, json: AsJson = False, quiet: Quiet = False) -> None:
    """Tell what is in a model file: class, parameters, features, versions.

    Example: peckorder info wine.peckorder

    The whole file is read and checked, its checksum first: what is told is sound.

    Parameters
    ----------
    model
        The file, as written by `peckorder fit`, `peckorder compare --save` or `save`.
    json
        Print the result as JSON.
    quiet
        Print nothing but errors.
    """
    from peckorder.cli.info.work import run_info

    run_info(model, json=json, quiet=quiet)
