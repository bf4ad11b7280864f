"""Outcomes of experiments, for their tests."""

from dataclasses import replace


def shown(outcome, name):
    """Return what a part shows."""
    return next(each.shown for each in outcome.parts if each.part.name == name)


def smaller(experiment, *names, **changes):
    """Return some parts of an experiment, all without names, with other settings of quick."""
    parts = tuple(part for part in experiment.parts if not names or part.name in names)
    config = replace(experiment.presets["quick"], **changes)
    return replace(experiment, parts=parts, presets={"quick": config})
