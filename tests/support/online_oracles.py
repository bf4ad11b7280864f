"""The on-line learners as published, misprints corrected: slow, obvious Python.

Ranks are 1..k. Every oracle notes in `closest` how near a decision ever came to
going the other way, so that a test on real numbers can leave out the cases that
rounding decides. Decisions of a zero rule before the first mistake are exact and
don't count; after it, weights that are zero here may be 1e-17 in the library.
"""

from itertools import product
from math import exp, floor, inf, isinf, sqrt
from statistics import median


def seen_as(x, intercept, unit_norm):
    x = [float(value) for value in x] + ([1.0] if intercept else [])
    norm = sqrt(sum(value * value for value in x))
    return [value / norm for value in x] if unit_norm and norm > 0 else x


def dot(w, x):
    return sum(a * b for a, b in zip(w, x, strict=True))


def nearest_rank(value, k):
    return min(max(floor(value + 0.5), 1), k)


def rank_loss(y_true, y_pred):
    return sum(abs(a - b) for a, b in zip(y_true, y_pred, strict=True)) / len(y_true)


class Learner:
    """Rows may be given a number, which those that keep no rows ignore."""

    def __init__(self, d, k, intercept=False, unit_norm=False):
        self.k, self.intercept, self.unit_norm = k, intercept, unit_norm
        self.d = d + intercept
        self.rounds = self.mistakes = self.loss = 0
        self.closest = inf

    def see(self, x):
        return seen_as(x, self.intercept, self.unit_norm)

    def count(self, guess, y):
        self.rounds += 1
        self.mistakes += guess != y
        self.loss += abs(guess - y)

    def note(self, gap, w, mistakes):
        """Note a gap, except of zero weights that no mistake has changed yet."""
        if mistakes or any(w):
            self.closest = min(self.closest, abs(gap))

    def progressive(self, X, y):
        predicted = []
        for x, rank in zip(X, y, strict=True):
            predicted.append(self.predict(x))
            self.learn(x, rank)
        return predicted


class PRank(Learner):
    def __init__(self, d, k, rule, w0=None, b0=None, **view):
        super().__init__(d, k, **view)
        self.rule = rule
        self.w = [0.0] * self.d if w0 is None else [float(v) for v in w0]
        self.b = [0.0] * (k - 1) if b0 is None else [float(v) for v in b0]
        self.w_sum, self.b_sum = [0.0] * self.d, [0.0] * (k - 1)
        self.rules = [(list(self.w), list(self.b), 0)]

    def rank(self, w, b, x, mistakes, scale=1):
        s = dot(w, x)
        for threshold in b:
            self.note((s - threshold) / scale, w, mistakes)
        for r, threshold in enumerate(b, start=1):
            if s - threshold < 0:
                return r
        return self.k

    def score(self, x):
        return dot(self.w, self.see(x))

    def mean_rank(self, x):
        x = self.see(x)
        votes = sum(v for _, _, v in self.rules)
        if votes == 0:
            return self.rank(*self.rules[-1][:2], x, self.mistakes)
        # The rule with number i is the one after i mistakes.
        ranks = [v * self.rank(w, b, x, i) for i, (w, b, v) in enumerate(self.rules) if v]
        return sum(ranks) / votes

    def predict(self, x):
        if self.rule == "voted":
            return nearest_rank(self.mean_rank(x), self.k)
        if self.rule == "averaged" and self.rounds:
            w, b = self.w_sum, self.b_sum
            return self.rank(w, b, self.see(x), self.mistakes, self.rounds)
        return self.rank(self.w, self.b, self.see(x), self.mistakes)

    def learn(self, x, y, number=None):
        x = self.see(x)
        s, guess = dot(self.w, x), self.rank(self.w, self.b, x, self.mistakes)
        self.count(guess, y)
        if guess == y:
            w, b, votes = self.rules[-1]
            self.rules[-1] = w, b, votes + 1
        else:
            z = [-1 if y <= r else 1 for r in range(1, self.k)]
            tau = [zr if (s - br) * zr <= 0 else 0 for zr, br in zip(z, self.b, strict=True)]
            self.w = [w + sum(tau) * v for w, v in zip(self.w, x, strict=True)]
            self.b = [b - t for b, t in zip(self.b, tau, strict=True)]
            self.rules.append((list(self.w), list(self.b), 0))
        self.w_sum = [a + w for a, w in zip(self.w_sum, self.w, strict=True)]
        self.b_sum = [a + b for a, b in zip(self.b_sum, self.b, strict=True)]

    def weights(self):
        if self.rule == "averaged":
            return [w / self.rounds for w in self.w_sum]
        return self.w

    def thresholds(self):
        if self.rule == "averaged":
            return [b / self.rounds for b in self.b_sum]
        return self.b


def projection(w, b, x, y, C):
    """Return the nearest rule, with slack C per margin, by trying all sets of active ones.

    Each margin is met with room, met exactly, or missed with a multiplier of C.
    """
    z = [1.0 if y > r else -1.0 for r in range(1, len(b) + 1)]
    score, square, best = dot(w, x), dot(x, x), None
    for states in product("ro" if isinf(C) else "roc", repeat=len(b)):
        fixed = sum(zr * C for zr, s in zip(z, states, strict=True) if s == "c")
        free = [r for r, s in enumerate(states) if s == "o"]
        # Of the free ones z_r (s - b_r) = 1, s = score + square * step.
        total = fixed + sum(z[r] - score + b[r] for r in free)
        step = total / (1 + len(free) * square)
        s = score + square * step
        tau = [
            C if state == "c" else zr * (zr - s + br) if state == "o" else 0.0
            for zr, br, state in zip(z, b, states, strict=True)
        ]
        new_w = [a + step * v for a, v in zip(w, x, strict=True)]
        new_b = [br - zr * t for br, zr, t in zip(b, z, tau, strict=True)]
        change = sum((p - q) ** 2 for p, q in zip([*new_w, *new_b], [*w, *b], strict=True))
        missed = [max(0.0, 1 - zr * (s - br)) for zr, br in zip(z, new_b, strict=True)]
        if isinf(C) and max(missed) > 1e-9:
            continue
        cost = change / 2 + (0.0 if isinf(C) else C * sum(missed))
        if best is None or cost < best[0]:
            best = cost, new_w, new_b
    return best[1:]


def romma(w, b, x, y):
    """Return the smallest rule with v'.v >= v.v and v'.u >= 1, u being what PRank adds."""
    s = dot(w, x)
    z = [1 if y > r else -1 for r in range(1, len(b) + 1)]
    tau = [zr if (s - br) * zr <= 0 else 0 for zr, br in zip(z, b, strict=True)]
    u = [sum(tau) * value for value in x] + [-float(t) for t in tau]
    v = [*w, *b]
    rest = dot(u, u) * dot(v, v) - dot(v, u) ** 2
    c, d = 0.0, 1 / dot(u, u)
    if rest > 1e-12 * dot(u, u) * dot(v, v):
        c = (dot(u, u) * dot(v, v) - dot(v, u)) / rest
        d = dot(v, v) * (1 - dot(v, u)) / rest
    new = [c * p + d * q for p, q in zip(v, u, strict=True)]
    return new[: len(w)], new[len(w) :]


class LargeMarginPRank(PRank):
    """PRank with other updates, which a row may cause that is placed rightly."""

    def __init__(self, d, k, rule, update, C=1.0, **view):
        super().__init__(d, k, rule, **view)
        self.update, self.C = update, inf if C is None else C

    def rank(self, w, b, x, mistakes, scale=1):
        s = dot(w, x)
        for threshold in b:
            self.note((s - threshold) / scale, w, mistakes)
        return 1 + sum(s >= threshold for threshold in b)

    def learn(self, x, y, number=None):
        x = self.see(x)
        s, guess = dot(self.w, x), self.rank(self.w, self.b, x, self.mistakes)
        self.count(guess, y)
        w, b, votes = self.rules[-1]
        self.rules[-1] = w, b, votes + (guess == y)
        if self.update == "romma":
            has_changed = guess != y
        else:
            z = [1 if y > r else -1 for r in range(1, self.k)]
            margins = [zr * (s - br) for zr, br in zip(z, self.b, strict=True)]
            self.closest = min(self.closest, *(abs(margin - 1) for margin in margins))
            has_changed = min(margins) < 1
        if has_changed and self.update == "romma":
            self.w, self.b = romma(self.w, self.b, x, y)
        elif has_changed:
            self.w, self.b = projection(self.w, self.b, x, y, self.C)
        if has_changed:
            self.rules.append((list(self.w), list(self.b), 0))
        self.w_sum = [p + q for p, q in zip(self.w_sum, self.w, strict=True)]
        self.b_sum = [p + q for p, q in zip(self.b_sum, self.b, strict=True)]

    def thresholds(self):
        return sorted(super().thresholds())


def polynomial(gamma=1.0, degree=2, coef0=1.0):
    return lambda x, z: (gamma * dot(x, z) + coef0) ** degree


def gaussian(gamma):
    return lambda x, z: exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))


class Kept:
    """A row that was misplaced, and the rounds and steps in which it was."""

    def __init__(self, number, row):
        self.number, self.row, self.steps = number, row, []

    def coef(self):
        return sum(step for _, step in self.steps)

    def lag(self, begin):
        return sum(max(time, begin) * step for time, step in self.steps)


class KernelPRank(Learner):
    """PRank that keeps a list of rows, those that came last at its end.

    With a budget the first is dropped when there are too many. The averaged rule is
    the mean of the rules after each round since `begin`, less the rows that have been
    dropped. It begins with the first round; once rows have been dropped, whenever an
    eighth of the budget has been updated, where it was the last time that it had.
    """

    def __init__(self, k, kernel, rule, budget=None, **view):
        super().__init__(0, k, **view)
        self.kernel, self.rule, self.budget = kernel, rule, budget
        self.b, self.kept, self.has_dropped = [0.0] * (k - 1), [], False
        self.begin = self.next_begin = self.n_updates = 0
        self.rules = [([], list(self.b), 0)]
        self.b_after_round = []

    def rank(self, weighed, b, x, mistakes, scale=1):
        """Place a row by the sum over pairs of a row and its weight."""
        s = sum(weight * self.kernel(z, x) for z, weight in weighed)
        weights = [weight for _, weight in weighed]
        for threshold in b:
            self.note((s - threshold) / scale, weights, mistakes)
        return 1 + sum(s >= threshold for threshold in b)

    def last_rule(self):
        return [(kept.row, kept.coef()) for kept in self.kept]

    def score(self, x):
        x = self.see(x)
        return sum(weight * self.kernel(z, x) for z, weight in self.last_rule())

    def averaged(self):
        """Return weights of the rows, sums of thresholds, and of how many rounds."""
        rounds = range(self.begin, self.rounds)
        if self.rule != "averaged" or not rounds:
            return [kept.coef() for kept in self.kept], self.b, 1
        weights = [
            sum(step for t in rounds for time, step in kept.steps if time <= t)
            for kept in self.kept
        ]
        b = [self.b_after_round[t] for t in rounds]
        return weights, [sum(column) for column in zip(*b, strict=True)], len(rounds)

    def mean_rank(self, x):
        x = self.see(x)
        votes = sum(v for _, _, v in self.rules)
        if votes == 0:
            return self.rank(*self.rules[-1][:2], x, self.mistakes)
        ranks = [v * self.rank(w, b, x, i) for i, (w, b, v) in enumerate(self.rules) if v]
        return sum(ranks) / votes

    def predict(self, x):
        if self.rule == "voted":
            return nearest_rank(self.mean_rank(x), self.k)
        weights, thresholds, n_rounds = self.averaged()
        weighed = [(k.row, w) for k, w in zip(self.kept, weights, strict=True)]
        return self.rank(weighed, thresholds, self.see(x), self.mistakes, n_rounds)

    def has_part(self, kept):
        """Tell whether a row counts in the rule, or in an average."""
        if self.rule != "averaged":
            return kept.coef() != 0
        lags = [kept.lag(begin) for begin in (self.begin, self.next_begin)]
        return any([kept.coef(), *lags])

    def keep(self, number, x, step):
        if self.budget:
            self.kept = [kept for kept in self.kept if self.has_part(kept)]
        known = [kept for kept in self.kept if kept.number == number]
        kept = known[0] if known else Kept(number, x)
        kept.steps.append((self.rounds, step))
        if not known:
            self.kept.append(kept)
        if not self.budget:
            return
        self.kept = [kept for kept in self.kept if self.has_part(kept)]
        if len(self.kept) > self.budget:
            self.kept.pop(0)
            self.has_dropped = True
        self.n_updates += 1
        if self.n_updates == max(1, self.budget // 8):
            if self.has_dropped:
                self.begin = self.next_begin
            self.next_begin, self.n_updates = self.rounds, 0

    def learn(self, x, y, number=None):
        s, x = self.score(x), self.see(x)
        guess = self.rank(self.last_rule(), self.b, x, self.mistakes)
        if guess == y:
            weighed, b, votes = self.rules[-1]
            self.rules[-1] = weighed, b, votes + 1
        else:
            z = [-1 if y <= r else 1 for r in range(1, self.k)]
            tau = [zr if (s - br) * zr <= 0 else 0 for zr, br in zip(z, self.b, strict=True)]
            self.b = [b - t for b, t in zip(self.b, tau, strict=True)]
            if sum(tau):
                self.keep(self.rounds if number is None else number, x, sum(tau))
            self.rules.append((self.last_rule(), list(self.b), 0))
        self.b_after_round.append(list(self.b))
        self.count(guess, y)

    def expansion(self):
        """Return numbers and coefficients of rows, in order and without zeros."""
        weights, _, n_rounds = self.averaged()
        pairs = zip(self.kept, weights, strict=True)
        return sorted((kept.number, weight / n_rounds) for kept, weight in pairs if weight)

    def thresholds(self):
        _, thresholds, n_rounds = self.averaged()
        return [b / n_rounds for b in thresholds]


class Ensemble:
    """Members that are offered rows as often as ``mask[member][round]`` says.

    They predict by their last rules, or by the averages of those after each round.
    """

    def __init__(self, members, mask, aggregate, averaged=False):
        self.members, self.mask, self.aggregate = members, mask, aggregate
        self.k, self.rounds, self.averaged = members[0].k, 0, averaged
        self.rules_after_round = [[] for _ in members]
        self.right = [0] * len(members)
        self.own_closest = inf

    @property
    def closest(self):
        return min([self.own_closest, *(member.closest for member in self.members)])

    def sums(self):
        """Return of each member the sums of its weights and thresholds, over how many rounds."""
        if not self.averaged or not self.rounds:
            return [(member.w, member.b, 1) for member in self.members]
        return [
            (
                [sum(column) for column in zip(*(w for w, _ in rules), strict=True)],
                [sum(column) for column in zip(*(b for _, b in rules), strict=True)],
                self.rounds,
            )
            for rules in self.rules_after_round
        ]

    def mean_rules(self):
        """Return of each member the weights and thresholds by which it predicts."""
        return [([v / n for v in w], [v / n for v in b]) for w, b, n in self.sums()]

    def ranks(self, x):
        if not self.averaged:
            return [member.predict(x) for member in self.members]
        return [
            member.rank(w, b, member.see(x), member.mistakes, n)
            for member, (w, b, n) in zip(self.members, self.sums(), strict=True)
        ]

    def weights(self):
        if self.aggregate == "voted" and any(self.right):
            return self.right
        return [1] * len(self.members)

    def mean_rank(self, x):
        return dot(self.weights(), self.ranks(x)) / sum(self.weights())

    def shares(self, x):
        votes = list(zip(self.weights(), self.ranks(x), strict=True))
        total = sum(self.weights())
        return [sum(v for v, rank in votes if rank == r) / total for r in range(1, self.k + 1)]

    def predict(self, x):
        if self.aggregate == "bayes_point":
            s = sum(member.score(x) for member in self.members)
            b = [sum(c) for c in zip(*(m.b for m in self.members), strict=True)]
            if self.averaged:
                sums, seen = self.sums(), self.members[0].see(x)
                s = sum(dot(w, seen) for w, _, _ in sums)
                b = [sum(c) for c in zip(*(b for _, b, _ in sums), strict=True)]
            if any(member.mistakes for member in self.members):
                n_rules = max(1, self.rounds) if self.averaged else 1
                gaps = [abs(s - threshold) / n_rules for threshold in b]
                self.own_closest = min([self.own_closest, *gaps])
            return 1 + sum(s >= threshold for threshold in b)
        if self.aggregate == "median":
            return nearest_rank(median(self.ranks(x)), self.k)
        return nearest_rank(self.mean_rank(x), self.k)

    def learn(self, x, y):
        for j, member in enumerate(self.members):
            for _ in range(self.mask[j][self.rounds]):
                self.right[j] += member.predict(x) == y
                member.learn(x, y, self.rounds)
            if self.averaged:
                self.rules_after_round[j].append((list(member.w), list(member.b)))
        self.rounds += 1

    progressive = Learner.progressive


def learn_permuted(ensemble, orders, X, y):
    """Let each member of an ensemble learn rows in ``orders[member]``, numbered as they are."""
    for j, member in enumerate(ensemble.members):
        for i in orders[j]:
            ensemble.right[j] += member.predict(X[i]) == y[i]
            member.learn(X[i], y[i], i)
            if ensemble.averaged:
                ensemble.rules_after_round[j].append((list(member.w), list(member.b)))
    ensemble.rounds = len(orders[0])


class Baseline(Learner):
    """Scores in columns, each the sum of the rows added to it; all that was added is kept.

    An average is the mean of the scores by the rules after each round.
    """

    def __init__(self, d, k, n_columns, rule="last", kernel=dot, **view):
        super().__init__(d, k, **view)
        self.rule, self.kernel, self.n_columns = rule, kernel, n_columns
        self.added = []  # round, number of the row, row, steps of the columns

    def sums(self, x, until):
        """Return the scores of the columns after so many rounds."""
        totals = [0.0] * self.n_columns
        for time, _, z, steps in self.added:
            if time < until:
                value = self.kernel(z, x)
                totals = [t + step * value for t, step in zip(totals, steps, strict=True)]
        return totals

    def sums_that_predict(self, x):
        """Return the scores by the sum of the rules that predict, and of how many."""
        if self.rule == "last" or not self.rounds:
            return self.sums(x, self.rounds), 1
        rules = [self.sums(x, until) for until in range(1, self.rounds + 1)]
        return [sum(column) for column in zip(*rules, strict=True)], self.rounds

    def scores(self, x):
        sums, n_rules = self.sums_that_predict(self.see(x))
        return [value / n_rules for value in sums]

    def predict(self, x):
        return self.place(*self.sums_that_predict(self.see(x)))

    def learn(self, x, y, number=None):
        x = self.see(x)
        scores = self.sums(x, self.rounds)
        guess, steps = self.place(scores, 1), self.steps(scores, x, y)
        number = self.rounds if number is None else number
        self.added.append((self.rounds, number, x, steps))
        self.count(guess, y)

    def coefficients(self):
        """Return the columns' coefficients by the number of the row, without zeros."""
        total = {}
        for time, number, _, steps in self.added:
            share = (self.rounds - time) / self.rounds if self.rule == "averaged" else 1
            old = total.get(number, [0.0] * self.n_columns)
            total[number] = [a + share * step for a, step in zip(old, steps, strict=True)]
        return {number: total[number] for number in sorted(total) if any(total[number])}

    def weights(self):
        """Return the columns' weights, for the product as the kernel."""
        total = [[0.0] * self.d for _ in range(self.n_columns)]
        n_rules = self.rounds if self.rule == "averaged" else 1
        for time, _, x, steps in self.added:
            n = self.rounds - time if self.rule == "averaged" else 1
            for w, step in zip(total, steps, strict=True):
                w[:] = [a + n * step * v for a, v in zip(w, x, strict=True)]
        return [[value / n_rules for value in w] for w in total]


class WidrowHoff(Baseline):
    def __init__(self, d, k, eta, step="constant", **how):
        super().__init__(d, k, 1, **how)
        self.eta, self.step = eta, step

    def place(self, sums, n_rules):
        s = sums[0] / n_rules
        if self.rounds:
            self.closest = min(self.closest, *(abs(s - (r + 0.5)) for r in range(1, self.k)))
        return nearest_rank(s, self.k)

    def steps(self, scores, x, y):
        eta, square = self.eta, self.kernel(x, x)
        if self.step == "normalized":
            eta = eta / square if square > 0 else 0.0
        return [-eta * (scores[0] - y)]


class MulticlassPerceptron(Baseline):
    def __init__(self, d, k, update="max", **how):
        super().__init__(d, k, k, **how)
        self.update = update

    def note_gaps(self, sums, one, n_rules=1):
        """Note the gaps between a class and others, except those to which the same was added."""
        for c, score in enumerate(sums):
            if any(steps[c] != steps[one] for _, _, _, steps in self.added):
                self.closest = min(self.closest, abs(sums[one] - score) / n_rules)

    def place(self, sums, n_rules):
        best = sums.index(max(sums))
        self.note_gaps(sums, best, n_rules)
        return best + 1

    def steps(self, scores, x, y):
        order = sorted(range(self.k), key=lambda c: (-scores[c], c))
        wrong = order[: order.index(y - 1)]
        if self.update == "uniform":
            self.note_gaps(scores, y - 1)
        else:
            wrong = wrong[:1]
        steps = [-1 / len(wrong) if c in wrong else 0 for c in range(self.k)]
        steps[y - 1] = int(bool(wrong))
        return steps
