"""The target of an autoscaler: the load per pod at which new pods serve before the old ones are overloaded.

A horizontal autoscaler asks for so many pods that each gets the target, and does nothing within a tenth of it. Until
new pods serve, a reaction time passes: the window of the metric, the period of the controller, the start of a pod. So
the pods that the load of now asks for must carry the load of then.

Source: Kubernetes, "Horizontal Pod Autoscaling": desired = ceil(current × metric / target), tolerance 0.1, sync period
15 s, and for scaling down the most of the last 300 s.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.analysis.statistics.quantiles import Floats, Ints

SYNC_S: Final = 15
TOLERANCE: Final = 0.1
STABILIZATION_S: Final = 300
WINDOW_S: Final = 60
"""The window of the metric."""
_BINS: Final = WINDOW_S // SYNC_S
_LONGEST_S: Final = 366 * 86_400
_CHANCE: Final = 2.5
"""Standard deviations of the number of requests in a period that may be chance."""
_MOST_LEAST: Final = 200
"""Least numbers of pods that are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingTarget:
    """The settings of an autoscaler, and their effect on the traffic of the log.

    Attributes:
        rate: requests/s per pod.
        concurrency: requests in flight per pod; None: response times are unknown.
        least, most: pods.
        mean: pods, over the log.
        rise: the factor by which the load rises at most within the reaction time, where the least pods do not carry it.
        at: the second since 1970 in which this rise ends; None: the least pods carry everything up to ``beyond``.
        reaction: seconds.
        beyond: the highest load of a period that the most pods do not carry, requests/s; 0: they carry all.
    """

    rate: float
    concurrency: float | None
    least: int
    most: int
    mean: float
    rise: float
    at: int | None
    reaction: float
    beyond: float = 0.0


def scaling_target(
    seconds: Ints,
    counts: Ints,
    *,
    factor: float,
    carries: float,
    mean: float | None,
    reaction: float,
    most: int,
    survive: int = 0,
) -> ScalingTarget | None:
    """The target with the fewest pods on average that carries a log; None if its last year is too short.

    It asks for all pods before a burst that they do not carry.

    Args:
        seconds, counts: requests in each second with a request.
        factor: factor of growth of the demand.
        carries: rate of one pod within the bound, without its headroom, requests/s.
        mean: its mean response time near that rate, seconds.
        reaction: seconds from a rise until new pods serve.
        most: pods that carry the busiest minute, with those that may be lost.
        survive: pods that may be lost while the others carry the load.
    """
    seconds, counts = newest(seconds, counts)
    load = _load(seconds, counts) * factor
    ahead = math.ceil(reaction / SYNC_S) + 1  # the controller decides up to a period after the metric
    if len(load) <= ahead + 1:
        return None
    carried = _carried(seconds, counts) * factor
    now, then = load[:-ahead], np.maximum(carried[ahead:], carried[ahead - 1 : -1])
    highest, carried_most = float(then.max()), (most - survive) * carries
    needed = np.minimum(then, carried_most) / carries + survive
    seen = _most_of_last(now)
    numbers = np.linspace(1 + survive, most, min(most - survive, _MOST_LEAST))  # the last one carries all
    tried = np.unique(numbers.astype(np.int64)).tolist()
    found = [each for least in tried if (each := _with_least(seen, needed, carries, least, most))]
    target, least, pods, at = min(found, key=lambda each: (each[2], each[1]))
    return ScalingTarget(
        rate=target,
        concurrency=None if mean is None else target * mean,
        least=least,
        most=max(most, least),
        mean=pods,
        rise=1.0 if at is None else max(float(then[at] / seen[at]), 1.0),
        at=None if at is None else int(seconds[0]) + WINDOW_S + (at + ahead) * SYNC_S,
        reaction=reaction,
        beyond=highest if highest > carried_most else 0.0,
    )


def pods_over(seconds: Ints, counts: Ints, target: ScalingTarget, factor: float, begin: int, length: int) -> Ints:
    """The pods that serve in each second of a part of the log: those that were asked for a reaction time before."""
    seconds, counts = newest(seconds, counts)
    load = _load(seconds, counts) * factor
    seen = _most_of_last(load)
    asked = np.clip(np.ceil(seen / target.rate - 1e-9), target.least, target.most).astype(np.int64)
    at = (
        begin + np.arange(length) - int(seconds[0]) - WINDOW_S - math.ceil(target.reaction / SYNC_S) * SYNC_S
    ) // SYNC_S
    served = asked[np.clip(at, 0, len(asked) - 1)]
    return np.asarray(np.where(at < 0, asked[0], served))


def shortest(reaction: float) -> int:
    """Seconds of the shortest log that has a target, for a reaction time in seconds."""
    return SYNC_S * (math.ceil(reaction / SYNC_S) + 1 + _BINS) + 1


def newest(seconds: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """The last year of a log: older requests need memory, and tell nothing of the next rise."""
    kept = seconds > seconds[-1] - _LONGEST_S
    return seconds[kept], counts[kept]


def _load(seconds: Ints, counts: Ints) -> Floats:
    """Requests/s of the last window, each period of the controller."""
    bins = np.bincount((seconds - seconds[0]) // SYNC_S, counts)
    if len(bins) < _BINS:
        return np.zeros(0)
    return np.asarray(np.convolve(bins, np.ones(_BINS), "valid") / WINDOW_S)


def _carried(seconds: Ints, counts: Ints) -> Floats:
    """Requests/s that pods carry at the end of each window: its mean, or that of its last period where it rises.

    The requests of the last period that may be chance do not count.
    """
    bins = np.bincount((seconds - seconds[0]) // SYNC_S, counts)[_BINS - 1 :]
    return np.maximum(_load(seconds, counts), (bins - _CHANCE * np.sqrt(bins)) / SYNC_S)


def _most_of_last(load: Floats) -> Floats:
    """The most of the last periods for which a load is remembered before pods stop, at each."""
    periods = STABILIZATION_S // SYNC_S
    padded = np.concatenate((np.full(periods - 1, -math.inf), load))
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, periods).max(axis=1))


def _with_least(
    seen: Floats, needed: Floats, carries: float, least: int, most: int
) -> tuple[float, int, float, int | None] | None:
    """Target, least pods, pods on average, and the place of the rise that decides; None if no target carries it."""
    whole = carries / (1 + TOLERANCE)
    beyond = np.flatnonzero(needed > least * (1 + 1e-9))
    if not len(beyond):
        return whole, least, float(least), None
    allowed = seen[beyond] / needed[beyond] / (1 + TOLERANCE)
    at = int(np.argmin(allowed))
    target = min(float(allowed[at]), whole)
    if target <= 0:
        return None
    pods = np.clip(np.ceil(seen / target - 1e-9), least, most)
    return target, least, float(pods.mean()), int(beyond[at])
