"""What the driver knows of partitions, and what it refuses."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.typing import Labels
from peckorder.distributed.cluster.sources import Part
from peckorder.feedback import Queries


@dataclass(frozen=True)
class Facts:
    """What is known of a partition at the driver.

    `first` and `last` are the least and the largest of its queries, if these have an
    order; None if not.
    """

    n_rows: int
    n_features: int
    n_queries: int
    names: tuple[str, ...] | None
    types: tuple[tuple[str, str], ...]
    first: Any = None
    last: Any = None


def facts_of(part: Part, queries: Labels | None) -> Facts:
    """Return what is known of a partition, given its queries."""
    n_queries = 0 if queries is None else len(queries)
    n_rows, n_features = part.X.shape
    ends = (None, None) if queries is None else _ends(queries)
    return Facts(n_rows, n_features, n_queries, part.names, part.types, *ends)


def _ends(queries: Labels) -> tuple[Any, Any]:
    """Return the least and the largest query, if they are numbers or texts."""
    if len(queries) and queries.dtype.kind in "iuf":
        return queries.min().item(), queries.max().item()
    names = queries.tolist()
    if names and set(map(type, names)) == {str}:
        return min(names), max(names)
    return None, None


def check_alike(facts: list[Facts], titles: list[str]) -> None:
    """Refuse partitions with other columns, or types, than the first has."""
    model, at = facts[0], titles[0]
    wanted = [name for name, _ in model.types]
    for name_of, other in zip(titles, facts, strict=True):
        columns = [name for name, _ in other.types]
        if columns != wanted or other.n_features != model.n_features:
            odd = min(set(columns) ^ set(wanted), default=None)
            got = f"{other.n_features} features for {model.n_features}"
            if odd is not None:
                got = f"{odd!r} {'more' if odd in columns else 'less'}"
            elif other.n_features == model.n_features:
                got = "the same ones in another order"
            raise refusal("every partition", f"have the columns of {at}", f"{got} in {name_of}")
        for (name, kind), (_, rule) in zip(other.types, model.types, strict=True):
            if kind != rule:
                raise refusal(
                    f"the column {name!r}", f"be of type {rule}, as in {at}", f"{kind} in {name_of}"
                )


def check_whole(names: list[Labels], positions: list[int], files: tuple[str, ...] | None) -> None:
    """Refuse a query that is among the names of two partitions."""
    if not names:
        return
    together = np.concatenate(names)
    queries = Queries.of(together)
    if len(queries) == len(together):
        return
    position = np.repeat(positions, [len(part) for part in names])
    q = int(np.argmax(queries.sizes > 1))
    a, b = queries.arrange(position)[queries.offsets[q] :][:2].tolist()
    name = queries.ids[q : q + 1].tolist()[0]
    if files is not None:
        raise refusal(
            "a query",
            "be whole in one file",
            f"rows of {name!r} in {files[a]!r} and {files[b]!r}",
            hint="Read them by dask.dataframe.read_parquet, and bring queries "
            "together by repartition_by_qid.",
        )
    raise refusal(
        "a query",
        "be whole in one partition",
        f"rows of {name!r} in partitions {a} and {b}",
        hint="Bring queries together by repartition_by_qid.",
    )


def overlapping(facts: list[Facts]) -> list[int]:
    """Return the partitions that may share a query with another.

    Only their names of queries have to be compared.
    """
    if any(fact.first is None for fact in facts):
        return list(range(len(facts)))
    order = sorted(range(len(facts)), key=lambda k: facts[k].first)
    near: set[int] = set()
    reach = order[0]  # which of those before reaches furthest
    for k in order[1:]:
        if facts[k].first <= facts[reach].last:
            near |= {reach, k}
        reach = k if facts[k].last > facts[reach].last else reach
    return sorted(near)
