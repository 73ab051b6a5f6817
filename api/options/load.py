"""Schedule of a call: a rate, the log's own times, a shape over time, or users who wait."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import inf
from typing import TYPE_CHECKING, Any, Final, Self

from logreplay.analysis.format_time import show_rate
from logreplay.core.errors import UsageError
from logreplay.core.plural import number_of
from logreplay.core.quantities import TIME_UNITS, pause_of, positive_rate, seconds_of
from logreplay.options.request_rules import INDEPENDENT, RequestRules, arriving, base

if TYPE_CHECKING:
    from logreplay.replay.requests.plan import RequestStream
    from logreplay.replay.schedules.rates import Schedule
    from logreplay.replay.schedules.steering import Steering
    from logreplay.replay.schedules.users import UniformThink


_DELAY_S: Final = 5.0
_LOWEST_SUM = 1e-6
_HIGHEST_SUM = 20_000_000
_MOST_USERS = 1_000_000
_SLOWEST, _FASTEST = 1e-9, 1e9
Pauses = float | tuple[float, float]
"""Seconds; or the lowest and the highest number of seconds."""


def ramp_of(text: str) -> tuple[float, float]:
    first, dots, last = text.partition("..")
    try:
        rates = float(first), float(last)
    except ValueError:
        rates = (0.0, 0.0)
    if not dots or not all(rate >= 0 for rate in rates):
        raise ValueError(f"{text!r}: expected the first and the last rate in requests/s, such as 50..400")
    if not _LOWEST_SUM <= sum(rates) <= _HIGHEST_SUM:
        limits = f"{_LOWEST_SUM / 2:g} to {_HIGHEST_SUM // 2:,} requests/s"
        raise ValueError(f"{text!r}: expected rates whose mean is {limits}")
    return rates


def steps_of(text: str) -> tuple[tuple[float, float], ...]:
    levels = []
    for part in text.split(","):
        rate, _, duration = part.partition(":")
        if not (rate and duration):
            raise ValueError(
                f"{part!r}: expected rates in requests/s with their durations, such as 50:10s,100:20s ({TIME_UNITS})"
            )
        levels.append((positive_rate(rate), seconds_of(duration)))
    return tuple(levels)


def speed_of(text: str) -> float:
    try:
        speed = float(text.lower().removesuffix("x"))
    except ValueError:
        speed = 0.0
    if not speed > 0:
        raise ValueError(f"{text!r}: expected a speed above 0; 1 replays at the log's own times, 3 three times as fast")
    if not _SLOWEST <= speed <= _FASTEST:
        raise ValueError(f"{text!r}: expected a speed from {_SLOWEST:g} to {_FASTEST:,.0f}")
    return speed


def machines_of(text: str) -> Sequence[int]:
    """Read ``1,2,4`` as numbers of machines."""
    try:
        return users_of(text)
    except ValueError:
        raise ValueError(
            f"{text!r}: expected increasing numbers of machines up to {_MOST_USERS:,}, such as 1,2,4"
        ) from None


def users_of(text: str) -> Sequence[int]:
    """Read ``1,10,50`` or ``1..64`` (twice as many each time) as numbers of users."""
    first, dots, last = text.partition("..")
    if dots and first.isdigit() and last.isdigit() and 0 < int(first) <= int(last):
        doubled = takewhile(lambda count: count < int(last), (int(first) << place for place in range(64)))
        text = ",".join(map(str, (*doubled, int(last))))
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and 0 < int(part) <= _MOST_USERS for part in parts):
        raise ValueError(f"{text!r}: expected increasing user counts up to {_MOST_USERS:,}, such as 1,10,50 or 1..64")
    users = [int(part) for part in parts]
    if users != sorted(set(users)):
        raise ValueError(f"{text!r}: each user count must be above the one before it, as in 1,10,50")
    return users


def parse_pauses(text: str) -> Pauses:
    """Read ``1s``, ``0`` or ``1s..3s``."""
    first, dots, last = text.partition("..")
    if not dots:
        return pause_of(text)
    try:
        low, high = pause_of(first), pause_of(last)
    except ValueError:
        raise ValueError(
            f"{text!r}: expected the shortest and the longest pause, up to 87600h, such as 1s..3s ({TIME_UNITS})"
        ) from None
    if low > high:
        raise ValueError(f"{text!r}: {low:g} s is above {high:g} s; write the shorter pause first, such as 1s..3s")
    return high if low == high else (low, high)


def think_of(text: str) -> Pauses | None:
    return None if text == "log" else parse_pauses(text)


def thinking(pauses: Pauses, seed: int) -> "float | UniformThink":
    """The think times of users, for their schedule."""
    from logreplay.replay.schedules.users import UniformThink

    return pauses if isinstance(pauses, float | int) else UniformThink(*pauses, seed=seed)


def mean_of(pauses: Pauses) -> float:
    """The mean pause, seconds."""
    return pauses if isinstance(pauses, float | int) else sum(pauses) / 2


def said(pauses: Pauses | None, seed: int) -> Any:
    """The value as a summary names it: random pauses with their distribution and seed."""
    if isinstance(pauses, tuple):
        return {"distribution": "uniform", "low": pauses[0], "high": pauses[1], "seed": seed}
    return pauses


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """When to send, as the user asked for it. Times in seconds."""

    tps: float | None = None
    arrivals: str | None = None
    speed: float | None = None
    ramp: tuple[float, float] | None = None
    steps: tuple[tuple[float, float], ...] | None = None
    vusers: int | None = None
    follow: bool = False
    delay: float | None = None
    think: Pauses | None = 0.0
    duration: float | None = None
    requests: int | None = None
    loop: bool | None = None
    skip_idle: float | None = None

    def checked(self, *, users: bool = True) -> Self:
        """Return the same, with the arrivals named if a rate is given."""
        self._check(users=users)
        return replace(self, arrivals=self.arrivals or INDEPENDENT) if self.peak else self

    def _check(self, *, users: bool) -> None:
        modes = [self.tps, self.speed, self.ramp, self.steps, self.vusers, self.follow or None]
        if (said := sum(mode is not None for mode in modes)) != 1:
            raise UsageError(
                ("one of these is needed: " if not said else "these exclude each other; give one only: ")
                + "--tps R, --speed X, --ramp R..R, --steps"
                + ", --vusers N" * users
                + " or --follow"
            )
        if self.ramp and self.duration is None:
            raise UsageError("--ramp needs a duration: add --for, such as --for 1m")

    @property
    def in_time(self) -> bool:
        """Whether the log's times count."""
        return self.speed is not None or self.arrivals == "log"

    @property
    def loops(self) -> bool:
        """Whether the log is repeated: asked for, or needed for a number of requests or a duration at a rate."""
        if self.loop is not None:
            return self.loop
        asked = self.duration is not None or self.requests is not None or self.steps is not None
        return asked and self.speed is None and not self.follow

    @property
    def answers_decide(self) -> bool:
        """Whether the target's answers decide how many requests are sent: users, for some time."""
        return self.vusers is not None and self.duration is not None and self.requests is None

    @property
    def endless(self) -> bool:
        """Whether only the end of the log ends the schedule."""
        return self.duration is None and self.requests is None and self.steps is None

    @property
    def peak(self) -> float:
        """The highest rate that was asked for; 0 where none was."""
        rates: list[float] = [self.tps or 0.0, *(self.ramp or ()), *(rate for rate, _ in self.steps or ())]
        return max(rates)

    @property
    def steady(self) -> float | None:
        """The rate, if it is the same all the time."""
        return None if self.arrivals == "log" else self.tps

    def as_summary(self, seed: int) -> dict[str, Any]:
        """The options as given, for the summary; random think times with the seed they are drawn from."""
        given = {name: getattr(self, name) for name in sorted(_NAMES)} | {"think": said(self.think, seed)}
        return {
            "for" if name == "duration" else name: value
            for name, value in given.items()
            if value not in (None, False) and (name != "think" or self.vusers)
        }

    @property
    def keep(self) -> Sequence[str]:
        """Columns of the log that the schedule needs."""
        return ("thinktime",) if self.think is None else ()

    def planned(self, schedule: "Schedule") -> str:
        """How many requests a schedule of these options holds, in words; empty if the log or the answers decide."""
        if self.requests is not None and self.duration is None:
            return f"{self.requests:,}" if self.loops else ""
        if not self.peak or schedule.duration is None:
            return ""
        count = round(min(schedule.rate * schedule.duration, self.requests or inf))
        return f"{'' if self.arrivals == 'even' else 'about '}{count:,}"

    @property
    def steering(self) -> "Steering":
        """The object that changes the rate or the speed while requests are sent."""
        from logreplay.replay.schedules.steering import Steering

        unit, typed = ("rate", self.tps) if self.tps else ("speed", self.speed)
        return Steering(unit, typed or 1.0, self.duration, counted=self.requests is not None)

    def schedule(self, request_rules: RequestRules, stream: "RequestStream", *, steered: bool = False) -> "Schedule":
        """The schedule that was asked for; ``steered``: without the end that `steering` gives it."""
        from logreplay.replay.schedules.arrivals import FollowSchedule, LogTimes, Repeated, independent
        from logreplay.replay.schedules.rates import Limited, Ramp, Steps
        from logreplay.replay.schedules.users import Users

        if self.vusers is not None:
            think = None if self.think is None else thinking(self.think, request_rules.seed)
            return Users(self.vusers, think, self.duration, self.requests)
        schedule: Schedule
        if self.follow:
            schedule = FollowSchedule(_DELAY_S if self.delay is None else self.delay)
        elif self.speed is not None:
            schedule = LogTimes(self.speed) if steered else Limited(LogTimes(self.speed), seconds=self.duration)
        elif self.tps is not None:
            kind = self.arrivals or INDEPENDENT
            scattered = steered and kind == INDEPENDENT and self.duration is not None
            duration = None if steered and not scattered else self.duration
            schedule = arriving(kind, stream, request_rules)(self.tps, duration, 0)
            schedule = Repeated(schedule) if scattered else schedule
        else:
            profile = Ramp(*self.ramp, self.duration or 0) if self.ramp else Steps(self.steps or ())
            schedule = profile if self.arrivals == "even" else independent(profile, request_rules.seed + 1)
        return schedule if self.requests is None else Limited(schedule, requests=self.requests)


def log_report(stream: "RequestStream", schedule: "Schedule", sent: int, *, changed: bool = False) -> dict[str, Any]:
    """The log, its changes, and how often it was repeated; for the summary.

    Args:
        stream: requests of the run.
        schedule: their schedule.
        sent: number of requests that were sent.
        changed: the load was changed by hand, so the schedule does not say which rate was offered.
    """
    from logreplay.replay.requests.hook import hooked
    from logreplay.replay.requests.siege_list import UrlList

    used, own = _of_log(stream, sent)
    figures, requests = stream.figures, base(stream)
    mean = 0.0 if isinstance(requests.source, UrlList) else figures.mean  # a list has no times: its rows have made ones
    rate = 0.0 if changed else schedule.rate or mean * _speed_of(schedule) / own
    report: dict[str, Any] = {
        "log_mean": mean or None,
        "log_peak": figures.peak if mean and figures.peak >= max(mean, 1) else None,
        "log_s": figures.period / 1e6 if mean else None,
        "log_requests": figures.requests if mean else None,
        "factor": rate / mean if mean and rate else None,
        "rounds": used / stream.usable if stream.usable and requests.whole else None,
        "log_whole": requests.whole if mean else None,
    }
    if requests.skip_idle is not None:
        report["skipped_idle_s"] = requests.skipped_s
    if figures.untimed and _speed_of(schedule):
        report["untimed"] = figures.untimed
    if figures.unordered and _speed_of(schedule):
        report["unordered"] = figures.unordered
    if hook := hooked(stream):
        report["hook_us"] = hook.cost * 1e6
    return report


def _of_log(stream: "RequestStream", sent: int) -> tuple[int, float]:
    """The rows of the log that the first requests of a stream used up, and the share of requests that are the log's."""
    from logreplay.replay.requests.combine import Mixed
    from logreplay.replay.requests.hook import Hooked

    layer: Any = stream
    used, own = sent, 1.0
    while layer is not None:
        if isinstance(layer, Hooked):
            used = layer.used(used)
        elif isinstance(layer, Mixed):
            used, own = used - int(used * layer.share), own * (1 - layer.share)
        layer = getattr(layer, "requests", None)
    return used, own


def _speed_of(schedule: "Schedule") -> float:
    inner: Any = schedule
    while hasattr(inner, "schedule"):
        inner = inner.schedule
    return float(getattr(inner, "speed", 0.0))


def log_sentence(report: dict[str, Any]) -> str:
    """The note on the log in words; empty if there is none."""
    parts = []
    whole = report["log_whole"] is not False
    log = "the log" if whole else f"the part of the log that was read ({report['log_requests']:,} requests)"
    if report["log_mean"] and report["log_peak"]:
        mean, peak = f"{report['log_mean']:.4g} requests/s to send on average", report["log_peak"]
        parts.append(f"{log} holds {mean}, {peak} in its busiest second")
    elif report["log_mean"]:  # too short for a busiest second
        parts.append(f"{log} holds {number_of(report['log_requests'], 'request')} to send in {report['log_s']:.3g} s")
    if report["factor"]:
        parts.append(f"this run offered {show_rate(report['factor'], 4)} times its mean rate")
    if report["rounds"] and report["rounds"] > 1:
        parts.append(f"the log was replayed {report['rounds']:.2f} times")
    if untimed := report.get("untimed"):
        have = number_of(untimed, "request has", "requests have")
        parts.append(f"{have} no time in {log}: each is sent together with the one before it")
    if report.get("skipped_idle_s"):
        parts.append(f"{report['skipped_idle_s']:.1f} s of idle time in {log} are skipped")
    return "; ".join(parts)


_NAMES = frozenset(Load.__dataclass_fields__)
