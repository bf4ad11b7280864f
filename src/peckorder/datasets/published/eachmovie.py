"""EachMovie: votes for movies, 1996 to 1997."""

from dataclasses import replace

from sklearn.utils import Bunch

from peckorder._core.errors import caller, entry, named
from peckorder.datasets.fetching.folders import (
    DataFile,
    Folder,
    find,
    read_lines,
    refuse_line,
    require,
)
from peckorder.datasets.fetching.publishers import PUBLISHED, check_facts
from peckorder.feedback import CsvForm, Ratings, read_rows

_EACHMOVIE = PUBLISHED["eachmovie"]
_SCALE = (0.0, 1.0)
_VOTES = CsvForm(user=0, item=1, rating=2, header=False, sep="\t", scale=_SCALE)


@entry
def load_eachmovie(folder: Folder = None) -> Bunch:
    r"""Read EachMovie: 2,811,983 votes for 1,628 movies, from 0 to 1 in steps of 0.2.

    Parameters
    ----------
    folder : path, default=None
        Where ``eachmovie`` is, or its files, of which `vote.txt` is needed: person,
        movie, score, weight and date between tabs; `movie.txt` and `person.txt` are
        read if they are there. Also as `Vote.txt` and so on, and with ``.gz``. None:
        PECKORDER_DATA, then the cache.

    Returns
    -------
    bunch : Bunch
        `ratings`, a `Ratings` of scores; `weights`, another one of the weights of the
        same votes, which are less than 1 for movies that a person had not seen; the
        `scale`, 0 to 1; `titles`, a dict from movies to titles; `people`, a dict from
        persons to texts: age, gender and zip code, empty where they are not known. If a
        person voted for a movie again the last vote counts.

    Raises
    ------
    MissingDataError
        If no file is found, with what to get and where to put it.
    DataError
        For the first malformed line, with its number.

    Warns
    -----
    UserWarning
        If the files are not the whole published set.

    Examples
    --------
    >>> import tempfile, pathlib, warnings
    >>> from peckorder.datasets import load_eachmovie
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # two votes are not the whole set
    ...     votes = "1\t7\t0.8\t1\t8/1/96 00:00:00\n2\t7\t0\t.2\t8/2/96 00:00:00\n"
    ...     _ = (pathlib.Path(folder) / "vote.txt").write_text(votes)
    ...     movies = load_eachmovie(folder)
    >>> movies.ratings.matrix().tolist(), movies.weights.matrix().tolist()
    ([[0.8], [0.0]], [[1.0], [0.2]])
    """
    file = require(_EACHMOVIE, ("vote.txt", "Vote.txt"), folder)
    columns = []
    for column in (2, 3):
        with file.open() as stream, named(f"{caller()}, {file.name}"):
            columns.append(read_rows(stream, replace(_VOTES, rating=column)))
    check_facts(file.name, _EACHMOVIE.facts, {"votes": len(columns[0].value)})
    ratings, weights = (Ratings.from_rows(rows, "last") for rows in columns)
    titles = find(_EACHMOVIE, ("movie.txt", "Movie.txt"), folder)
    people = find(_EACHMOVIE, ("person.txt", "Person.txt"), folder)
    return Bunch(
        ratings=ratings,
        weights=weights,
        scale=_SCALE,
        titles={movie: fields[0] for movie, fields in _table(titles, 1).items()},
        people={person: tuple(fields[:3]) for person, fields in _table(people, 3).items()},
    )


def _table(file: DataFile | None, n_fields: int) -> dict[int, list[str]]:
    """Return the fields of each line by its number, at least so many."""
    table: dict[int, list[str]] = {}
    if file is None:
        return table
    for number, line in read_lines(file, "latin-1"):
        if not line.strip():
            continue
        key, *fields = line.split("\t")
        if not key.isdecimal() or len(fields) < n_fields:
            refuse_line(file, number, f"a number and {n_fields} or more fields after tabs", line)
        table[int(key)] = fields
    return table
