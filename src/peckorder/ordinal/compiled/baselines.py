"""The baselines of the PRank paper: the Widrow-Hoff rule and the multiclass perceptron.

Both have scores in columns, one or one per class, each with weights of its own or with
coefficients of rows.
"""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.compiled.rows import row_add, row_product, row_scale, row_score, rows_ahead
from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Ints
from peckorder.ordinal.compiled.dual import KernelValues, expand_all
from peckorder.ordinal.compiled.linear import RowBlock, next_row

# A score of Widrow-Hoff is a rank; one beyond this is a run that diverges.
DIVERGED = 1e12


class Step(NamedTuple):
    """How a row changes the columns.

    By Widrow-Hoff, with the step eta, divided by the square of the row if `normalized`;
    else by the perceptron, whose error is taken from the predicted class or, if
    `uniform`, from all that come before the right one.
    """

    regression: bool
    eta: float
    normalized: bool
    uniform: bool
    n_levels: int


class Columns(NamedTuple):
    """Weights or coefficients, changed in place, and scratch arrays (columns,).

    Weights are (columns, d), coefficients (support + n, columns). If `averaged`,
    ``T * value - lag`` is their sum after each of T rounds, `rounds` being before the
    block. log (n, columns), unless empty, receives the steps of each row.
    """

    value: Floats
    lag: Floats
    rounds: int
    averaged: bool
    scores: Floats
    sums: Floats
    steps: Floats
    log: Floats


@inlined
def level_of(scores: Floats, n_rules: float, step: Step) -> int:
    """Return the level by the sums of scores of so many rules; -1 for no usable score."""
    best = 0
    for c in range(scores.shape[0]):
        # Written so that NaN is refused too.
        if not abs(scores[c]) < np.inf:
            return -1
        if scores[c] > scores[best]:
            best = c
    if step.regression:
        rank = np.floor(scores[0] / n_rules + 0.5)
        best = int(min(max(rank, 1.0), float(step.n_levels))) - 1
    return best


@inlined
def set_steps(
    scores: Floats, truth: int, guess: int, square: float, scale: float, step: Step, steps: Floats
) -> None:
    """Write what of a row, which is to be multiplied by `scale`, each column gets."""
    if step.regression:
        eta = step.eta
        if step.normalized:
            eta = eta / square if square > 0.0 else 0.0
        steps[0] = eta * ((truth + 1 - scores[0]) * scale)
        return
    n_wrong = 0
    for c in range(steps.shape[0]):
        is_before = scores[c] > scores[truth] or (scores[c] == scores[truth] and c < truth)
        is_wrong = is_before if step.uniform else c == guess and guess != truth
        steps[c] = -scale if is_wrong else 0.0
        n_wrong += is_wrong
    if n_wrong > 1:
        for c in range(steps.shape[0]):
            steps[c] /= n_wrong
    if n_wrong > 0:
        steps[truth] = scale


@inlined
def count(guess: int, truth: int, tally: Ints) -> None:
    """Count a mistake and the steps by which it missed."""
    tally[0] += guess != truth
    tally[1] += abs(guess - truth)


@compiled
def learn(
    block: RowBlock, transform: RowTransform, columns: Columns, step: Step, tally: Ints
) -> int:
    """Learn a block of rows with weights.

    Predictions are those of the average, if it is kept. Returns the first row whose
    score is not finite, or beyond any rank because the run diverges, or -1.
    """
    rows, intercept = block.rows, transform.intercept
    weights, lag, rounds, averaged, scores, sums, steps, log = columns
    last, ahead = weights.shape[1] - 1, rows_ahead(rows)
    for t in range(block.level.shape[0]):
        i = next_row(rows, block.start, block.order, t, ahead)
        scale = row_scale(rows, i, intercept, transform.unit_norm)
        for c in range(scores.shape[0]):
            scores[c] = row_score(rows, i, weights[c], intercept, scale)
        guess, truth, now = level_of(scores, 1.0, step), block.level[t], float(rounds + t)
        if guess < 0 or (step.regression and abs(scores[0]) > DIVERGED):
            return t
        if block.predicted.shape[0]:
            block.predicted[t] = guess
            if averaged and now > 0.0:
                for c in range(scores.shape[0]):
                    late = row_score(rows, i, lag[c], intercept, scale)
                    sums[c] = now * scores[c] - late
                block.predicted[t] = max(level_of(sums, now, step), 0)
        count(guess, truth, tally)
        square = 0.0
        if step.normalized:
            square = row_product(rows, block.added, i) + (1.0 if intercept else 0.0)
            square *= scale * scale
            if square == np.inf:
                return t
        set_steps(scores, truth, guess, square, scale, step, steps)
        for c in range(steps.shape[0]):
            if steps[c] == 0.0:
                continue
            if log.shape[0]:
                log[t, c] = steps[c]
            row_add(block.added, i, steps[c], weights[c])
            if intercept:
                weights[c, last] += steps[c]
            if averaged:
                row_add(block.added, i, steps[c] * now, lag[c])
                if intercept:
                    lag[c, last] += steps[c] * now
    return -1


@compiled
def learn_kernels(
    values: KernelValues, level: Ints, predicted: Ints, columns: Columns, step: Step, tally: Ints
) -> int:
    """Learn a block of n rows with a kernel; arguments and result as those of `learn`."""
    coef, lag, rounds, averaged, scores, sums, steps, _ = columns
    n_past = values.past.shape[1]
    for t in range(level.shape[0]):
        here, square = n_past + t, values.now[t, t]
        expand_all(values, t, 0, here, coef, scores)
        guess, truth, now = level_of(scores, 1.0, step), level[t], float(rounds + t)
        if guess < 0 or (step.regression and abs(scores[0]) > DIVERGED):
            return t
        if not np.isfinite(square):
            return t
        if predicted.shape[0]:
            predicted[t] = guess
            if averaged and now > 0.0:
                expand_all(values, t, 0, here, lag, sums)
                for c in range(scores.shape[0]):
                    sums[c] = now * scores[c] - sums[c]
                predicted[t] = max(level_of(sums, now, step), 0)
        count(guess, truth, tally)
        set_steps(scores, truth, guess, square, 1.0, step, steps)
        for c in range(steps.shape[0]):
            coef[here, c] = steps[c]
            if averaged:
                lag[here, c] = steps[c] * now
    return -1
