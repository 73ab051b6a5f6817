"""The exact sign test, and Holm's correction for many tests at once."""

from collections.abc import Sequence

import numpy as np


def sign_test(more: int, fewer: int) -> float:
    """Return how likely at least ``more`` of ``more + fewer`` signs are plus, where both signs are as likely.

    Of pairs of yes and no it is McNemar's exact test, one-sided: ``more`` pairs say yes and no, ``fewer`` no and yes.
    """
    number = more + fewer
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, number + 1)))])
    hits = np.arange(more, number + 1)
    logs = factorials[number] - factorials[hits] - factorials[number - hits] - number * np.log(2)
    return min(1.0, float(np.exp(logs).sum()))


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number: below 0.01, at most one run in a hundred has a false one.

    Source: Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, highest = [0.0] * len(values), 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, values[at] * (len(values) - rank)))
        corrected[at] = highest
    return corrected
