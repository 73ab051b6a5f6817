"""Detects a warm-up in the first step of a run by MSER-5.

Source: White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69 (1997): cut
off what makes the mean of the rest least certain. On steady load it cuts nothing in most runs, and some seconds in one
of ten, and more where few requests are slow. So a cut is named only if it changes the mean by more than random errors.
The rule also cuts after a stall in the first half of a step. A warm-up, unlike a stall, is slow from the start.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.tables.aggregate import Windows

MEANS_S: Final = 0.2
"""Seconds of an interval; doubled until each holds a request that was answered as expected."""
BATCH: Final = 5
BIAS: Final = 0.1
"""Share by which the mean of a whole step must differ from that of its settled part to be named."""
SURE: Final = 3.0
"""Standard errors by which they must differ."""
EARLY: Final = 0.25
"""Least `WarmUp.early` of a warm-up; that of simulated stalls is near 0."""

_FEWEST: Final = 10


@dataclass(frozen=True)
class WarmUp:
    """How long the first step took to settle.

    Attributes:
        cut_s: seconds from its start.
        bias: mean response time of all of it over that of the rest, less 1.
        error: standard error of the bias, if there was no warm-up.
        early: excess of the first third of the part cut off over the rest, divided by the excess of the whole part;
            0 where nothing is cut off.
        settled: True if it settled before the middle of the step; otherwise it never was stationary.
    """

    cut_s: float
    bias: float
    error: float
    early: float
    settled: bool

    def sentence(self) -> str:
        """The effect of the warm-up, and what to do; empty if there is none."""
        if abs(self.bias) <= max(BIAS, SURE * self.error) or self.early < EARLY:
            return ""
        if not self.settled:
            return (
                "response times did not settle in the first step (MSER-5): make steps longer, or leave the first "
                "seconds out with sweep --warmup"
            )
        return (
            f"the first {self.cut_s:.0f} s of the first step are a warm-up (MSER-5) and shift its mean response time "
            f"by {100 * self.bias:+.0f} %; sweep --warmup {self.cut_s:.0f}s leaves them out"
        )


def of_first_step(requests: RequestArrays, windows: Windows) -> WarmUp | None:
    """Judge the step that was made first; None if it is too short, or too sparse, to say."""
    step = int(np.argmin(windows.start))
    start, length = int(windows.start[step]), int(windows.length[step])
    chosen = np.flatnonzero((requests.step == step) & requests.good)
    scheduled, response, means_s = requests.scheduled[chosen] - start, requests.response[chosen], MEANS_S
    while (number := int(length / SECOND / means_s) // BATCH * BATCH) >= _FEWEST * BATCH:
        at = scheduled // int(means_s * SECOND)
        inside = at < number
        counts = np.bincount(at[inside], minlength=number)
        if counts.all():
            return judged(np.bincount(at[inside], response[inside], number) / counts, means_s)
        means_s *= 2
    return None


def judged(means: Floats, means_s: float = MEANS_S) -> WarmUp:
    """Apply MSER-5 to the means (n,) of successive intervals of ``means_s`` seconds, n a multiple of `BATCH`."""
    parts = means.reshape(-1, BATCH)
    batches = parts.mean(axis=1)
    number = len(batches)
    counts, last = np.arange(1, number + 1), batches[::-1] - batches[-1]  # equal ones are 0, without rounding
    uncertain = ((last**2).cumsum() - last.cumsum() ** 2 / counts) / counts**2
    cut = int(np.argmin(uncertain[::-1][: number // 2 + 1]))
    rest = max(batches[cut:].mean(), 1e-9)
    error = _error(parts[:cut], batches[cut:]) * cut / number / rest if cut else 0.0
    excess = batches[:cut].mean() - rest if cut else 0.0
    early = float((batches[: max(1, cut // 3)].mean() - rest) / excess) if excess else 0.0
    return WarmUp(cut * BATCH * means_s, float(batches.mean() / rest - 1), error, early, cut < number // 2)


def _error(first: Floats, rest: Floats) -> float:
    """Standard error of the difference of the means of the parts (batches, `BATCH`) cut off and of the other batches.

    A warm-up makes the first batches differ, so their variance comes from within them; it is at least that of the rest.
    """
    variance = rest.var(ddof=1)
    of_first = max(first.var(axis=1, ddof=1).mean() / BATCH, variance)
    return float(np.sqrt(of_first / len(first) + variance / len(rest)))
