"""Conditions under which a run ends itself: ``errors>5%/10s``, ``p99>2s/10s``, ``in_flight>5000``. Pure: no clock."""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from logreplay.replay.outcome import Progress
from logreplay.replay.tally import Tally

FIGURES: Final = ("errors", "p50", "p99", "in_flight")
_CONDITION: Final = re.compile(r"(\w+)\s*>\s*(\d+(?:\.\d+)?)\s*(%|us|ms|s|m|)\s*(?:/\s*(\d+(?:\.\d+)?)\s*(ms|s|m|))?")
_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "": 1.0}


@dataclass(frozen=True, slots=True)
class Condition:
    """A figure that must not stay above a limit.

    Attributes:
        figure: one of `FIGURES`. ``errors``: share of the exchanges that ended, with a status of 400 or above that
            the log did not have, or without a whole answer. ``p50``, ``p99``: of the response time, seconds.
        limit: of it; a share, seconds, or requests.
        window: seconds for which it must be above, in every one of them; 0: once is enough.
        text: as the user wrote it.
    """

    figure: str
    limit: float
    window: float
    text: str


def parse(text: str) -> Condition:
    """Read a condition.

    Raises:
        ValueError: not of the form FIGURE>LIMIT/WINDOW.
    """
    match = _CONDITION.fullmatch(text.strip())
    unit = {"errors": ("%",), "in_flight": ("",)}.get(match[1], tuple(_SECONDS)) if match else ()
    if not match or match[1] not in FIGURES or match[3] not in unit:
        raise ValueError(f"{text!r} is no condition to stop at; write errors>5%/10s, p99>2s/10s or in_flight>5000")
    scale = 0.01 if match[3] == "%" else 1.0 if match[1] == "in_flight" else _SECONDS[match[3]]
    window = float(match[4]) * _SECONDS[match[5]] if match[4] else 0.0
    return Condition(match[1], float(match[2]) * scale, window, text.strip())


@dataclass(slots=True)
class StopRule:
    """Watches the progress of a run for the first condition that comes true.

    Attributes:
        conditions: any of them ends the run.
        hit: which did, in words; empty if none.
    """

    conditions: Sequence[Condition]
    hit: str = ""
    _since: dict[str, float] = field(default_factory=dict)
    _last: deque[Progress] = field(default_factory=lambda: deque(maxlen=1))

    def see(self, now: Progress) -> str:
        """Look at the progress, about once a second; return which condition came true, empty if none."""
        last = self._last[0] if self._last and self._last[0].elapsed < now.elapsed else None
        self._last.append(now)
        if last is None:
            self._since.clear()  # another plan has begun
        for condition in self.conditions:
            value = _value(condition.figure, now, last)
            if value is None:
                continue
            if value <= condition.limit:
                self._since.pop(condition.text, None)
                continue
            since = self._since.setdefault(condition.text, last.elapsed if last else 0.0)
            if not self.hit and now.elapsed - since >= condition.window - 0.05:
                self.hit = f"{condition.text}: {_shown(condition.figure, value)}"
        return self.hit


def _value(figure: str, now: Progress, last: Progress | None) -> float | None:
    """The figure in the time since the last look; None where nothing ended in it, which says nothing."""
    if figure == "in_flight":
        return now.in_flight
    if figure != "errors":
        response = now.tally.response - (last.tally if last else Tally()).response
        return response.quantile({"p50": 0.5, "p99": 0.99}[figure])
    errors = now.net_error + now.new_errors - (last.net_error + last.new_errors if last else 0)
    ended = now.completed + now.net_error - (last.completed + last.net_error if last else 0)
    return errors / ended if ended else None


def _shown(figure: str, value: float) -> str:
    if figure == "errors":
        return f"{value:.1%} errors"
    return f"{value:g} in flight" if figure == "in_flight" else f"{figure} {value:.3g} s"
