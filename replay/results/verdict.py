"""Judges whether a run is valid. Typed findings: observation, likely cause, remedy.

The thresholds: generator lag is mentioned where a percentile of the response times is left out because of it
(`logreplay.core.validity`). A run is invalid from a lag of ``p95 > max(50 ms, 20 % of the median response time)`` on,
when less than 98 % of the schedule was sent, or when every request was cancelled before its response.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from math import ceil
from typing import Any, Final, Self

from logreplay.core.plural import number_of
from logreplay.core.quantities import percent
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.self_monitor import ProcessLoad, WriteLag
from logreplay.replay.schedules.steering import LoadChange
from logreplay.replay.sessions.server_timing import Counts, counts_of_all

SENT_ENOUGH: Final = 0.98
"""Smallest share of the schedule that a valid run sent in its time."""
LATE_S: Final = 0.05
LATE: Final = 0.2
"""Share of the median response time: a run with a larger p95 of the lag, above `LATE_S`, is invalid."""
MANY_RETRIED: Final = 0.01
"""Share of requests that were sent twice above which that is told."""
HELD_BACK: Final = ("in_flight_limit", "streams_limit", "by_client", "retries", "enhance_your_calm", "dropped")
"""The codes of `held_back`."""
OF_THE_RUN: Final = ("target_failing", "rate_missed", "rows_missing", "thinktime", "server_timing", *HELD_BACK)
"""The codes of findings on the requests of all processes together."""
_NO_LIMIT: Final = ("lag", "target_failing", "rate_missed")
FAILING: Final = 0.5
"""Share of requests without a usable response above which the run measured only failures."""
_BUSY: Final = 0.8
_STOOD_STILL_S: Final = 0.5
_CHANGES_TOLD: Final = 8
_WRITTEN_LATE_S: Final = 3.0
"""Rows are on disk within about a second, on a busy machine within two."""


_REFUSED: Final = re.compile(r"[23].. → 40[13]")
"""A request that was answered when it was logged, and is refused now."""
SEE_FIRST: Final = "; run --crash shows the first"
"""Advice on failed requests, for a run that does not do so already."""


class Severity(StrEnum):
    """The effect of a finding on the run."""

    INFO = "info"
    NOTE = "note"
    WARNING = "warning"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Finding:
    """An observation that affects the measurement.

    Attributes:
        code: short and stable, for programs.
        severity: effect on the run's validity.
        text: observation, likely cause, remedy; for people.
    """

    code: str
    severity: Severity
    text: str

    @classmethod
    def all_of(cls, summary: Mapping[str, Any]) -> tuple[Self, ...]:
        return tuple(
            cls(each["code"], Severity(each["severity"]), each["text"]) for each in summary.get("findings", ())
        )

    def as_dict(self) -> dict[str, Any]:
        return {name: str(value) for name, value in asdict(self).items()}


class RunVerdict(StrEnum):
    """VALID; or the reason why not: the generator was too slow, the rate was not reached, or the target failed.

    A run that was stopped before any response came did not reach its rate.
    """

    VALID = "VALID"
    GENERATOR_BOUND = "GENERATOR_BOUND"
    RATE_MISSED = "RATE_MISSED"
    TARGET_FAILING = "TARGET_FAILING"


_FIRST: Final = (RunVerdict.GENERATOR_BOUND, RunVerdict.TARGET_FAILING, RunVerdict.RATE_MISSED)
"""Order of verdicts: the first that applies is the run's."""
_VERDICTS: Final = {"target_failing": RunVerdict.TARGET_FAILING, "rate_missed": RunVerdict.RATE_MISSED}
"""The verdict that follows from each code; from any other, that the generator was too slow."""


@dataclass(frozen=True, slots=True)
class ReadLate:
    """Requests that came from the log after they were due.

    Attributes:
        requests: number of requests.
        longest: longest delay, seconds.
        follow_delay: seconds between a log that grows and its replay; None: the log did not grow.
    """

    requests: int = 0
    longest: float = 0.0
    follow_delay: float | None = None

    def __add__(self, other: "ReadLate") -> "ReadLate":
        """Both together, of one log."""
        delay = other.follow_delay if self.follow_delay is None else self.follow_delay
        return ReadLate(self.requests + other.requests, max(self.longest, other.longest), delay)


@dataclass(frozen=True, slots=True)
class Waits:
    """Requests of a step that were sent later than scheduled, again, or not at all; see `RunEvidence`.

    Attributes:
        sent: requests that were sent.
        dropped: requests that were too late to be sent.
    """

    offered: float = 0.0
    scheduled: int = 0
    sent: int = 0
    dropped: int = 0
    limited: int = 0
    queued: int = 0
    queued_for: str = ""
    given_up: int = 0
    retried: int = 0
    calm: int = 0


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """The figures of a run that its verdict rests on. Times in seconds.

    Attributes:
        offered: offered rate, requests/s; 0 where it was not one rate.
        scheduled: requests that were taken up.
        counters: counts of these requests.
        duration: length of the schedule, at most to its last request, and to its stop; None: users set the rate.
        seconds: until the last request was taken up.
        limited: requests that had to wait for the in-flight limit.
        queued: requests that had to wait for a connection.
        queued_for: the limit for which they waited; empty: the request before them of the same client.
        given_up: requests that still waited for their client's connection a time-out after the end of the load.
        local: connections this machine could not open, by the name of its error.
        vitals: processor time and pauses of the generator's process.
        delay: delay of rows on their way to the disk.
        late: requests that came from the log after they were due.
        retried: requests that were sent again.
        calm: streams and connections that the target ended with ENHANCE_YOUR_CALM.
        stale: why the secret of --auth could not be read again; empty if it was.
        truncated: the finding on truncations of the log that is followed; empty if there was none.
        lost: which workers were lost, and why; empty if none was.
        unsent: requests of lost workers that were not sent; they count as dropped.
        sent_on: share of the requests taken up that reached the target in the time of the schedule; the others waited
            ever longer for a stream, or for the response to the request of their client before them. See
            `SentShare.of`.
        unwritten: not all requests that were due when it was stopped have a row.
        thinks_cut: think times of the log that were longer than a day, and were cut.
        timings: by metric of --server-timing: responses that had it, and those of them that cannot be read.
    """

    offered: float
    scheduled: int
    counters: Counters
    duration: float | None
    seconds: float
    limited: int
    local: Mapping[str, int]
    vitals: ProcessLoad
    queued: int = 0
    queued_for: str = ""
    given_up: int = 0
    delay: WriteLag = field(default_factory=WriteLag)
    late: ReadLate = field(default_factory=ReadLate)
    retried: int = 0
    calm: int = 0
    stale: str = ""
    truncated: str = ""
    lost: str = ""
    unsent: int = 0
    timings: Counts = field(default_factory=dict)
    sent_on: float = 1.0
    unwritten: bool = False
    thinks_cut: int = 0

    @property
    def waits(self) -> Waits:
        names = ("offered", "scheduled", "limited", "queued", "queued_for", "given_up", "retried", "calm")
        given = {name: getattr(self, name) for name in names}
        return Waits(**given, sent=self.counters.sent, dropped=self.counters.dropped - self.unsent)

    @property
    def achieved(self) -> float:
        """Share of the schedule that was sent in its time; 1 where nothing was asked."""
        in_time = 1.0 if self.duration is None else min(1.0, self.duration / max(self.seconds, 1e-9))
        return in_time * self.sent_on * (1 - self.counters.dropped / self.scheduled if self.scheduled else 1.0)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and its findings."""

    verdict: RunVerdict
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Self:
        """The verdict that follows from findings."""
        told = tuple(findings)
        kinds = {
            _VERDICTS.get(each.code, RunVerdict.GENERATOR_BOUND) for each in told if each.severity is Severity.VOID
        }
        return cls(next((kind for kind in _FIRST if kind in kinds), RunVerdict.VALID), told)

    @property
    def valid(self) -> bool:
        return self.verdict is RunVerdict.VALID

    @property
    def limit(self) -> str:
        """The limit of this machine, apart from generator lag: descriptors, ports, a lost worker; empty if none."""
        limits = (each for each in self.findings if each.severity is Severity.VOID and each.code not in _NO_LIMIT)
        return next((finding.text for finding in limits), "")


def judge(evidence: RunEvidence) -> Judgement:
    """Judge a run, with the findings against it."""
    generator = _generator(evidence)
    missed = _missed(evidence, by_generator=any(finding.severity is Severity.VOID for finding in generator))
    target = failures(
        evidence.counters, local=sum(evidence.local.values()), queued=evidence.queued, queued_for=evidence.queued_for
    )
    return Judgement.of((*generator, *target, *missed, *metrics_missed([evidence])))


def metrics_missed(parts: Iterable[RunEvidence]) -> list[Finding]:
    """The notes on metrics of --server-timing that no response of a run, or of steps, had, or that cannot be read."""
    counts = counts_of_all(part.timings for part in parts if part.counters.completed)
    return [metric_missed(name, *count) for name, count in counts.items() if count[1] or not count[0]]


def metric_missed(name: str, having: int = 0, unreadable: int = 0) -> Finding:
    """The note on a metric that no response had, or whose durations cannot be read in some of those that had it."""
    text = (
        f"the Server-Timing metric {name} of {number_of(unreadable, 'response')} of {having:,} has no duration "
        "that can be read, such as dur=5.2"
        if having
        else f"no response had the Server-Timing metric {name} with a duration; run -v shows the headers"
    )
    return Finding("server_timing", Severity.NOTE, text)


def _generator(seen: RunEvidence) -> list[Finding]:
    """Findings on the generator and its machine."""
    findings = [Finding("shard_lost", Severity.VOID, seen.lost)] if seen.lost else []
    p50 = seen.counters.response.quantile(0.5) or 0.0
    p95, p99 = (seen.counters.lag.quantile(share) or 0.0 for share in (0.95, 0.99))
    if p95 > max(LATE_S, LATE * p50):
        text = f"requests were started late: lag p95 {_ms(p95)}, p99 {_ms(p99)}; {_why_late(seen)}"
        findings.append(Finding("lag", Severity.VOID, text))
    elif text := seen.counters.sent_late(_ms):
        findings.append(Finding("lag", Severity.WARNING, f"{text}; {_why_late(seen)}"))
    if seen.vitals.longest_pause > _STOOD_STILL_S:
        findings.append(
            Finding(
                "stood_still",
                Severity.WARNING,
                f"the generator did not run for {seen.vitals.longest_pause:.2g} s: it was suspended, or other programs "
                "had the processor; response times of that time are not the target's; repeat the run",
            )
        )
    if seen.delay.longest > _WRITTEN_LATE_S + seen.vitals.longest_pause:
        findings.append(Finding("slow_disk", Severity.WARNING, _slow_disk(seen.delay)))
    if seen.stale:
        text = f"{seen.stale}; until the end, requests were sent with the secret that was read before"
        findings.append(Finding("auth_stale", Severity.WARNING, text))
    if seen.truncated:
        findings.append(Finding("log_truncated", Severity.WARNING, seen.truncated))
    for name, count in seen.local.items():
        findings.append(Finding(name.lower(), Severity.VOID, _local(name, count)))
    return findings


def _slow_disk(delay: WriteLag) -> str:
    cause = "the disk of the result log is too slow"
    if delay.writing < delay.working / 2:
        cause = "this machine had too little processor time for the recorder"
    return (
        f"{number_of(delay.rows, 'row was', 'rows were')} written late, up to {delay.longest:.1f} s after the request "
        f"ended: {cause} (writing took {delay.writing:.1f} s); response times are not affected; a crash would have "
        "lost these rows; write to a faster disk with -o, or lower the rate"
    )


def _why_late(seen: RunEvidence) -> str:
    vitals, late = seen.vitals, seen.late
    read_late = late.requests > 0.01 * seen.scheduled
    if read_late and late.follow_delay is not None:
        return (
            f"--delay {late.follow_delay:g}s is too short for this log: {late.requests} of {seen.scheduled} requests "
            f"were read up to {late.longest:.1f} s after they were due; a line is written when its request ends, and "
            "stamps of whole seconds take up to 4 s more; repeat with --delay "
            f"{ceil(late.follow_delay + late.longest)}s or more"
        )
    if vitals.waited > 0.1 * max(vitals.seconds, 1e-9):
        return (
            f"it waited {vitals.waited:.1f} s of {vitals.seconds:.1f} s for a CPU that others used; "
            "stop them, or replay from another machine"
        )
    if vitals.longest_pause > _STOOD_STILL_S:
        return f"it did not run for {vitals.longest_pause:.2g} s"
    if vitals.loop_share > _BUSY:
        return (
            f"it used {100 * vitals.loop_share:.0f} % of its core; lower the rate, "
            "or use more processes with --workers; logreplay calibrate measures the rate that this machine can send"
        )
    if read_late:
        return (
            f"{late.requests} of {seen.scheduled} requests were read up to {late.longest:.1f} s after they were due: "
            "the disk of the log or a hook is too slow; lower the rate, or make it faster"
        )
    return "the machine was busy; check that it is idle, and repeat the run"


def _local(name: str, count: int) -> str:
    seen = f"{number_of(count, 'connection')} could not be opened or used here ({name})"
    helps = {
        "EMFILE": "too few file descriptors: raise the limit (ulimit -n), or set a --max-in-flight",
        "ENFILE": "the system has too few file descriptors: sysctl fs.file-max",
        "EADDRNOTAVAIL": "no local port is left: keep connections alive, send from more addresses with "
        "--local-address, or widen the range with "
        "sysctl net.ipv4.ip_local_port_range='1024 65535'; a port stays in TIME_WAIT for a minute after use",
    }
    return f"{seen}: {helps.get(name, 'this machine is at a limit of its network; lower the rate')}"


def failures(counters: Counters, *, local: int = 0, queued: int = 0, queued_for: str = "") -> list[Finding]:
    """Findings on the requests that failed.

    ``local``, ``queued`` and ``queued_for`` as in `RunEvidence`. The target is not to blame for requests whose
    connection this machine could not open.
    """
    failed = max(counters.new_errors, counters.failed - local)
    if not counters.sent or failed <= 0.01 * counters.sent:
        return []
    share = failed / counters.sent
    words = ", ".join(
        f"{count} x {word}" for word, count in counters.errors.items() if word not in ("cancelled", "dropped")
    )
    if counters.new_errors:
        words += f"{', ' if words else ''}{counters.new_errors} x status 400 and above that the log did not have"
    severity = Severity.VOID if share > FAILING else Severity.WARNING
    remedy = f"check the target's log{SEE_FIRST}"
    timed_out = sum(count for word, count in counters.errors.items() if word.endswith("timeout"))
    refused = sum(count for change, count in counters.unexpected.items() if _REFUSED.fullmatch(change))
    if refused > failed / 2:
        remedy = f"the target asks for cookies or passwords; give them with --auth, --header or --cookies{SEE_FIRST}"
    if queued_for and min(timed_out, queued) > failed / 2:
        remedy = f"{number_of(queued, 'request')} waited for {queued_for}; otherwise {remedy}"
    text = f"{percent(share)} of the requests failed ({words}): {remedy}"
    return [Finding("target_failing", severity, text)]


def held_back(*parts: Waits) -> list[Finding]:
    """Findings that count requests of a run, or of steps, which were sent late, again, or not at all."""
    findings = []
    limited, queued, given_up, calm = (
        sum(getattr(part, name) for part in parts) for name in ("limited", "queued", "given_up", "calm")
    )
    left = f"; not sent, because they still waited a time-out after the end: {given_up:,}" if given_up else ""
    retried = sum(part.retried for part in parts if part.retried > MANY_RETRIED * part.sent)
    if limited:
        text = (
            f"{number_of(limited, 'request')} had to wait for the limit of requests in flight: the target was slower "
            "than the schedule; the wait is in the response times, as queued; a higher --max-in-flight sends them on "
            "time"
        )
        findings.append(Finding("in_flight_limit", Severity.WARNING, text))
    limit = next((part.queued_for for part in parts if part.queued_for), "")
    if queued and limit:
        text = (
            f"{number_of(queued, 'request')} waited for {limit}; they reached the target later than scheduled, and the "
            f"wait is in the response times, as queued{left}"
        )
        findings.append(Finding("streams_limit", Severity.WARNING, text))
    elif queued:
        text = (
            f"{number_of(queued, 'request')} waited for the response to the client's previous request (--by-client): "
            "the loop was not fully open, and a slow target received less load; the wait is in the response times, as "
            f"queued{left}"
        )
        findings.append(Finding("by_client", Severity.WARNING if given_up else Severity.INFO, text))
    if retried:
        text = (
            f"requests were sent again {number_of(retried, 'time')}: the target refused their stream, or closed "
            "the kept connection just as the request was sent; this is in the response times; let the target keep "
            "connections for more requests and longer (keepalive_requests and keepalive_timeout in nginx)"
        )
        findings.append(Finding("retries", Severity.WARNING, text))
    if calm:
        text = (
            f"the target ended streams or connections {number_of(calm, 'time')} with ENHANCE_YOUR_CALM: it "
            "defends itself against the requests, or against the resets of requests that timed out; lower the rate, "
            "raise --timeout, or raise the limits of the target"
        )
        findings.append(Finding("enhance_your_calm", Severity.WARNING, text))
    if dropped := sum(part.dropped for part in parts):
        scheduled = sum(part.scheduled for part in parts)
        text = f"{dropped} of {scheduled} requests were too late to be sent, and dropped (--late)"
        findings.append(Finding("dropped", Severity.WARNING, text))
    return findings


def held_back_in_steps(steps: Sequence[Waits]) -> list[Finding]:
    """`held_back` of the steps of a sweep or the trials of a search, each with those steps that it is about."""
    about: dict[str, list[Waits]] = {}
    for step in steps:
        for finding in held_back(step):
            about.setdefault(finding.code, []).append(step)
    findings = []
    for code, having in about.items():
        rates = sorted({step.offered for step in having})
        at = f"at {', '.join(f'{rate:.10g}' for rate in rates)}/s: " if rates[0] > 0 else ""
        findings += [
            replace(finding, text=f"{at}{finding.text}") for finding in held_back(*having) if finding.code == code
        ]
    return findings


def steered(changes: Sequence[LoadChange]) -> list[Finding]:
    """The finding on changes that were made by hand."""
    held = [change for change in changes if change.held]
    if not changes:
        return []
    orders, in_vain = (
        f"{number_of(len(changes), 'order')} (--control)",
        "did not change the load, because others followed",
    )
    if not held:
        return [Finding("control", Severity.NOTE, f"{orders} {in_vain}")]
    told = [f"{'the end' if change.order == 'end' else change.after} from second {change.at:.10g}" for change in held]
    more = f", and {len(told) - _CHANGES_TOLD} more" if len(told) > _CHANGES_TOLD else ""
    lost = len(changes) - len(held)
    rest = f"; {number_of(lost, 'order')} {in_vain}" if lost else ""
    text = (
        f"the load was changed {number_of(len(told), 'time')} by {orders}: {held[0].before}, then "
        f"{', '.join(told[:_CHANGES_TOLD])}{more}; each load is a step of the result log{rest}"
    )
    return [Finding("control", Severity.NOTE, text)]


def _missed(seen: RunEvidence, *, by_generator: bool) -> list[Finding]:
    findings = held_back(seen.waits)
    if seen.thinks_cut:
        text = (
            f"--think log: {number_of(seen.thinks_cut, 'think time')} above a day (column thinktime) counted as a day; "
            "correct the log, or give think times with --think"
        )
        findings.append(Finding("thinktime", Severity.WARNING, text))
    if seen.unwritten:
        text = (
            "when the run was stopped, more requests had been held back than could be read and written within some "
            "seconds: the last of them have no row and are in no count"
        )
        findings.append(Finding("rows_missing", Severity.WARNING, text))
    cancelled = seen.counters.errors["cancelled"]
    if by_generator:
        return findings
    if 0 < seen.counters.sent + seen.counters.not_sent == cancelled:
        text = (
            f"no response came before the end: {number_of(cancelled, 'request was', 'requests were')} cancelled when "
            "the run stopped, and no other was sent; run longer than a response takes"
        )
        findings.append(Finding("rate_missed", Severity.VOID, text))
    elif seen.achieved < SENT_ENOUGH:
        text = (
            f"{seen.achieved:.1%} of the schedule was sent in its time: the rate was not reached; lower it, or raise "
            "the limit for which requests waited"
        )
        findings.append(Finding("rate_missed", Severity.VOID, text))
    return findings


def _ms(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"
