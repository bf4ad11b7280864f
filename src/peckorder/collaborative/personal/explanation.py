"""Taking a predicted rating apart: by rated items, and by viewers."""

import numpy as np

from peckorder._core.typing import Floats, Labels
from peckorder.collaborative.personal.person import Weighed
from peckorder.collaborative.personal.results import Explanation


def explained(
    person: Weighed, place: int, mean: float, items: Labels, users: Labels
) -> Explanation:
    """Return what each rated item, and each viewer, adds to the score of an item.

    The kernel of two items is a sum over viewers and factors, and a score is a sum of
    kernels: the same double sum is added up in both orders.
    """
    kernel, coef = person.kernel, person.coef
    by_items = coef * kernel.between(np.array([place]), person.rated)[0]
    column = kernel.viewers[:, [place]]
    viewer = column.indices
    # Each viewer has two rows: one for ratings, one for having rated.
    weight = kernel.viewers[:, person.rated].tocsr()[viewer] @ coef
    added: Floats = np.zeros(len(users))
    np.add.at(added, viewer % len(users), column.data * weight)
    found = np.flatnonzero(added)
    found = found[np.argsort(-np.abs(added[found]), kind="stable")]
    order = np.argsort(-np.abs(by_items), kind="stable")
    by_factors = kernel.factors[place] @ (coef @ kernel.factors[person.rated])
    return Explanation(
        score=mean + person.intercept + float(by_items.sum()),
        item_mean=mean,
        person=person.intercept,
        items=items[person.rated[order]],
        by_items=by_items[order],
        viewers=users[found],
        by_viewers=added[found],
        by_factors=float(by_factors),
    )


def constant(mean: float, shift: float) -> Explanation:
    """Return what is to be said of a person without a taste of his own."""
    none, nobody = np.zeros(0), np.zeros(0, dtype=object)
    return Explanation(
        float(mean) + shift, float(mean), shift, nobody, none, nobody, none, 0.0
    )
