"""Settings of the experiments of Cortes, Mohri and Rastogi, and what they print."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Config:
    """One preset.

    Widths of the Gaussian kernel are ``gamma`` times the mean squared distance of two
    items, and SVRank's C and epsilon are in standard deviations of the ratings, so
    that one grid serves films and jokes.
    """

    made: bool
    repetitions: int
    reviewers: int
    held_out: int
    dense_repetitions: int
    dense_reviewers: int
    dense_held_out: int
    references: int
    most_rounds: int
    dense_most_rounds: int
    online_reviewers: int
    online_train: int
    online_rounds: int
    sizes: tuple[int, ...]
    left_out_repetitions: int
    left_out_reviewers: int
    gammas: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0)
    Cs: tuple[float, ...] = (1, 3, 10, 30, 100, 300, 1e3, 3e3, 1e4, 3e4, 1e5)
    ridges: tuple[float, ...] = (0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
    svrank_weights: tuple[float, ...] = (
        *(0.1, 1, 3, 10, 30, 100, 300, 1e3, 3e3, 1e4, 3e4, 1e5),
    )
    epsilons: tuple[float, ...] = (0.0, 0.5, 1.0)
    rounds: tuple[int, ...] = (10, 20, 40, 80, 160, 320, 640, 1000, 2000, 3000)


QUICK = Config(
    made=True,
    repetitions=2,
    reviewers=10,
    held_out=5,
    dense_repetitions=2,
    dense_reviewers=6,
    dense_held_out=3,
    references=40,
    most_rounds=80,
    dense_most_rounds=40,
    online_reviewers=2,
    online_train=60,
    online_rounds=120,
    sizes=(40, 80),
    left_out_repetitions=2,
    left_out_reviewers=5,
    gammas=(0.03, 0.3),
    Cs=(10, 100, 1e3, 1e4),
    svrank_weights=(10, 100),
    epsilons=(0.0, 0.5),
)
FULL = Config(
    made=False,
    repetitions=4,
    reviewers=300,
    held_out=40,
    dense_repetitions=4,
    dense_reviewers=100,
    dense_held_out=8,
    references=300,
    most_rounds=1000,
    dense_most_rounds=640,
    online_reviewers=10,
    online_train=700,
    online_rounds=200,
    sizes=(100, 200, 400, 800, 1600, 3200),
    left_out_repetitions=4,
    left_out_reviewers=100,
)
PAPER = Config(
    made=False,
    repetitions=10,
    reviewers=300,
    held_out=300,
    dense_repetitions=10,
    dense_reviewers=300,
    dense_held_out=100,
    references=300,
    most_rounds=3000,
    dense_most_rounds=1000,
    online_reviewers=50,
    online_train=700,
    online_rounds=200,
    sizes=(100, 200, 400, 800, 1600, 3200),
    left_out_repetitions=10,
    left_out_reviewers=300,
)

# Tables 1 and 2: the mean, and the standard deviation over repetitions.
PRINTED_MSD = {
    "MovieLens 20-40": {
        "MPRank": (2.01, 0.02),
        "SVRank": (2.43, 0.13),
        "RankBoost": (12.88, 2.15),
    },
    "MovieLens 40-60": {
        "MPRank": (2.02, 0.06),
        "SVRank": (2.36, 0.16),
        "RankBoost": (20.06, 2.76),
    },
    "MovieLens 60-80": {
        "MPRank": (2.07, 0.05),
        "SVRank": (2.66, 0.09),
        "RankBoost": (21.35, 2.71),
    },
    "Jester 20-40": {
        "MPRank": (51.34, 2.90),
        "SVRank": (55.00, 5.14),
        "RankBoost": (77.08, 17.1),
    },
    "Jester 40-60": {
        "MPRank": (46.77, 2.03),
        "SVRank": (57.75, 5.14),
        "RankBoost": (80.00, 18.2),
    },
    "Jester 60-80": {
        "MPRank": (49.33, 3.11),
        "SVRank": (56.06, 4.26),
        "RankBoost": (88.61, 18.6),
    },
    "Netflix 32%": {
        "MPRank": (1.58, 0.04),
        "SVRank": (1.80, 0.05),
        "RankBoost": (57.5, 7.8),
    },
    "Netflix 46%": {
        "MPRank": (1.55, 0.03),
        "SVRank": (1.90, 0.06),
        "RankBoost": (23.9, 2.9),
    },
    "Netflix 58%": {
        "MPRank": (1.49, 0.03),
        "SVRank": (1.93, 0.06),
        "RankBoost": (12.33, 1.47),
    },
    "Books": {
        "MPRank": (4.00, 3.12),
        "SVRank": (3.64, 3.04),
        "RankBoost": (7.58, 9.95),
    },
}
PRINTED_M1D = {
    "MovieLens 20-40": {
        "MPRank": (1.04, 0.05),
        "SVRank": (1.17, 0.03),
        "RankBoost": (2.59, 0.04),
    },
    "MovieLens 40-60": {
        "MPRank": (1.04, 0.02),
        "SVRank": (1.15, 0.07),
        "RankBoost": (2.99, 0.12),
    },
    "MovieLens 60-80": {
        "MPRank": (1.06, 0.01),
        "SVRank": (1.24, 0.02),
        "RankBoost": (3.82, 0.23),
    },
    "Jester 20-40": {
        "MPRank": (5.08, 0.15),
        "SVRank": (5.40, 0.20),
        "RankBoost": (5.97, 0.16),
    },
    "Jester 40-60": {
        "MPRank": (4.98, 0.13),
        "SVRank": (5.27, 0.20),
        "RankBoost": (6.18, 0.11),
    },
    "Jester 60-80": {
        "MPRank": (4.88, 0.14),
        "SVRank": (5.25, 0.19),
        "RankBoost": (6.46, 0.20),
    },
    "Netflix 32%": {
        "MPRank": (0.92, 0.01),
        "SVRank": (0.95, 0.02),
        "RankBoost": (6.48, 0.55),
    },
    "Netflix 46%": {
        "MPRank": (0.95, 0.01),
        "SVRank": (1.02, 0.02),
        "RankBoost": (4.10, 0.23),
    },
    "Netflix 58%": {
        "MPRank": (0.94, 0.01),
        "SVRank": (1.06, 0.02),
        "RankBoost": (3.01, 0.15),
    },
    "Books": {
        "MPRank": (1.38, 0.60),
        "SVRank": (1.32, 0.56),
        "RankBoost": (1.72, 1.05),
    },
}
PRINTED_MISRANKING = {
    "MovieLens 40-60": {"MPRank": (0.471, 0.005), "RankBoost": (0.476, 0.007)},
    "MovieLens 60-80": {"MPRank": (0.442, 0.005), "RankBoost": (0.463, 0.011)},
    "Jester 20-40": {"MPRank": (0.414, 0.005), "RankBoost": (0.479, 0.008)},
    "Jester 40-60": {"MPRank": (0.418, 0.007), "RankBoost": (0.432, 0.005)},
    "Netflix 32%": {"MPRank": (0.433, 0.018), "RankBoost": (0.447, 0.027)},
    "Netflix 46%": {"MPRank": (0.368, 0.014), "RankBoost": (0.327, 0.008)},
    "Netflix 58%": {"MPRank": (0.295, 0.006), "RankBoost": (0.318, 0.008)},
}
# Figure 1 and the text beside it.
PRINTED_ROUNDS = 120
STOP = 1e-4
