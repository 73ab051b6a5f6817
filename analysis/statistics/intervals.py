"""The interval of the number of rare hits, and the share of hits in several runs."""

import math
from collections.abc import Sequence

from logreplay.analysis.statistics.quantiles import Ints


def expected_hits(hits: float, z: float) -> tuple[float, float]:
    """Return the interval of the expected number of rare, independent hits.

    Args:
        hits: number seen; a number of clusters need not be whole.
        z: standard deviations on each side. Unlike Wilson's interval of a share, it also holds for one or two hits.

    Source: the likelihood ratio of a Poisson distribution.
    """

    def edge(inside: float, outside: float) -> float:
        for _ in range(60):
            middle = (inside + outside) / 2
            ratio = 2 * ((hits * math.log(hits / middle) if hits else 0.0) - hits + middle)
            inside, outside = (middle, outside) if ratio <= z * z else (inside, middle)
        return inside

    return edge(hits, 1e-12) if hits else 0.0, edge(hits, hits + z * z + 3 * z * math.sqrt(hits + 1))


def share_of(series: Sequence[tuple[Ints, Ints]]) -> float:
    """Return the share of hits, of (s,) requests and (s,) hits of each run or trial; 0 for no requests."""
    number = sum(int(counts.sum()) for counts, _ in series)
    return sum(int(hits.sum()) for _, hits in series) / number if number else 0.0
