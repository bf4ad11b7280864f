"""Read the ordinal benchmark tables; the last column is the target unless noted.

Regression targets are cut into five grades of equal frequency. Categorical columns
become indicators, missing numbers the column's median.
"""

import io
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.io import arff

# name: (file, has a header, target column, order of the classes or number of grades)
TABLES = {
    "ERA": ("ERA.csv", True, "out1", None),
    "ESL": ("ESL.csv", True, "out1", None),
    "LEV": ("LEV.csv", True, "Out1", None),
    "SWD": ("SWD.csv", True, "Out1", None),
    "balance-scale": ("balance-scale.data", False, 0, ["L", "B", "R"]),
    "car": ("car-evaluation.csv", True, "out1", None),
    "eucalyptus": (
        "dataset_194_eucalyptus.csv",
        True,
        "Utility",
        ["none", "low", "average", "good", "best"],
    ),
    "new-thyroid": ("new-thyroid.csv", False, 5, [3, 1, 2]),
    "wine-red": ("winequality-red.csv", True, "quality", None),
    "abalone": ("abalone.data", False, 8, 5),
    "bank": ("bank.csv", True, "out1", 5),
    "housing": ("housing.arff", None, None, 5),
    "machine-cpu": ("machine.cpu.arff", None, None, 5),
    "pyrim": ("pyrim.arff", None, None, 5),
    "stock": ("dataset_2209_stock.csv", True, "out1", 5),
}


def load(folder: Path, name: str, n_grades: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return features and levels 0..k-1; of a regression table `n_grades` levels."""
    file, header, target, order = TABLES[name]
    if file.endswith(".arff"):
        # SciPy reads no quoted names; the tables need none.
        text = (folder / file).read_text().replace("'", "")
        frame = pd.DataFrame(arff.loadarff(io.StringIO(text))[0])
        target = frame.columns[-1]
    else:
        frame = pd.read_csv(
            folder / file, header=0 if header else None, skip_blank_lines=True, na_values=["?"]
        )
    frame = frame.dropna(subset=[target])
    y = frame.pop(target)
    numbers = frame.apply(lambda c: c.fillna(c.median()) if c.dtype.kind in "if" else c)
    X = pd.get_dummies(numbers).to_numpy(dtype=float)
    if isinstance(order, int):
        grades = pd.qcut(y, n_grades or order, labels=False, duplicates="drop")
        return X, grades.to_numpy()
    if order is not None:
        return X, y.map({label: i for i, label in enumerate(order)}).to_numpy()
    return X, np.unique(y, return_inverse=True)[1]
