"""Builds snapshots from the progress of an engine. Pure: no clock, no socket."""

from dataclasses import replace
from typing import Final

from logreplay.replay.monitor.snapshot import BOUNDS, DurationSeries, Rates, Snapshot, Stage, TimePoint, Times, Totals
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.durations import DURATION_BOUNDS
from logreplay.replay.results.histogram import Histogram
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.self_monitor import ProcessLoad
from logreplay.replay.results.verdict import RunEvidence, RunVerdict, Severity, judge

_NOTES: Final = 30
_COPIED: Final = (
    "sent", "not_sent", "dropped", "ok", "http_error", "net_error", "failed", "new_errors", "bytes", "samples",
)  # fmt: skip


class SnapshotBuilder:
    """Makes the snapshots of one run."""

    def __init__(self, command: str, target: str = "") -> None:
        self.last = Snapshot(command, target)
        self._past = Counters()
        self._began: float | None = None
        self._seen: Progress | None = None
        self._curve: tuple[TimePoint, ...] = ()

    def begin(self, stage: Stage) -> None:
        """Another stage begins."""
        self.last = replace(self.last, stage=stage, elapsed=0.0)

    def see(self, now: Progress, at: float, watch: dict[str, float | None] | None = None) -> Snapshot:
        """The state of the run now; called about once a second.

        Args:
            now: the progress of the stage.
            at: seconds since 1970.
            watch: figures of the probes.
        """
        before = self._seen if self._seen and self._seen.elapsed < now.elapsed else Progress(0.0, 0, 0)
        past, seconds = before.counters, now.elapsed - before.elapsed or 1.0
        stage, counters, self._seen = self.last.stage, now.counters, now
        if now.left is not None:
            stage = replace(stage, planned=round(now.elapsed + now.left, 3))
        if now.level and now.level.unit == "rate":
            stage = replace(stage, rate=0.0 if now.level.paused else now.level.value)
        if self._began is None:
            self._began = at - now.elapsed
        taken_up = (now.scheduled - before.scheduled) / seconds
        verdict, findings = self._judge(now)
        so_far, counted = _times(counters.response), self._past + now.started
        totals = self._totals(counted, now.waiting)
        self.last = replace(
            self.last,
            stage=stage,
            at=at,
            second=round(at - self._began, 3),
            elapsed=round(now.elapsed, 3),
            rate=Rates(
                round(taken_up if stage.rate is None else stage.rate, 3),
                round((totals.sent - self.last.totals.sent) / seconds, 3),
                round((counters.completed - past.completed) / seconds, 3),
            ),
            response=_times(counters.response - past.response),
            lag=_times(counters.lag - past.lag),
            so_far=so_far,
            in_flight=now.in_flight,
            load=now.level,
            totals=totals,
            durations=_durations(counted),
            verdict=verdict,
            findings=findings,
            curve=(*self._curve, *self._point(so_far, "runs")),
            watch=watch or {},
        )
        return self.last

    def end(self, outcome: Outcome, at: float, *, state: str = "", note: str = "") -> Snapshot:
        """A stage has ended.

        Args:
            outcome: result of the stage.
            at: seconds since 1970.
            state: label of its point on the curve; empty: the outcome names it.
            note: on it.
        """
        so_far, counted = _times(outcome.counters.response), self._past + outcome.counters
        valid = so_far if outcome.counters.lag_in(0.99) is None else replace(so_far, p99=None)
        state = state or ("void" if outcome.health.verdict is RunVerdict.GENERATOR_BOUND else "carried")
        if outcome.counters.sent:
            self._curve += self._point(valid, state)
        self.last = replace(
            self.last,
            at=at,
            second=self.last.second if self._began is None else round(at - self._began, 3),
            so_far=so_far,
            in_flight=0,
            totals=self._totals(counted),
            durations=_durations(counted),
            verdict=str(outcome.health.verdict),
            findings=tuple(finding.text for finding in outcome.health.findings),
            curve=self._curve,
            notes=(*self.last.notes, *([note] if note else []))[-_NOTES:],
        )
        self._past, self._seen = counted, None
        return self.last

    def close(self, at: float) -> Snapshot:
        """The run has ended."""
        self.last = replace(self.last, at=at, over=True, rate=Rates(), in_flight=0)
        return self.last

    def _point(self, so_far: Times, state: str) -> tuple[TimePoint, ...]:
        level = self.last.stage.level
        return () if level is None else (TimePoint(level, so_far.p50, so_far.p99, state),)

    def _totals(self, counted: Counters, waiting: int = 0) -> Totals:
        """The counts. Requests that HTTP/2 puts back into a queue count as sent, so that the counter never falls."""
        totals = Totals(
            scheduled=counted.ended + waiting,
            **{name: getattr(counted, name) for name in _COPIED},
            errors=dict(counted.errors.most_common()),
            status=dict(sorted(counted.status.items())),
            buckets=tuple(counted.response.up_to(BOUNDS)),
            seconds=round(counted.response.seconds, 3),
        )
        return replace(totals, sent=max(totals.sent, self.last.totals.sent))

    def _judge(self, now: Progress) -> tuple[str, tuple[str, ...]]:
        """The verdict on the requests that have ended by now."""
        evidence = RunEvidence(
            offered=self.last.stage.rate or 0.0,
            scheduled=now.scheduled,
            counters=now.started,
            duration=None,
            seconds=now.elapsed,
            limited=0,
            local={},
            vitals=ProcessLoad(),
        )
        health = judge(evidence)
        told = (finding.text for finding in health.findings if finding.severity is not Severity.INFO)
        return str(health.verdict), tuple(told)


def _durations(counted: Counters) -> tuple[DurationSeries, ...]:
    return tuple(
        DurationSeries(*group, DURATION_BOUNDS, counts, round(counted.durations.seconds[group], 6))
        for group, counts in counted.durations.counts.items()
    )


def _times(counted: Histogram) -> Times:
    return Times(*(_rounded(counted.quantile(share)) for share in (0.5, 0.9, 0.95, 0.99, 1.0)))


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds:.4g}")
