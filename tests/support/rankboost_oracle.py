"""RankBoost as published, on explicit weighted pairs: slow, obvious Python.

A pair is (worse, better, weight), two row numbers and how much it matters that the
second is put above the first. A feature that abstains on a row is None or NaN there.
The rows that some pair of positive weight names are the feedback; all choices are
made on them alone. Sums are rounded once, at their end, so that a weak ranking and
its complement have the same |r| to the last bit.
"""

from dataclasses import dataclass, field
from math import exp, fsum, inf, isnan, log, sqrt

# What is smaller is what rounding left of a zero.
NOTHING = 1e-14

GAPS = {
    "unit": lambda worse, better: 1.0,
    "gap": lambda worse, better: float(better - worse),
    "exponential": lambda worse, better: float(2**better - 2**worse),
}


def pairs_of(grades, qid=None, *, gap="unit", sample_weight=None, query_weight="pairs"):
    """Return the pairs of rows in one query whose grades differ, if they weigh."""
    n_rows = len(grades)
    qid = [0] * n_rows if qid is None else list(qid)
    of_row = [1.0] * n_rows if sample_weight is None else list(sample_weight)
    pairs = []
    for worse in range(n_rows):
        for better in range(n_rows):
            if qid[worse] == qid[better] and grades[worse] < grades[better]:
                weight = GAPS[gap](grades[worse], grades[better])
                pairs.append((worse, better, weight * of_row[worse] * of_row[better]))
    pairs = weighing(pairs)
    if query_weight == "equal":
        of_query = {query: fsum(w for worse, _, w in pairs if qid[worse] == query) for query in qid}
        pairs = [(a, b, w / of_query[qid[a]]) for a, b, w in pairs]
    return pairs


def weighing(pairs):
    return [(worse, better, weight) for worse, better, weight in pairs if weight > 0]


def feedback_of(pairs):
    return sorted({row for pair in weighing(pairs) for row in pair[:2]})


def potentials(pairs, scores):
    """Return the potential of each row, and the logarithm of the pairs' total.

    The weights are those that the scores leave. The largest exponent is taken out of
    the sum, since scores may be in the thousands.
    """
    exponents = [log(w) + scores[a] - scores[b] for a, b, w in weighing(pairs)]
    top = max(exponents)
    log_total = top + log(fsum(exp(e - top) for e in exponents))
    terms = [[] for _ in scores]
    for (worse, better, _), exponent in zip(weighing(pairs), exponents, strict=True):
        terms[better].append(exp(exponent - log_total))
        terms[worse].append(-exp(exponent - log_total))
    return [fsum(of_row) for of_row in terms], log_total


def shares(pairs, scores):
    """Return D, the share of each pair in the total weight."""
    log_total = potentials(pairs, scores)[1]
    return [exp(log(w) + scores[a] - scores[b] - log_total) for a, b, w in pairs]


def ranking_loss(pairs, scores, tied=1.0):
    """Return the share of weight on pairs that are the wrong way round, or tied."""
    total = fsum(w for _, _, w in pairs)
    wrong = fsum(w for a, b, w in pairs if scores[a] > scores[b])
    level = fsum(w for a, b, w in pairs if scores[a] == scores[b])
    return (wrong + tied * level) / total


@dataclass(frozen=True)
class Weak:
    """A weak ranking; `h` has its values on all rows."""

    feature: int
    threshold: float | None  # None: the feature itself is the ranking
    default: float
    h: tuple

    @property
    def key(self):
        return self.feature, self.threshold, self.default


@dataclass(frozen=True)
class Round(Weak):
    r: float
    alpha: float
    Z: float


@dataclass
class Boosted:
    """What came of it.

    `bounds` is the product of all Z so far, that of no round first. `closest` tells
    how near a choice ever came to another one that would be seen in the order of the
    feedback, so that tests can leave out what rounding decides.
    """

    H: list
    D: list
    bounds: list
    rounds: list = field(default_factory=list)
    closest: float = inf


def abstains(value):
    return value is None or isnan(value)


def weak_rankings(features, feedback, weak, default, thresholds=None):
    """Return all that may be chosen, in the order that breaks ties.

    A default may be given, or the two ends of a range; else it is learnt, from 0 and 1
    for thresholds, from the ends of the feature's own range where it is the ranking.
    """
    found = []
    for i in range(len(features[0])):
        column = [row[i] for row in features]
        values = {column[x] for x in feedback if not abstains(column[x])}
        missing = any(abstains(column[x]) for x in feedback)
        if weak == "feature" and not values:
            continue  # it says nothing, and has no lowest value
        if weak == "feature":
            cuts, low, high = [None], min(values), max(values)
        else:
            given = values if thresholds is None else set(thresholds[i])
            cuts, low, high = [*sorted(given - {-inf}, reverse=True), -inf], 0, 1
        # Of all defaults in a range, one of its ends has the largest |r|.
        ends = default if isinstance(default, tuple) else (low, high)
        if default is not None and default is not ends:
            defaults = [default]
        elif missing:
            defaults = sorted(set(ends))
        else:
            # Which is better can't be told if nothing abstains; the high one would
            # put later rows above all others on no evidence.
            defaults = [min(ends)]
        for cut in cuts:
            for q in defaults:
                h = tuple(value_at(value, cut, q) for value in column)
                found.append(Weak(i, cut, q, h))
    return found


def value_at(value, cut, default):
    if abstains(value):
        return float(default)
    return float(value) if cut is None else float(value > cut)


@dataclass(frozen=True)
class Sums:
    """The weight D on the pairs that a ranking puts right, wrong, and level; and r."""

    r: float
    right: float
    wrong: float
    level: float


def sums_of(pairs, D, h):
    rise = [h[better] - h[worse] for worse, better, _ in pairs]
    weighed = list(zip(D, rise, strict=True))
    return Sums(
        r=fsum(d * up for d, up in weighed),
        right=mass(fsum(d for d, up in weighed if up > 0)),
        wrong=mass(fsum(d for d, up in weighed if up < 0)),
        level=fsum(d for d, up in weighed if up == 0),
    )


def mass(value):
    return value if value > NOTHING else 0.0


def half_log(a, b):
    """Return half the logarithm of a/b, where one of them may be zero."""
    if a == 0 or b == 0:
        return inf if a > 0 else -inf
    return 0.5 * log(a / b)


def gain_of(alpha, sums):
    """Return what the choice of a weak ranking maximises; zero is no use at all."""
    if alpha == "analytic":
        return 1.0 - (sums.level + 2.0 * sqrt(sums.right * sums.wrong))
    return abs(sums.r)


def step_of(alpha, sums, pairs, D, h, smoothing):
    """Return the weight of a weak ranking; infinite if nothing contradicts it."""
    if alpha == "approximate":
        up, down = mass(1.0 + sums.r), mass(1.0 - sums.r)
        return half_log(up + smoothing, down + smoothing)
    if alpha == "analytic":
        return half_log(sums.right + smoothing / 2, sums.wrong + smoothing / 2)
    # The cut is where the others end for the best of rankings within [0, 1]; those
    # with larger differences reach it as much sooner.
    largest = half_log(2.0 + smoothing, smoothing) / max(1.0, span_of(pairs, h))
    sign = 1.0 if sums.r > 0 else -1.0
    return sign * bisected(pairs, D, [sign * value for value in h], largest)


def bisected(pairs, D, h, largest):
    """Return where Z is least between 0, where it falls, and `largest`."""
    fall = [h[worse] - h[better] for worse, better, _ in pairs]
    top = max(fall)
    if top <= 0:
        return largest

    def rises(a):
        # Only the sign counts, so the largest exponential may be taken out.
        slopes = (d * s * exp(a * (s - top)) for d, s in zip(D, fall, strict=True))
        return fsum(slopes) > 0

    low, high = 0.0, min(largest, 1.0 / span_of(pairs, h))
    while not rises(high):
        if high == largest:
            return largest
        low, high = high, min(largest, 2.0 * high)
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if rises(middle) else (middle, high)
    return (low + high) / 2


def span_of(pairs, h):
    return max(abs(h[better] - h[worse]) for worse, better, _ in pairs)


def refuse_range(alpha, pairs, weak):
    """Refuse a ranking for which the formula of alpha doesn't hold."""
    rises = {weak.h[better] - weak.h[worse] for worse, better, _ in pairs}
    if alpha == "approximate" and max(map(abs, rises)) > 1:
        raise ValueError("approximate: values must be within [0, 1]; scale them.")
    if alpha == "analytic" and not rises <= {-1.0, 0.0, 1.0}:
        raise ValueError("analytic: values must be 0 or 1.")


@dataclass(frozen=True)
class Scored:
    """A weak ranking in one round; it may be chosen while `margin` is positive."""

    weak: Weak
    sums: Sums
    gain: float
    margin: float


def boost(
    features,
    pairs,
    *,
    n_rounds,
    alpha="approximate",
    cumulative=False,
    default=None,
    smoothing=0.0,
    learning_rate=1.0,
    offset=None,
    weak="threshold",
    thresholds=None,
):
    """Run RankBoost; `thresholds` may give those of each feature, -inf goes unsaid.

    With `cumulative` the sum of a ranking's alphas has to stay positive. With an
    offset, all bounds are those of H plus offset.
    """
    n_rows, pairs = len(features), weighing(pairs)
    if not pairs:
        raise ValueError("There must be a pair of positive weight.")
    feedback = feedback_of(pairs)
    candidates = weak_rankings(features, feedback, weak, default, thresholds)
    for candidate in candidates:
        refuse_range(alpha, pairs, candidate)
    offset = [0.0] * n_rows if offset is None else offset
    shifted = [w * exp(offset[a] - offset[b]) for a, b, w in pairs]
    start = fsum(shifted) / fsum(w for _, _, w in pairs)
    result = Boosted(H=[0.0] * n_rows, D=normalised(shifted), bounds=[start])
    total = {}  # what has been added with each ranking

    def step(candidate, sums):
        whole = step_of(alpha, sums, pairs, result.D, candidate.h, smoothing)
        return learning_rate * whole

    def margin(candidate, sums):
        if not cumulative:
            return inf
        if candidate.key not in total:
            return sums.r  # it has the sign of alpha
        return total[candidate.key] + step(candidate, sums)

    for _ in range(n_rounds):
        scored = []
        for candidate in candidates:
            sums = sums_of(pairs, result.D, candidate.h)
            gain, room = gain_of(alpha, sums), margin(candidate, sums)
            scored.append(Scored(candidate, sums, gain, room))
        allowed = [s for s in scored if s.gain > NOTHING and s.margin > 0]
        if not allowed:
            break
        best = max(allowed, key=lambda s: s.gain)  # the first of equals
        note_rivals(result, best, scored, feedback, total, cumulative)
        added, h = step(best.weak, best.sums), best.weak.h
        if abs(added) == inf:
            raise ValueError("Nothing contradicts a ranking: there must be smoothing.")
        total[best.weak.key] = total.get(best.weak.key, 0.0) + added
        updated = [
            d * exp(added * (h[worse] - h[better]))
            for d, (worse, better, _) in zip(result.D, pairs, strict=True)
        ]
        Z = fsum(updated)
        result.D = normalised(updated)
        result.H = [H + added * value for H, value in zip(result.H, h, strict=True)]
        result.bounds.append(result.bounds[-1] * Z)
        result.rounds.append(Round(*best.weak.key, h, best.sums.r, added, Z))
    return result


def normalised(weights):
    total = fsum(weights)
    return [weight / total for weight in weights]


def note_rivals(result, best, scored, feedback, total, cumulative):
    """Note how much would have had to change for another choice."""
    gaps = [best.gain]
    for other in scored:
        if other.weak.key in total and other.gain >= best.gain:
            gaps.append(abs(other.margin))
        # Whether a ranking or its complement is taken shows in no order; but in which
        # of two accounts a weight is put does show, once accounts must not be empty.
        is_rival = cumulative or not alike(other.weak.h, best.weak.h, feedback)
        if other is not best and other.margin > 0 and is_rival:
            gaps.append(best.gain - other.gain)
    result.closest = min(result.closest, *gaps)


def alike(h, g, rows):
    """Tell whether two rankings are the same, or complements, but for a constant."""
    return len({h[x] - g[x] for x in rows}) == 1 or len({h[x] + g[x] for x in rows}) == 1


def bipartite(features, is_good, *, n_rounds, default=None, smoothing=0.0, sample_weight=None):
    """Run RankBoost.B, which keeps a weight for each row instead of each pair.

    A row is good, or not, or None: neither. Alpha is the approximate one.
    """
    n_rows = len(features)
    bad = [x for x in range(n_rows) if is_good[x] is not None and not is_good[x]]
    good = [x for x in range(n_rows) if is_good[x]]
    of_row = [1.0] * n_rows if sample_weight is None else sample_weight
    bad = [x for x in bad if of_row[x] > 0]
    good = [x for x in good if of_row[x] > 0]
    candidates = weak_rankings(features, sorted(bad + good), "threshold", default)
    v = {x: of_row[x] / fsum(of_row[z] for z in part) for part in (bad, good) for x in part}
    result = Boosted(H=[0.0] * n_rows, D=[], bounds=[1.0])
    for _ in range(n_rounds):

        def r_of(candidate, v=v):
            h = candidate.h
            return fsum([v[x] * h[x] for x in good] + [-v[x] * h[x] for x in bad])

        best = max(candidates, key=lambda candidate: abs(r_of(candidate)))
        r, h = r_of(best), best.h
        if abs(r) <= NOTHING:
            break
        added = half_log(mass(1 + r) + smoothing, mass(1 - r) + smoothing)
        if abs(added) == inf:
            raise ValueError("Nothing contradicts a ranking: there must be smoothing.")
        ups = {x: v[x] * exp(-added * h[x]) for x in good}
        downs = {x: v[x] * exp(added * h[x]) for x in bad}
        Z_good, Z_bad = fsum(ups.values()), fsum(downs.values())
        v = {x: u / Z_good for x, u in ups.items()}
        v |= {x: u / Z_bad for x, u in downs.items()}
        result.H = [H + added * value for H, value in zip(result.H, h, strict=True)]
        result.bounds.append(result.bounds[-1] * Z_good * Z_bad)
        result.rounds.append(Round(*best.key, h, r, added, Z_good * Z_bad))
    result.D = [v[a] * v[b] for a in bad for b in good]
    return result
