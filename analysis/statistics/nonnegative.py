"""Non-negative least squares for many right-hand sides at once."""

from itertools import combinations

import numpy as np

from logreplay.analysis.statistics.quantiles import Floats


def nonnegative(design: Floats, values: Floats) -> Floats:
    """Return the coefficients (n, k) of at least 0 with which a design (m, k) fits each row of values (n, m) best.

    The best fit is a free fit of some of the columns with all others at 0. With up to seven columns all 128 choices are
    tried at once for all rows, in place of an active set for each row.
    """
    rows, columns = design.shape
    best = np.zeros((len(values), columns))
    least = np.einsum("nm,nm->n", values, values)
    for size in range(1, min(rows, columns) + 1):
        for chosen in combinations(range(columns), size):
            part = design[:, chosen]
            found = values @ np.linalg.pinv(part).T
            rest = values - found @ part.T
            squares = np.where((found >= 0).all(1), np.einsum("nm,nm->n", rest, rest), np.inf)
            better = squares < least
            best[better] = 0
            best[np.ix_(better, chosen)] = found[better]
            least = np.minimum(least, squares)
    return best
