"""Rate fifteen films; get a list with predicted ratings, a cut, and reasons.

    python examples/fifteen_films.py --data DIR [--set 1m]

reads MovieLens (`ml-100k`, or `ml-1m`) below DIR, which is PECKORDER_DATA unless given.
Change the stars below to your own.
"""

import argparse
import os
import sys

from peckorder.collaborative import PersonalRanker
from peckorder.datasets import load_movielens_1m, load_movielens_100k
from peckorder.exceptions import MissingDataError

STARS = {
    "Fargo (1996)": 5,
    "Casablanca (1942)": 5,
    "Psycho (1960)": 5,
    "Annie Hall (1977)": 4,
    "Chinatown (1974)": 5,
    "Blade Runner (1982)": 4,
    "Some Like It Hot (1959)": 4,
    "Pulp Fiction (1994)": 4,
    "Groundhog Day (1993)": 4,
    "Toy Story (1995)": 3,
    "Trainspotting (1996)": 3,
    "Forrest Gump (1994)": 2,
    "Titanic (1997)": 2,
    "Twister (1996)": 1,
    "Independence Day (ID4) (1996)": 1,
}
ME = "me"


def main() -> None:
    """Learn from everybody, then from fifteen ratings; print a list and reasons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PECKORDER_DATA"))
    parser.add_argument("--set", choices=["100k", "1m"], default="100k")
    given = parser.parse_args()
    load = load_movielens_100k if given.set == "100k" else load_movielens_1m
    try:
        movies = load(given.data)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    title = movies.titles
    # A film nobody has seen is good by chance: twenty ratings are asked for.
    ratings = movies.ratings.filter(min_per_item=20)
    item = {title[i]: i for i in ratings.items.tolist()}

    model = PersonalRanker(random_state=0).fit(ratings)
    for film, stars in STARS.items():
        model.update(ME, item[film], stars)  # a millisecond each

    best = model.recommend(ME, n=12)
    print(f"{'rating':>6}  {'to next':>7}")
    for i, score, gap, above in zip(
        best.items.tolist(), best.scores, best.gaps, best.above_cut, strict=True
    ):
        print(f"{score:6.2f}  {gap:7.2f}  {'*' if above else ' '} {title[i]}")
    print("* above the largest gap of the list\n")

    first = best.items.tolist()[0]
    why = model.explain(ME, first)
    print(f"Why {why.score:.2f} for {title[first]}?")
    print(f"{why.item_mean:+.2f}  what everybody would be expected to give")
    print(f"{why.person:+.2f}  how you rate, compared with others")
    print(f"{why.by_items.sum():+.2f}  your taste. By the films you rated, most of all")
    for i, part in zip(why.items.tolist()[:5], why.by_items, strict=False):
        print(f"         {part:+.3f}  {title[i]} ({STARS[title[i]]})")
    print(f"       The same by viewers, of {len(why.viewers)} who rated it, and factors")
    for viewer, part in zip(why.viewers.tolist()[:3], why.by_viewers, strict=False):
        print(f"         {part:+.3f}  viewer {viewer}")
    rest = why.by_viewers[3:].sum()
    print(f"         {rest:+.3f}  the other viewers together")
    print(f"         {why.by_factors:+.3f}  what everybody's ratings have in common")


if __name__ == "__main__":
    main()
