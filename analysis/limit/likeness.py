"""Compares the order and spacing of completions with those of workers that share one queue.

Response times by number in flight fit many numbers of places. The completions show more. Behind a lock, they are as
even as the times for which the lock is held. Where only some requests need a pool, the others overtake them.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.analysis.limit.carried import Backlog
from logreplay.analysis.limit.order import overtaken
from logreplay.analysis.limit.places import Arrivals, Model
from logreplay.analysis.limit.rhythm import steadiness
from logreplay.analysis.statistics.quantiles import Floats

OVERTAKEN: Final = (0.14, 0.03)
"""Share, and number, by which the count of older requests in flight may differ; of workers it differs by a tenth."""
EVENNESS: Final = 1.3
"""Factor by which variances may differ; those of workers differ by up to a quarter, those of a lock by half or more."""
LEAST_VARIANCE: Final = 0.01
MOST: Final = 400
"""Most requests in flight, the youngest, that are compared."""


@dataclass(frozen=True)
class Likeness:
    """Figures of the completions, each as seen and as modelled with workers.

    Attributes:
        overtaken: older requests in flight as one leaves, on average: seen, and modelled.
        evenness: variance of the time of as many completions as there are workers, and twice as many, over that of
            random ones: seen, and modelled.
    """

    overtaken: tuple[float, float]
    evenness: tuple[tuple[float, float], ...]

    @property
    def alike(self) -> bool:
        """Whether requests leave as from workers with one queue."""
        seen, modelled = self.overtaken
        share, number = OVERTAKEN
        if abs(seen - modelled) > share * max(seen, modelled) + number:
            return False
        pairs = [(seen + LEAST_VARIANCE, modelled + LEAST_VARIANCE) for seen, modelled in self.evenness]
        return all(max(pair) <= EVENNESS * min(pair) for pair in pairs)

    @property
    def overtaking(self) -> bool:
        """Whether requests overtake others far more than those of workers do."""
        seen, modelled = self.overtaken
        return seen > 1.5 * modelled + 0.1


def likeness(arrivals: Arrivals, spell: Backlog, places: int, model: Model) -> Likeness:
    """Compare what left with a model.

    Args:
        arrivals: with those of the backlog.
        spell: the backlog in which the evenness is looked at.
        places: number of places of the model.
        model: gives the times of its requests.
    """
    start = arrivals.start
    seen, modelled = start + np.exp(arrivals.log_took), start + model(start, arrivals.draws)
    until = float(start[start <= spell.stop].max(initial=spell.begin))
    older = tuple(overtaken(start, end, MOST) for end in (seen, modelled))
    gaps = [_gaps(end, spell.begin, until) for end in (seen, modelled)]
    even = tuple((steadiness([gaps[0]], count), steadiness([gaps[1]], count)) for count in (places, 2 * places))
    return Likeness((older[0], older[1]), even)


def _gaps(ends: Floats, begin: float, until: float) -> Floats:
    return np.diff(np.sort(ends[(ends > begin) & (ends <= until)]))
