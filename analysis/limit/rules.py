"""Applies the rules on a backlog in their order; the first that holds names the limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.analysis.format_time import show_rate
from logreplay.analysis.limit import order, places, rhythm, sentences
from logreplay.analysis.limit.carried import LoadFigures, carried, undisturbed
from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.limit.order import Likeness, likeness
from logreplay.analysis.limit.places import MOST_PLACES, Arrivals
from logreplay.analysis.limit.sentences import PROCESSORS_AND_POOLS, TargetLimit, cannot_tell
from logreplay.analysis.statistics.quantiles import Floats, Ints

FALLEN: Final = 0.65
"""Throughput in overload over the best throughput, below which it has collapsed; noisy neighbours leave 0.75."""
CHANGED: Final = 0.1
PARTLY: Final = 0.12
"""Excess of the throughput while requests come over that of the rest, above which one back end drains alone."""
PACED: Final = 0.7
SEVERAL: Final = 1.6
YOUNG: Final = 0.3
"""Mean place in the queue of the requests that leave: 0 to 0.08 in order of arrival, 0.21 to 0.5 if all share."""
OF_QUEUES: Final = (0.06, 0.35)
SHARED_BETTER: Final = 2.5
SPLIT_BETTER: Final = 2.0
PASSED: Final = 0.25
"""Share of slow requests that others overtake, above which long requests, and not pauses, hold all workers."""
BATCHED: Final = 1.3
"""Requests worked on at once over the size of a batch: 1.6 for batches, 1 for workers that keep step."""
WAITED: Final = 0.12
"""Standard deviation of the times at an idle target over the interval of batches: 0.16 and more for batches, since
requests come at any moment of one; below 0.03 for workers that keep step."""
EVEN: Final = 0.35
POOR: Final = 2.6
"""Chi-square per group of requests, above which no number of places fits."""
INNER: Final = 0.6
SLOWER: Final = 1.12
NEAR: Final = 0.85
DELAYED: Final = 0.15
"""Correlation of a request's time with the number of later ones: 0.28 to 0.67 if all share, otherwise up to 0.08."""
SURELY: Final = 6.0
IN_STEP: Final = 0.08
"""Evenness of as many completions as there are workers, below which the workers keep step."""
OLDEST_LAST: Final = 0.75
ROUTE_LEAST: Final = 0.05
"""Smallest share of the requests of a route that is judged by itself."""
ROUTE_SLOWER: Final = 4.0
"""A route slows down if its median is this many times its median at the lowest rates, …"""
AS_FAST: Final = 2.0
"""… and another does not if its median stays below this many times its own at the lowest rates, …"""
SMALL: Final = 0.25
"""… and its median grows by less than this share of the growth of the slow one: all wait alike in one queue."""
ROUTE_FEWEST: Final = 20
EVENLY: Final = "requests that come evenly leave evenly, from workers and from a lock; sweep with --arrivals poisson"


@dataclass(frozen=True)
class Fits:
    """How well each number of places explains the times below saturation.

    Attributes:
        of: chi-square by number of places, first come first served.
        groups: numbers in flight that were compared.
        shared, split: chi-square of processors that all share; of a queue for each place.
    """

    of: dict[int, float]
    groups: int
    shared: float
    split: float

    @property
    def best(self) -> float:
        """The smallest chi-square of places with one queue."""
        return min(self.of.values())

    @property
    def accepted(self) -> list[int]:
        """The numbers of places that fit about as well as the best."""
        return [number for number, misfit in self.of.items() if misfit - self.best < 12 + self.best / 2]

    @property
    def poor(self) -> bool:
        """Whether no number of places fits."""
        return self.best > POOR * max(self.groups, 1)


def decide(
    seen: Observations, low: Ints, stable: Ints, overloaded: Sequence[int], routes: Sequence[str] = ()
) -> TargetLimit:
    """Name the limit of a target that falls behind, by its symptoms; without names of routes they count together."""
    if routes and (slow := slow_routes(seen, stable, overloaded)):
        own = decide(seen.only(np.isin(seen.route, slow)), low, stable, overloaded)
        return sentences.route(" and ".join(routes[index] for index in slow), own)
    good = {step: seen.answered(step) for step in (*stable.tolist(), *overloaded)}
    most, last = max(good.values(), default=0.0), [good[step] for step in overloaded[-2:]]
    if len(last) > 1 and 0 < max(last) < FALLEN * most:
        return sentences.retrograde(most, max(last))
    guess = float(np.median([good[step] for step in overloaded])) if len(overloaded) else 0.0
    found = carried(seen, low, overloaded, guess) if guess else None
    if found is None:
        return cannot_tell("too few requests found the target idle, or waited: add lower rates, or use longer steps")
    service_s, rates = found.service_s, [each.rate for each in found.backlogs]
    if max(rates) > (1 + CHANGED) * min(rates):
        return cannot_tell(
            f"the target carried {show_rate(min(rates), 4)}/s and {show_rate(max(rates), 4)}/s in overload: its "
            "capacity changed",
            "other load on its machine",
            service_s=service_s,
        )
    if good[found.backlogs[-1].step] > (1 + PARTLY) * rates[-1]:
        return cannot_tell(
            "some requests leave long after the others: a part of the target is at its limit, and the rest is not",
            "each of its parts",
            service_s=service_s,
        )
    if found.at_once < PACED:
        return sentences.paced(found.rate, service_s)
    return _of_rhythm(seen, stable, found) or _of_places(seen, stable, found)


def _of_rhythm(seen: Observations, stable: Ints, found: LoadFigures) -> TargetLimit | None:
    """Name a batch or pauses as the limit; None if there are neither."""
    gaps = rhythm.gaps(found.backlogs)
    if size := rhythm.batch(gaps, found.rate):
        waited = found.variation * found.service_s * found.rate / size
        if found.at_once < BATCHED * size or waited < WAITED:
            return cannot_tell(
                f"about {size:.0f} responses leave at once: batches, or so many workers that keep step",
                service_s=found.service_s,
            )
        return sentences.batch(size, found.service_s)
    paused = rhythm.pauses(gaps, found)
    if paused and found.at_once > SEVERAL and order.passed(seen, stable, paused.length_s) < PASSED:
        return sentences.pauses(paused.number, paused.length_s, paused.every_s, paused.share)
    return None


def fits(arrivals: Arrivals, found: LoadFigures) -> Fits:
    """Replay the arrivals through each number of places."""
    number, start, draws = max(round(found.at_once), 1), arrivals.start, arrivals.draws
    most = int(2 * found.at_once) + 6
    tried = {
        each: arrivals.misfit(places.in_order(start, draws, each, min(each / found.at_once, 1.0)), most)
        for each in places.numbers(number)
    }
    shared, _ = arrivals.misfit(places.shared(start, draws, found.at_once), most)
    split, _ = arrivals.misfit(places.apart(start, draws, number), most)
    return Fits({each: misfit for each, (misfit, _) in tried.items()}, max(n for _, n in tried.values()), shared, split)


def _of_places(seen: Observations, stable: Ints, found: LoadFigures) -> TargetLimit:
    """Name workers, shared processors, a part inside, or a queue per worker as the limit."""
    number, (low, high), service_s = found.at_once, found.interval, found.service_s
    if number > MOST_PLACES:
        return cannot_tell(
            f"the target holds {number:.0f} requests when it is just busy", PROCESSORS_AND_POOLS, service_s=service_s
        )
    steps, warm = [*stable.tolist(), *(each.step for each in found.backlogs)], float(seen.start[found.rows[0]])
    arrivals = Arrivals.of(seen, steps, found.alone, warm)
    fit, young = fits(arrivals, found), order.rank(seen, found.backlogs)
    beat = rhythm.dips(rhythm.gaps(found.backlogs), int(4 * high) + 2) if found.variation < EVEN else None
    like = likeness(arrivals, found.backlogs[-1], max(round(number), 1))
    if _shares(seen, stable, found, fit, young, like):
        return _of_sharing(seen, found, beat)
    if number > SEVERAL and SPLIT_BETTER * fit.split < fit.best and OF_QUEUES[0] <= young <= OF_QUEUES[1]:
        return sentences.split(number, low, high, service_s, found.rate)
    if beat and NEAR * number <= beat <= SLOWER * high and not like.overtaking:
        return sentences.workers(beat, min(low, beat), max(high, beat), service_s, found.rate)
    if beat and beat > SLOWER * high:
        return sentences.slowed(beat, number, low, high, service_s)
    if not arrivals.random:
        return cannot_tell(EVENLY, service_s=service_s)
    if beat and beat <= INNER * number and (beat in fit.accepted or fit.poor):
        return sentences.inner(beat, found.rate, number, service_s, exact=True)
    return _of_fit(fit, found, like)


def _shares(seen: Observations, stable: Ints, found: LoadFigures, fit: Fits, young: float, like: Likeness) -> bool:
    """Whether later requests slow earlier ones."""
    slowed, z = order.delayed_by_later(seen, stable, found.at_once, found.service_s)
    if slowed > DELAYED and z > SURELY:
        return True
    better = fit.shared < min(fit.best, fit.split)
    if found.variation < EVEN or not better or young > OLDEST_LAST:  # where times are even, a delay would have shown
        return False
    return young > YOUNG or (like.overtaking and SHARED_BETTER * fit.shared < fit.best)


def _of_sharing(seen: Observations, found: LoadFigures, beat: int | None) -> TargetLimit:
    """Name processors that all requests share, or that a known number of workers shares."""
    service_s = undisturbed(seen, found)
    number = found.rate * service_s
    low, high = (end * number / found.at_once for end in found.interval)
    if beat and beat > SLOWER * high:
        return sentences.slowed(beat, number, low, high, service_s)
    return sentences.sharing(number, low, high, service_s)


def _of_fit(fit: Fits, found: LoadFigures, like: Likeness) -> TargetLimit:
    """Name workers or a part inside, by the order in which requests leave and the numbers of places that fit."""
    number, (low, high), service_s = found.at_once, found.interval, found.service_s
    fewest, most = min(fit.accepted), max(fit.accepted)
    reaches = most >= low or most == max(fit.of)
    in_step = 2 * found.variation**2 * number < IN_STEP  # then workers would keep time, which was not seen
    if like.alike and reaches and not in_step:
        return sentences.workers(number, low, high, service_s, found.rate)
    if fit.poor:
        return cannot_tell("response times fit no number of workers", PROCESSORS_AND_POOLS, service_s=service_s)
    not_shared = found.variation < EVEN or fit.shared > fit.best
    if not like.alike and not like.overtaking and most <= INNER * number and not_shared:
        return sentences.inner(most, found.rate, number, service_s, exact=False)
    both = "requests leave unlike those of workers"
    if reaches and fewest < number:
        both = f"the rows fit {sentences.count(number)} workers and a part inside that {fewest} at a time pass alike"
    return cannot_tell(both, PROCESSORS_AND_POOLS, service_s=service_s)


def slow_routes(seen: Observations, stable: Ints, overloaded: Sequence[int]) -> list[int]:
    """Return the indices of the routes that slow down while another does not; empty where all do, or none."""
    share = np.bincount(seen.route) / max(len(seen.route), 1)
    large = np.flatnonzero(share >= ROUTE_LEAST)
    if len(large) < 2:
        return []
    calm, busy = (
        np.array([_medians(seen, route, steps) for route in large.tolist()]) for steps in (stable, overloaded)
    )
    low = np.nanmin(calm, axis=1, initial=np.inf, where=~np.isnan(calm))
    high = np.nanmax(busy, axis=1, initial=0.0, where=~np.isnan(busy))
    grown = high - low
    slow = (high > ROUTE_SLOWER * low) & np.isfinite(low)
    if not slow.any():
        return []
    fast = (high < AS_FAST * low) & (high > 0) & np.isfinite(low) & (grown < SMALL * grown[slow].min())
    return large[slow].tolist() if fast.any() else []


def _medians(seen: Observations, route: int, steps: "Sequence[int] | Ints") -> Floats:
    """(steps,) median time of a route in each step; NaN where it has few requests."""
    own = (seen.route == route) & seen.good
    of_steps = (seen.took[own & (seen.step == step)] for step in steps)
    return np.array([np.median(times) if len(times) >= ROUTE_FEWEST else np.nan for times in of_steps])
