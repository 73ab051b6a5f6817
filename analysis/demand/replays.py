"""The commands that replay a log, and the things that each leaves out."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from logreplay.analysis.demand import rates
from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.demand.wording import iso, span
from logreplay.core.plural import number_of

_BURSTY = 1.5
"""Index of dispersion per second from which on a sustained rate says too little about the log's own seconds."""
_LONGEST_S = 8 * rates.HOUR
"""Length of a log without its empty times, from which on its busiest hour is replayed."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A command that replays a log.

    Attributes:
        command: as it can be typed; TARGET stands for the address of the test server.
        gives: its measurement.
        lacks: things that it leaves out beside `missing`.
    """

    command: str
    gives: str
    lacks: tuple[str, ...] = ()


def replays(
    logs: Sequence[str], profile: LogProfile, reading: Sequence[str] = (), output: str = "", *, timed: bool
) -> list[Replay]:
    """The commands that replay logs best.

    Args:
        reading: options of their conversion, as words.
        output: name for a converted log, which replaces several logs, one read with options, or one out of order;
            empty without a conversion.
        timed: the times of its requests, and so its rates, can be used.
    """
    found, options = list[Replay](), _options(profile)
    named = shlex.quote(logs[0])
    if output:
        words = shlex.join(["logreplay", "convert", *logs, *reading, "-o", output])
        found.append(Replay(words, "nothing: it makes one log of the requests counted here, in order of time"))
        named = shlex.quote(output)
    if timed:
        words, gives, lacks = _own_times(profile)
        found.append(Replay(f"logreplay run {named} TARGET --speed 1{options}{words}", gives, lacks))
    low, high = _range(profile, timed=timed)
    flat = ("the course of the log's rate: each rate is held for some time",) if timed else ()
    if timed and (burstiness := profile.dispersion["second"]) > _BURSTY:
        bursts = f"the log's bursts (index of dispersion {burstiness:.3g})"
        flat = (f"{bursts}: each rate is held, and its requests are independent",)
    sweep = f"logreplay sweep {low}..{high} {named} TARGET"
    find = f"logreplay find {named} TARGET --p99 300ms"
    found.append(Replay(sweep, "the rate at which the target saturates", flat))
    found.append(Replay(find, "the highest rate with a p99 of 300 ms or less", flat))
    return found


def _own_times(profile: LogProfile) -> tuple[str, str, tuple[str, ...]]:
    """Options of a replay at the log's own times, its measurement, and the things that it leaves out."""
    gives = "the target under the log's own traffic: its order, rate and bursts"
    begins, lengths = profile.idle
    pause = f"{math.ceil(rates.longest_pause(profile.per_second[0]) / rates.MINUTE)}m"
    skip = f" --skip-idle {pause}" if len(begins) else ""
    if (length := profile.span - int(lengths.sum())) > _LONGEST_S:
        rest = f"the rest of the log: without --from and --for, the replay takes {span(length)}"
        hour = f" --from {iso(profile.peaks['hour'].at)} --for 1h"
        return hour, gives.replace("traffic", "traffic in its busiest hour"), (f"{rest}, with{skip}" if skip else rest,)
    return skip, gives, (f"the empty times: each is shortened to {pause}",) if skip else ()


def missing(profile: LogProfile, unreplayable: int) -> tuple[str, ...]:
    """The things that every replay of a log leaves out, since the log does not hold them."""
    found = []
    if profile.without_body:
        found.append(f"the bodies of {number_of(profile.without_body, 'request')}: the log has none; --body sends one")
    if not profile.headers:
        found.append("cookies and other headers: the log has none; --header and --cookies send some")
    if unreplayable:
        found.append(f"{number_of(unreplayable, 'line')} that cannot be sent again")
    return tuple(found)


def _options(profile: LogProfile) -> str:
    """Options that keep more of the log."""
    kept = " --by-client" if profile.clients.height > 1 else ""
    total = int(profile.protocols["requests"].sum()) if profile.protocols.height else 0
    second = profile.protocols.filter(profile.protocols["protocol"].str.starts_with("HTTP/2"))
    return kept + (" --http 2" if total and 2 * int(second["requests"].sum()) > total else "")


def _range(profile: LogProfile, *, timed: bool) -> tuple[int, int]:
    """Rates to sweep: from below the mean to four times the busiest minute."""
    mean = profile.mean if timed else 10.0
    top = (profile.peaks.get("minute") or profile.peaks.get("second")) if timed else None
    low = _round_down(mean)
    return low, max(_round_down(4 * (top.rate if top else mean)), 8 * low)


def _round_down(rate: float) -> int:
    """1, 2 or 5 times a power of ten, and at least 1."""
    if rate <= 1:
        return 1
    power = 10 ** math.floor(math.log10(rate))
    return int(power * max(digit for digit in (1, 2, 5) if digit * power <= rate))
