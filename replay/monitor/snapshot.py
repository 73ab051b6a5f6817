"""The state of a run once a second, as one value: for the terminal, the live page, the metrics and the JSON lines.

Values only; `logreplay.replay.monitor.snapshot_builder` makes them. No heavy library: another process serves them.
"""

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from logreplay.replay.schedules.orders import Level

BOUNDS: Final = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
)  # fmt: skip
"""Upper bounds of the buckets in `Totals`, seconds."""


VERDICTS: Final = ("VALID", "GENERATOR_BOUND", "RATE_MISSED", "TARGET_FAILING")


@dataclass(frozen=True, slots=True)
class Stage:
    """A run, a step of a sweep, or a trial of a search.

    Attributes:
        name: for people, such as ``step 3 of 8``.
        rate: constant offered rate, requests/s; None: it changes, or the loop is closed.
        planned: seconds; None: unknown.
        level: its place on the curve: the rate, or how many users; None: it is not on a curve.
        users: the level is a number of users.
    """

    name: str = ""
    rate: float | None = None
    planned: float | None = None
    level: float | None = None
    users: bool = False


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests/s: offered, sent, completed."""

    offered: float = 0.0
    sent: float = 0.0
    completed: float = 0.0


@dataclass(frozen=True, slots=True)
class Times:
    """Median, percentiles and maximum, seconds; None where nothing ended."""

    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of the whole run, all its stages.

    Attributes:
        scheduled: requests that were due.
        sent: requests that were sent.
        not_sent: requests that were held back until the run was stopped.
        dropped: requests that were too late, and never sent.
        ok: responses with a status below 400.
        http_error: responses with a status of 400 or above.
        net_error: requests without a whole response.
        failed: requests that failed; a status of 400 or above that the log has, too, does not count.
        new_errors: responses with a status of 400 or above that the log did not have.
        bytes: bytes of the bodies received.
        errors: requests by error word.
        status: responses by status.
        samples: for each error and each status of 400 and above the first request.
        buckets: requests with a response time up to each of `BOUNDS`.
        seconds: sum of all response times, seconds.
    """

    scheduled: int = 0
    sent: int = 0
    not_sent: int = 0
    dropped: int = 0
    ok: int = 0
    http_error: int = 0
    net_error: int = 0
    failed: int = 0
    new_errors: int = 0
    bytes: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    status: dict[int, int] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)
    buckets: tuple[int, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class DurationSeries:
    """Service times of the requests of the whole run with one method and one outcome.

    Attributes:
        method: method of HTTP; empty: all methods and outcomes that are not kept apart.
        status: 0: none came.
        error: error word; empty: none.
        bounds: upper bounds of the buckets, seconds.
        counts: requests in each bucket, and above.
        seconds: the sum of the times.
    """

    method: str
    status: int
    error: str
    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class TimePoint:
    """One stage on the curve.

    Attributes:
        level: rate or users.
        p50, p99: percentiles of its response times, seconds; p99 is None if it holds the generator lag.
        state: ``runs``, ``carried``, ``overloaded``, or ``void`` for an invalid run.
    """

    level: float
    p50: float | None
    p99: float | None
    state: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a run, which functions for ``progress`` and ``stop`` are given.

    Attributes:
        command: name of the command.
        target: URL of the target, or of both.
        at: seconds since 1970.
        second: seconds since the run began.
        elapsed: seconds since the stage began.
        stage: the running one.
        rate: rates of the last second, requests/s.
        response: response times of the last second, seconds.
        lag: generator lag of the last second, seconds.
        so_far: response times of the stage, seconds.
        in_flight: requests in flight.
        totals: counts of the whole run.
        verdict: verdict of the stage, so far.
        findings: against it, in words.
        curve: the stages that ended, and the one that runs, in their order.
        notes: on stages that ended, the last ones.
        watch: figures of the probes, by name; None where the last reading failed.
        durations: service times of the whole run; not in the JSON.
        load: the load that a person may change while it is sent; None: nobody may.
        over: the run has ended.
    """

    command: str = ""
    target: str = ""
    at: float = 0.0
    second: float = 0.0
    elapsed: float = 0.0
    stage: Stage = Stage()
    rate: Rates = Rates()
    response: Times = Times()
    lag: Times = Times()
    so_far: Times = Times()
    in_flight: int = 0
    totals: Totals = field(default_factory=Totals)
    verdict: str = ""
    findings: tuple[str, ...] = ()
    curve: tuple[TimePoint, ...] = ()
    notes: tuple[str, ...] = ()
    watch: dict[str, float | None] = field(default_factory=dict)
    durations: tuple[DurationSeries, ...] = ()
    load: Level | None = None
    over: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        value = asdict(replace(self, durations=()))
        del value["durations"]
        return value
