"""Fits the demand of each route by the utilization law: the resource used is the sum of demand × rate, and idle use.

Theory of operation. A reading and the requests beside it are up to a second apart, and a request works on after it was
sent: seconds within a step would make every demand too low. So only the means of the steps are fitted, by non-negative
least squares; what differs between them is the design: each step lacks a route. How far the means may be off comes from
the spread of blocks of seconds within the steps, which are drawn again and again (bootstrap).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from logreplay.analysis.costs.readings import StepReadings
from logreplay.analysis.statistics.nonnegative import nonnegative
from logreplay.analysis.statistics.quantiles import Floats

BLOCK_S: Final = 2
"""Readings that are drawn together."""
DRAWS: Final = 1000
_SEPARATE: Final = 0.15
"""Least share of the rate of a route that those of the others do not explain: else its demand is not told apart."""
_TOGETHER: Final = 0.9
"""Correlation of the rates of two routes, from which the routes come together."""
_DRIFT: Final = 3.0
"""Squared misfit of the means, over that of their spread, above which the misfit is taken for the spread."""
LEVEL_PERCENT: Final = (2.5, 97.5)
"""Percentiles of the draws between which a 95 % range lies."""


@dataclass(frozen=True, slots=True)
class RouteDemand:
    """The demand of some routes that are told apart.

    Attributes:
        groups: places of the routes; those that come together are one group.
        seconds: (groups,) demand of a request, seconds of the resource.
        draws: (draws, groups) the same demand, fitted to blocks that were drawn.
        idle: resource used without requests.
        separate: (groups,) whether its rate differs from the others'.
    """

    groups: tuple[tuple[int, ...], ...]
    seconds: Floats
    draws: Floats
    idle: float
    separate: npt.NDArray[np.bool_]

    @property
    def low(self) -> Floats:
        """(groups,) lower ends of the 95 % intervals."""
        return np.asarray(np.percentile(self.draws, LEVEL_PERCENT[0], axis=0))

    @property
    def high(self) -> Floats:
        """(groups,) upper ends."""
        return np.asarray(np.percentile(self.draws, LEVEL_PERCENT[1], axis=0))


def fitted(steps: Sequence[StepReadings]) -> RouteDemand | None:
    """Fit the demand of each route; None: there are fewer than two steps, or no spread is known."""
    if len(steps) < 2:
        return None
    used = np.array([each.used.mean() for each in steps])
    sent = np.array([each.sent.mean(0) for each in steps])
    groups = _told_apart(sent)
    sent = _together(sent, groups)
    level = used + 0.1 * max(float(used.max()), 1e-9)  # the work of random requests varies with its mean
    blocks = np.array([len(each.used) / BLOCK_S for each in steps])
    weight = np.sqrt(blocks / level)
    design = np.column_stack((sent, np.ones(len(steps)))) * weight[:, None]
    (best,) = nonnegative(design, (used * weight)[None])
    spread = _spread(steps, groups, best, level)
    if spread is None:
        return None
    missed = used * weight - design @ best
    freedom = len(steps) - design.shape[1]
    if freedom > 0:
        drift = float(missed @ missed) / freedom / max(float(np.mean(spread**2)), 1e-30)
        spread = spread * np.sqrt(drift if drift > _DRIFT else 1.0)
    drawn = _means(np.random.default_rng(0), spread, np.maximum(blocks.round().astype(int), 1)) * np.sqrt(blocks)
    draws = nonnegative(design, used * weight + drawn)
    return RouteDemand(
        groups=groups, seconds=best[:-1], draws=draws[:, :-1], idle=float(best[-1]),
        separate=_separate(sent) > _SEPARATE,
    )  # fmt: skip


def _spread(
    steps: Sequence[StepReadings], groups: tuple[tuple[int, ...], ...], best: Floats, level: Floats
) -> Floats | None:
    """Use of each block beyond that of its requests, less the mean of its step, over the root of the step's level."""
    rest = []
    for each, scale in zip(steps, np.sqrt(level), strict=True):
        beyond = each.used - _together(each.sent, groups) @ best[:-1]
        whole = beyond[: len(beyond) // BLOCK_S * BLOCK_S].reshape(-1, BLOCK_S).mean(1)
        if len(whole) > 1:
            rest.append((whole - whole.mean()) / scale * np.sqrt(len(whole) / (len(whole) - 1)))
    return np.concatenate(rest) if rest else None


def _together(sent: Floats, groups: Sequence[tuple[int, ...]]) -> Floats:
    """(n, groups) requests/s of the routes of each group together."""
    return np.column_stack([sent[:, list(group)].sum(1) for group in groups])


def _means(chance: np.random.Generator, spread: Floats, blocks: npt.NDArray[np.int_]) -> Floats:
    """(draws, steps) means of so many blocks, drawn with replacement."""
    return np.column_stack([chance.choice(spread, (DRAWS, count)).mean(1) for count in blocks])


def _separate(sent: Floats) -> Floats:
    """(routes,) share of each rate that those of the others and a constant do not explain, 0 to 1."""
    found = []
    for place in range(sent.shape[1]):
        own: Floats = sent[:, place]
        others: Floats = np.column_stack((np.delete(sent, place, 1), np.ones(len(sent))))
        if len(sent) <= others.shape[1]:
            found.append(0.0)
            continue
        rest = own - others @ (np.linalg.pinv(others) @ own)
        found.append(float(np.linalg.norm(rest)) / max(float(np.linalg.norm(own)), 1e-12))
    return np.array(found)


def _told_apart(sent: Floats) -> tuple[tuple[int, ...], ...]:
    """Group the routes that come together: the most alike of those that are not separate, until none are alike."""
    groups: list[tuple[int, ...]] = [(place,) for place in range(sent.shape[1])]
    while len(groups) > 1:
        rates = _together(sent, groups)
        mixed = np.flatnonzero(_separate(rates) <= _SEPARATE)
        pairs = [
            (_alike(rates[:, one], rates[:, other]), int(one), int(other))
            for index, one in enumerate(mixed)
            for other in mixed[index + 1 :]
        ]
        if not pairs or max(pairs)[0] < _TOGETHER:
            break
        _, one, other = max(pairs)
        merged = tuple(sorted((*groups[one], *groups[other])))
        groups = [group for place, group in enumerate(groups) if place not in (one, other)] + [merged]
    return tuple(sorted(groups))


def _alike(one: Floats, other: Floats) -> float:
    """Correlation of two rates over the steps; 1 where neither changes."""
    apart = [rate - rate.mean() for rate in (one, other)]
    sizes = [float(np.linalg.norm(rate)) for rate in apart]
    if min(sizes) < 1e-9:
        return 1.0 if max(sizes) < 1e-9 else 0.0
    return float(apart[0] @ apart[1]) / (sizes[0] * sizes[1])
