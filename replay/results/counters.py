"""Counts of a run, available at any time without reading the result log."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.core.masking import masked
from logreplay.core.record import failed, never_sent
from logreplay.core.validity import given, harmless, is_reached, sent_late
from logreplay.replay.results.durations import Durations
from logreplay.replay.results.histogram import Histogram
from logreplay.replay.senders.contract import ERROR_CODES, WORDS
from logreplay.replay.senders.expected_status import unexpected

ERROR_CODE: Final = pl.col("error").fill_null("").replace_strict(ERROR_CODES, return_dtype=pl.Int64)
"""The number of the error of a row of a result log."""
_DROPPED: Final = ERROR_CODES["dropped"]
_CANCELLED: Final = ERROR_CODES["cancelled"]
_SAMPLE_LENGTH: Final = 300
_TIMES: Final = ("lag", "response", "without_lag")
_Ints = NDArray[np.int64]


@dataclass(slots=True)
class Counters:
    """Counts of records.

    Attributes:
        sent: requests that were sent and have ended.
        not_sent: requests that were held back until the run was stopped: cancelled, and never sent
            (`logreplay.core.record.never_sent`).
        dropped: requests that were too late, and never sent.
        ok: a status below 400 came, and no error.
        http_error: a status of 400 or above came, and no error.
        net_error: requests that were sent and got no whole response.
        failed: number of sent requests that failed (`logreplay.core.record.failed`).
        errors: requests by error word.
        status: responses by status.
        unexpected: responses whose status is unexpected, by status in the log and status: ``200 → 404``,
            ``none → 404``.
        bytes: number of bytes of bodies received.
        samples: for each error and each status of 400 and above the first request, as method and url, secrets masked.
        lag: generator lag of all requests, the dropped ones too, seconds.
        response: response times of those that were sent, without the cancelled ones: their times were cut off.
        without_lag: part of the response times that is not the generator lag.
        durations: service times of those that were sent, by method and outcome.
        waiting: for how long requests in flight at the last look had been seen under way, without lag.
    """

    sent: int = 0
    not_sent: int = 0
    dropped: int = 0
    ok: int = 0
    http_error: int = 0
    net_error: int = 0
    failed: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    status: Counter[int] = field(default_factory=Counter)
    unexpected: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    samples: dict[str, str] = field(default_factory=dict)
    lag: Histogram = field(default_factory=Histogram)
    response: Histogram = field(default_factory=Histogram)
    without_lag: Histogram = field(default_factory=Histogram)
    durations: Durations = field(default_factory=Durations)
    waiting: Histogram = field(default_factory=Histogram)

    def add(self, records: NDArray[np.void], due: _Ints, expected_rc: _Ints) -> None:
        """Count some records.

        Args:
            records: `logreplay.replay.senders.contract.RECORD`, ``(n,)``.
            due: ``(n,)`` when each was due, nanoseconds of the clock.
            expected_rc: ``(n,)`` status in the log, 0 where it had none.
        """
        error, status, lag = records["error"], records["status"], records["start"] - due
        service = records["connect"] + records["latency"] + records["xfertime"]
        without_lag = records["queued"] + service
        held_back = (error == _CANCELLED) & never_sent(service, lag + without_lag)
        logged, place = np.unique(expected_rc, return_inverse=True)  # a log may have any number
        kinds = ((((error << 32) + status) << 1) + held_back) * len(logged) + place
        _, first, counts = np.unique(kinds, return_index=True, return_counts=True)
        self.count(error[first], status[first], expected_rc[first], held_back[first], counts)
        self.bytes += int(records["size"].sum())
        self.lag.add(lag)
        whole_time = (error != _DROPPED) & (error != _CANCELLED)
        self.response.add((lag + without_lag)[whole_time])
        self.without_lag.add(without_lag[whole_time])

    def count(self, error: _Ints, status: _Ints, logged: _Ints, held_back: NDArray[np.bool_], counts: _Ints) -> None:
        """Count requests by their kind; no times.

        Another thread may be reading: what makes `new_errors` larger is counted after what makes it smaller.

        Args:
            error: ``(n,)`` its number in `WORDS`.
            status: ``(n,)``; 0: none came.
            logged: ``(n,)`` status in the log, 0 where it had none.
            held_back: ``(n,)`` whether they were cancelled without being sent.
            counts: ``(n,)`` requests of each kind.
        """
        kinds = (error, status, logged, held_back, failed(error, status, logged), counts)
        for code, came, known, unsent, bad, count in zip(*(column.tolist() for column in kinds), strict=True):
            if code == _DROPPED:
                self.dropped += count
            elif unsent:
                self.not_sent += count
            else:
                self.sent += count
                self.net_error += count * (code != 0)
                self.ok += count * (code == 0 and came < 400)
                self.http_error += count * (code == 0 and came >= 400)
                self.failed += count * bad
                if not code and unexpected(came, known):
                    self.unexpected[f"{known or 'none'} → {came}"] += count
            if word := WORDS[code]:
                self.errors[word] += count
            if came:
                self.status[came] += count

    @property
    def ended(self) -> int:
        """Requests that are over: sent, not sent or dropped."""
        return self.sent + self.not_sent + self.dropped

    @property
    def completed(self) -> int:
        """Requests that ended with a response, whatever its status."""
        return self.ok + self.http_error

    @property
    def valid_up_to(self) -> float:
        """The share of the response times, the shortest, to which the generator's lag adds too little."""
        return self.response.valid_up_to(self.without_lag)

    def lag_in(self, p: float) -> float | None:
        """Seconds that the generator's lag adds to the p-quantile of the response times; None: it does not reach it."""
        response, without_lag = (each.quantile(p) or 0.0 for each in (self.response, self.without_lag))
        later = 1 - self.lag.up_to([float(harmless(1e6 * response)) / 1e6])[0] / max(self.lag.total, 1)
        if p <= self.valid_up_to or not is_reached(p, 1e6 * response, 1e6 * without_lag, later):
            return None
        return response - without_lag

    def sent_late(self, show: Callable[[float], str]) -> str:
        """Say which percentiles the generator's lag reaches; empty if none. ``show`` writes seconds."""
        added = {p: lag for p in given(self.response.total) if (lag := self.lag_in(p)) is not None}
        return sent_late(added, self.lag.quantile(1.0) or 0.0, show) if added else ""

    @property
    def new_errors(self) -> int:
        """Responses with a status of 400 or above, where the log has none of its class (4xx, 5xx)."""
        return self.failed - (self.net_error + self.not_sent - self.errors["cancelled"])

    def copy(self) -> "Counters":
        """A copy of the present state; another thread may be counting."""
        whole = replace(
            self,
            errors=self.errors.copy(),
            status=self.status.copy(),
            unexpected=self.unexpected.copy(),
            samples=self.samples.copy(),
            durations=self.durations.copy(),
        )
        for name in _TIMES:
            setattr(whole, name, getattr(self, name) + Histogram())
        return whole

    def sample(self, records: NDArray[np.void], rows: pl.DataFrame) -> None:
        """Count the service times by method; remember the first request of each error, and of each status from 400 on.

        ``rows`` are those of the plan, with ``op`` and ``url``.
        """
        self.durations.add(records, rows["op"])
        error, status = records["error"], records["status"]
        not_ok = ((error != 0) & (error != _DROPPED)) | ((error == 0) & (status >= 400))
        kinds = np.where(error != 0, error, status + len(WORDS))
        for at in np.flatnonzero(not_ok)[np.unique(kinds[not_ok], return_index=True)[1]].tolist():
            word = WORDS[error[at]] or f"status {status[at]}"
            if word not in self.samples:
                self.samples[word] = masked(f"{rows['op'][at]} {rows['url'][at]}")[:_SAMPLE_LENGTH]

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(
            **{
                item.name: getattr(self, item.name) + getattr(other, item.name)
                for item in fields(self)
                if item.name != "samples"
            },
            samples={**other.samples, **self.samples},
        )
