"""Finds outages: seconds in which a target that answers before and after answers nothing as expected.

An outage is independent of the rate at which it happened, unless it comes again at each rate from there on: then
the target crashes under load.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.analysis.input.arrays import RequestArrays, name_kinds
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.statistics.quantiles import Ints
from logreplay.analysis.statistics.slices import slices

DEAD: Final = 0.9
"""Share of the requests of a second that fail in an outage."""

WAIT_S: Final = 0.1

FEWEST: Final = 20
"""Fewest failed requests in a row that are an outage; a shorter row may be random failures."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A span of time without one response as expected.

    Attributes:
        start: microseconds since the start of the run, of the first failed request.
        stop: likewise, of the last one.
        steps: indices of the steps it touches.
        text: length, kind and time of the outage: ``6 s of 502 at 14:03:07 UTC``.
        waited: True if its requests failed after `WAIT_S` or more, as with time-outs.
        in_flight: requests in flight just before it; None of one that ended.
    """

    start: int
    stop: int
    steps: tuple[int, ...]
    text: str
    waited: bool
    in_flight: int | None = None


def outages(requests: RequestArrays) -> list[Outage]:
    """Return the outages of a run, in time; none where all requests failed, or none did."""
    if requests.good.all() or not requests.good.any():
        return []
    number = int(requests.scheduled.max()) // SECOND + 1
    counts, failed = np.zeros((2, number), np.int64)
    for rows in slices(len(requests)):
        part = requests.take(rows)
        second = part.scheduled // SECOND
        counts += np.bincount(second[part.sent], minlength=number)
        failed += np.bincount(second[part.sent & part.failed], minlength=number)
    used = np.flatnonzero(counts)  # a pause between steps divides no outage
    dead = failed[used] >= DEAD * counts[used]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], dead, [False])).astype(np.int8)))
    spans = [
        used[[max(first - 1, 0), first, stop - 1, min(stop, len(used) - 1)]] for first, stop in edges.reshape(-1, 2)
    ]
    last_good = int(requests.scheduled[requests.good].max())
    return [_outage(requests, span, last_good) for span in spans if failed[span[1] : span[2] + 1].sum() >= FEWEST]


def _outage(requests: RequestArrays, span: Ints, last_good: int) -> Outage:
    """The outage that fills some seconds, and parts of the ones beside them; the four are its span."""
    left, first, last, right = (span * SECOND).tolist()
    near = np.flatnonzero((requests.scheduled >= left) & (requests.scheduled < right + SECOND))
    at, good, bad = requests.scheduled[near], requests.good[near], (requests.failed & requests.sent)[near]
    before, after = at[good & (at < first)], at[good & (at >= last + SECOND)]
    inside = bad & (at > before.max(initial=-1)) & (at < after.min(initial=np.iinfo(np.int64).max))
    start, stop = int(at[inside].min()), int(at[inside].max())
    kind, _ = name_kinds(requests.kind[near[inside]]).most_common(1)[0]
    ended, when = stop < last_good, _clock(requests, start)
    text = f"{_length(start, stop)} of {kind} at {when}" if ended else f"nothing but {kind} from {when} on"
    waited = float(np.median(requests.service[near[inside]])) > WAIT_S * SECOND
    steps = tuple(np.unique(requests.step[near[inside]]).tolist())
    return Outage(start, stop, steps, text, waited, None if ended else _in_flight_before(requests, start))


def _in_flight_before(requests: RequestArrays, start: int) -> int:
    """Requests in flight when the last one was answered that was sent before an outage without end."""
    sent, over = requests.scheduled + requests.lag, requests.scheduled + requests.response
    last = int(over[requests.good & (requests.scheduled <= start)].max(initial=0))
    return int(np.count_nonzero((sent <= last) & (over > last) & requests.taken_up))


def _length(start: int, stop: int) -> str:
    return (
        f"{max((stop - start) / SECOND, 0.1):.2g} s"
        if stop - start < 10 * SECOND
        else f"{(stop - start) / SECOND:.0f} s"
    )


def _clock(requests: RequestArrays, instant: int) -> str:
    if requests.started is None:
        return f"{instant / SECOND:.0f} s after the start"
    return f"{requests.started + np.timedelta64(instant, 'us').item():%H:%M:%S} UTC"
