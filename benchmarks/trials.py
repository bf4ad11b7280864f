"""What trials complained of, measured: processor time, and losses over seeds.

    .venv/bin/python benchmarks/trials.py [commands] [people] [ratings] [members]

Processor seconds, all threads, the least of some runs, each a process of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

REPEATS = 7
COMMANDS = (
    ["--version"],
    ["--help"],
    ["compare", "nofile.csv"],
    ["fit", "nofile.csv", "--ranker", "PRank", "-o", "m.peckorder"],
    ["rank", "nofile.peckorder", "rows.csv"],
    ["evaluate", "nofile.csv"],
)
LEARN = """
import json, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from peckorder import MPRank
from peckorder.collaborative import PersonalRanker
from peckorder.datasets import make_ratings
ratings = make_ratings(2000, 800, random_state=0)
model = PersonalRanker(n_factors=20).fit(ratings)
users = ratings.users.tolist()
rng = np.random.default_rng(0)
X = rng.normal(size=(150, 60))
y = X[:, 0] + rng.normal(size=150)
fit = lambda: MPRank(kernel="rbf").fit(X, y)
fit(), model.predict(users[0])
begin = time.process_time()
for user in users[1:]:
    model.predict(user)
middle = time.process_time()
for _ in range(300):
    fit()
print(json.dumps([middle - begin, time.process_time() - middle]))
"""
READ = """
import json, sys, time
path, how = sys.argv[1:]
if how == "without pyarrow":
    sys.modules["pyarrow"] = None
if how == "pandas":
    import pandas
    action = lambda: pandas.read_csv(path)
else:
    from peckorder import Ratings
    action = lambda: Ratings.read_csv(path)
action()
begin = time.process_time()
action()
print(json.dumps([time.process_time() - begin]))
"""


def child(words: list[str], **environment: str) -> tuple[list[float], float]:
    """Run Python; return what it printed as JSON, if it did, and its processor seconds."""
    before = os.times()
    run = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    printed = json.loads(run.stdout) if run.stdout.startswith("[") else []
    return printed, spent


def commands() -> None:
    """Measure commands that have nothing to do."""
    print("\nCommands, processor seconds in all")
    for words in COMMANDS:
        spent = min(child(["-m", "peckorder", *words])[1] for _ in range(REPEATS))
        print(f"peckorder {' '.join(words):<60} {spent:.2f}")


def people() -> None:
    """Measure learning people, with and without one thread asked for."""
    names = ("1,999 people of PersonalRanker", "300 MPRank, 150 rows, kernel 'rbf'")
    print("\nSmall problems, processor seconds")
    cases: dict[str, dict[str, str]] = {
        "no variable": {},
        "OMP_NUM_THREADS=1": {"OMP_NUM_THREADS": "1"},
        "OMP_NUM_THREADS=32": {"OMP_NUM_THREADS": "32"},
    }
    runs = {
        case: [child(["-c", LEARN], **more)[0] for _ in range(3)] for case, more in cases.items()
    }
    for k, name in enumerate(names):
        for case, found in runs.items():
            print(f"{name}, {case:<20} {min(run[k] for run in found):.2f}")


def ratings() -> None:
    """Measure reading a million ratings."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    user, item = np.divmod(rng.choice(6_000 * 4_000, n, replace=False), 4_000)
    cells = np.column_stack([user, item, rng.integers(1, 6, n), rng.integers(10**9, size=n)])
    print("\nA million ratings as CSV, processor seconds")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ratings.csv")
        np.savetxt(path, cells, "%d", ",", header="userId,movieId,rating,timestamp", comments="")
        for how in ("with pyarrow", "without pyarrow", "pandas"):
            least = min(child(["-c", READ, str(path), how])[0][0] for _ in range(3))
            print(f"{how:<20} {least:.2f}")


def members() -> None:
    """Measure ensembles of PRanks over seeds on a table of skewed and of rare columns."""
    from peckorder import AggregatePRank, PRank

    rng = np.random.default_rng(0)
    n, n_train = 24_000, 18_000
    age, school, job = rng.integers(17, 90, n), rng.integers(1, 17, n), rng.integers(0, 12, n)
    gain = np.where(rng.random(n) < 0.08, rng.lognormal(8, 1.2, n), 0)
    height = 0.00375 * school**2 - 0.0012 * (age - 45) ** 2 + 0.5 * rng.normal(size=12)[job]
    height += np.log1p(gain) / 10 + 1.1 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(height, [0.05, 0.2, 0.55, 0.75, 0.92]), height)
    X = np.column_stack([age, school, gain, np.eye(12)[job]])
    X = (X - X[:n_train].mean(axis=0)) / X[:n_train].std(axis=0)

    def loss(model: object) -> float:
        model.fit(X[:n_train], y[:n_train])  # type: ignore[attr-defined]
        return float(np.abs(model.predict(X[n_train:]) - y[n_train:]).mean())  # type: ignore[attr-defined]

    print("\n18,000 rows like a census: mean rank loss on 6,000 others, least and most of 5 seeds")
    for passes in (1, 20):
        losses = [loss(PRank(max_iter=passes, shuffle=True, random_state=s)) for s in range(5)]
        print(f"PRank, {passes} passes: {min(losses):.3f} to {max(losses):.3f}")
        for rule in ("last", "averaged"):
            options = {"member_rule": rule, "max_iter": passes, "shuffle": True}
            losses = [loss(AggregatePRank(**options, random_state=s)) for s in range(5)]
            print(f"member_rule={rule!r}, {passes} passes: {min(losses):.3f} to {max(losses):.3f}")


def main() -> None:
    """Run the parts that are named, or all."""
    parts = {f.__name__: f for f in (commands, people, ratings, members)}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
