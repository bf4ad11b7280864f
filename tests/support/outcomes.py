"""Outcomes of experiments, for their tests."""

from dataclasses import replace

from peckorder.experiments.framework.claims import judged


def shown(outcome, name):
    """Return what a part shows, before a trial run leaves out what is printed."""
    [each] = [each for each in outcome.parts if each.part.name == name]
    return each.part.show(outcome.config, each.units, each.seconds)


def claims_of(outcome):
    """Return the claims of all parts, judged together."""
    names = [each.part.name for each in outcome.parts]
    return judged([claim for name in names for claim in shown(outcome, name).claims])


def verdicts_of(claims):
    """Return the verdicts of some claims, judged together."""
    return [claim.holds for claim in judged(list(claims))]


def smaller(experiment, *names, **changes):
    """Return some parts of an experiment, all without names, with other settings of quick."""
    parts = tuple(part for part in experiment.parts if not names or part.name in names)
    config = replace(experiment.presets["quick"], **changes)
    return replace(experiment, parts=parts, presets={"quick": config})
