"""Conditions that end a run: ``errors>5%/10s``, ``p99>2s/10s``, ``in_flight>5000``. Pure: no clock.

When a target hangs, no request ends, so p50 and p99 also count requests in flight. Each request counts once: as above
the limit when its response time passes the limit, whether it has ended by then or not, and otherwise when it ends.

Response times hold the generator's lag. A percentile that is above its limit only with the lag does not measure the
target, so it does not end the run; it is noted as refused.
"""

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from logreplay.core.plural import number_of
from logreplay.core.quantities import SECONDS, TIME_UNITS
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.histogram import Histogram
from logreplay.replay.results.outcome import Progress
from logreplay.replay.results.verdict import Finding, Severity

STOP_REFUSED: Final = "stop_refused"
"""The code of a finding on a condition that was refused."""
_SHARES: Final = {"p50": 0.5, "p99": 0.99}
FIGURES: Final = ("errors", *_SHARES, "in_flight")
_CONDITION: Final = re.compile(
    r"(\w+)\s*>\s*(\d+(?:\.\d+)?)\s*(%|us|ms|s|m|h|)\s*(?:/\s*(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|))?"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A figure that must not stay above a limit.

    Attributes:
        figure: one of `FIGURES`. ``errors``: share of the requests that ended and failed. ``p50``, ``p99``: of the
            response time, seconds.
        limit: largest value: a share, seconds, or requests.
        window: seconds for which it must be above, in every one of them; 0: once is enough.
        text: as the user wrote it.
    """

    figure: str
    limit: float
    window: float
    text: str


def parse(text: str) -> Condition:
    """Read a condition."""
    match = _CONDITION.fullmatch(text.strip())
    unit = {"errors": ("%", ""), "in_flight": ("",)}.get(match[1], tuple(SECONDS)) if match else ()
    if not match or match[1] not in FIGURES or match[3] not in unit:
        raise ValueError(
            f"{text!r} is not a stop condition; write errors>5%/10s, p99>2s/10s or in_flight>5000 ({TIME_UNITS})"
        )
    figure, number = match[1], float(match[2])
    if figure == "errors" and number >= 100:
        raise ValueError(f"{text!r} can never come true: no more than 100% of the requests can fail; write errors>99%")
    if figure == "errors" and not match[3] and number >= 1:
        raise ValueError(f"{text!r} is ambiguous: write errors>{number:g}%, or errors>{number / 100:g}")
    scale = 0.01 if match[3] == "%" else 1.0 if figure in ("errors", "in_flight") else SECONDS[match[3]]
    window = float(match[4]) * SECONDS[match[5]] if match[4] else 0.0
    return Condition(figure, round(number * scale, 9), window, text.strip())


@dataclass(slots=True)
class StopRule:
    """Watches the progress of a run for the first condition that comes true.

    Attributes:
        conditions: any of them ends the run.
        asked: returns why another part of the program wants the run to end; empty if it does not.
        hit: which did, in words; empty if none.
        refused: conditions that would have, with the generator's lag, and the figure with it, in words.
    """

    conditions: Sequence[Condition]
    asked: Callable[[], str] = str
    hit: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    _since: dict[tuple[str, str], float] = field(default_factory=dict)
    _last: deque[Progress] = field(default_factory=lambda: deque(maxlen=1))

    def see(self, now: Progress) -> str:
        """Check the progress, about once a second; return the condition that came true, empty if none."""
        last = self._last[0] if self._last and self._last[0].elapsed < now.elapsed else None
        self._last.append(now)
        if last is None:
            self._since.clear()  # another plan has begun
        for condition in self.conditions:
            if above := self._lasting(condition, now, last, "without_lag"):
                self.hit = self.hit or f"{condition.text}: {above}"
            elif condition.figure in _SHARES and (above := self._lasting(condition, now, last, "response")):
                self.refused[condition.text] = above
        return self.hit

    def ended(self, stopped: str) -> None:
        """Note the end of a run, if another part of the program asked for it; ``stopped``: why the run was stopped."""
        if stopped and stopped == self.asked():
            self.hit = self.hit or stopped

    def findings(self) -> list[Finding]:
        """Findings on conditions that were refused, and did not come true later."""
        texts = (
            f"--stop '{condition}' was not applied: {above} with the generator's lag, and not without it; stop other "
            "processes, and repeat the run"
            for condition, above in self.refused.items()
            if not self.hit.startswith(f"{condition}: ")
        )
        return [Finding(STOP_REFUSED, Severity.WARNING, text) for text in texts]

    def _lasting(self, condition: Condition, now: Progress, last: Progress | None, times: str) -> str:
        """The figure, in words, if it has been above its limit for the whole window; empty if not."""
        key, above = (condition.text, times), _above(condition, now, last, times)
        if above == "":
            self._since.pop(key, None)
        if not above:
            return ""
        since = self._since.setdefault(key, last.elapsed if last else 0.0)
        return above if now.elapsed - since >= condition.window - 0.05 else ""


def _above(condition: Condition, now: Progress, last: Progress | None, times: str) -> str | None:
    """The figure since the last look, in words, if it is above the limit, otherwise empty; None where it is unknown.

    Percentiles are those of ``times``, a histogram of the counters.
    """
    if condition.figure in _SHARES:
        return _late(condition, now.counters, last.counters if last else Counters(), times)
    if condition.figure == "in_flight":
        return f"{now.in_flight:g} in flight" if now.in_flight > condition.limit else ""
    counted, before = now.counters, last.counters if last else Counters()
    errors = counted.failed - before.failed
    ended = counted.sent - before.sent
    if not ended:
        return None
    return f"{errors / ended:.1%} errors" if errors / ended > condition.limit else ""


def _late(condition: Condition, now: Counters, last: Counters, times: str) -> str | None:
    """`_above` for a percentile of the response time."""

    def beyond(histogram: Histogram) -> int:
        return histogram.total - histogram.up_to([condition.limit])[0]

    def passed(counters: Counters) -> int:
        return beyond(getattr(counters, times)) + beyond(counters.waiting)

    ended, waiting = getattr(now, times) - getattr(last, times), beyond(now.waiting)
    over = max(0, passed(now) - passed(last))
    counted = over + ended.up_to([condition.limit])[0]
    if not counted and not waiting:
        return None
    share = _SHARES[condition.figure]
    if counted and over <= counted - ceil(share * counted - 1e-9):
        return ""
    value = ended.quantile(share) or 0.0
    shown = f"{value:.3g} s" if value > condition.limit else f"above {condition.limit:g} s"
    return f"{condition.figure} {shown}" + (
        f", {number_of(waiting, 'request waits', 'requests wait')} longer than that" if waiting else ""
    )
