"""Inspects logs before they are replayed."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from logreplay.analysis.demand.log_profile import profile_of
from logreplay.conversion import paths_of, reading_options, why_nothing
from logreplay.core.errors import LogreplayError
from logreplay.core.masking import masked
from logreplay.inspect_result import InspectResult, account_of
from logreplay.options.keywords import read
from logreplay.options.signatures import with_known_names
from logreplay.options.spelling import respelled
from logreplay.options.table import options_of
from logreplay.parsers.conversion.dataframe import log_rows
from logreplay.parsers.conversion.normalized_input import NORMALIZED
from logreplay.parsers.conversion.report import ConvertReport
from logreplay.replay.requests.log_stats import ORDER_OVER, LogFigures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from logreplay.parsers.conversion.filters import Filter
    from logreplay.parsers.conversion.report import Progress


def inspect_once(logs: "Sequence[str]", given: dict[str, Any], progress: "Progress | None" = None) -> InspectResult:
    """Inspect logs.

    Args:
        logs: paths or addresses; ``-`` is standard input.
        given: options as people write them, by name.
        progress: called about once a block.

    Raises:
        UsageError: a value is wrong.
        LogreplayError: a log cannot be read, or no line is a request.
    """
    options, report = reading_options(**given), ConvertReport()
    order = _Order()
    profile = profile_of(order.of(log_rows(logs, options, report, progress)), options.timezone or "UTC")
    if profile is None:
        raise no_request(logs, report, options.filter)
    if report.idle_zone or (report.format == NORMALIZED and options.idle_zone):
        report.leave_out_idle_zone()
        given = {**given, "timezone": None}
    ordered = report.format != NORMALIZED or not order.lost
    names = tuple(map(masked, logs))
    return InspectResult(logs=names, report=report, profile=profile, reading=_words(given), ordered=ordered)


class _Order:
    """Checks the order of rows as `run --speed` does, which reads a normalized CSV as it stands.

    Attributes:
        lost: True where `run --speed` refuses them.
    """

    def __init__(self) -> None:
        self._figures, self.lost = LogFigures(), False

    def of(self, rows: "Iterable[pl.DataFrame]") -> "Iterator[pl.DataFrame]":
        for part in rows:
            self._figures.add(part["start"].to_numpy())
            self.lost |= self._figures.out_of_order()
            yield part
        self.lost |= self._figures.out_of_order(few=self._figures.requests < ORDER_OVER)


class NoRequest(LogreplayError):
    """Raised for logs without a line that is a request.

    Attributes:
        summary: the account of their lines, with the keys of `InspectResult.summary`.
    """

    summary: "dict[str, Any]"


def no_request(logs: "Sequence[str]", report: ConvertReport, kept: "Filter") -> NoRequest:
    """The error to raise where no line of logs became a row: why, the account of the lines, and the first bad one."""
    name, number, reason = next(iter(report.first_bad), ("", 0, ""))
    first = f"; {name}, line {number}: {reason}" if reason else ""
    names = [*map(masked, logs)]
    error = NoRequest(f"{', '.join(names)}: {why_nothing(report, kept)}: {report.sentence()}{first}")
    error.summary = account_of(names, report)
    return error


def _words(given: "Mapping[str, Any]") -> tuple[str, ...]:
    """The given options as words of `convert`."""
    said = [(option, given[option.name]) for option in options_of("inspect", python=True)]
    words = [(option.names[0], str(value)) for option, value in said if value not in (None, "", option.default)]
    return tuple(word for pair in words for word in pair)


@with_known_names
@respelled("inspect")
def inspect(
    log: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    *more: str | PathLike[str],
    format: str = "auto",
    timezone: str = "",
    time_unit: Literal["s", "ms", "us", "ns"] | None = None,
    stamped: Literal["start", "end"] | None = None,
    since: datetime | str = "",
    until: datetime | str = "",
    match: str = "",
    exclude: str = "",
    status: int | str | Iterable[int | str] = "",
    methods: str | Iterable[str] = "",
    client: str = "",
) -> InspectResult:
    """Describe a log: rates and peaks, bursts, routes, clients, and the commands that replay it.

    Reads the log once, in bounded memory; writes nothing.

    Args:
        log: path or address of an access log, of captured requests, or of a normalized CSV; or a list of them.
        more: further logs.
        format: name, ``log_format`` or ``LogFormat`` string, or ``nginx.conf#name``.
        timezone: time zone of the hours of the week, and of times without offset, such as ``Europe/Berlin``; empty:
            UTC.
        time_unit: unit of durations; None: by the format.
        stamped: meaning of times, start or end of a request; None: by the format.
        since: keep requests that start at or after this time, ISO 8601 or a `datetime`.
        until: keep requests that start before this time.
        match: keep URLs that contain this regular expression.
        exclude: drop URLs that contain it.
        status: keep these statuses: ``"200,3xx,500-504"`` or ``[404, "5xx"]``.
        methods: keep these methods: ``"GET,HEAD"`` or a list of them.
        client: keep these addresses and networks.

    Raises:
        UsageError: a parameter is wrong.
        LogreplayError: a log cannot be read, or no line is a request.
    """
    given = {
        "format": format, "timezone": timezone, "time_unit": time_unit, "stamped": stamped, "since": since,
        "until": until, "match": match, "exclude": exclude, "status": status, "methods": methods,
        "client": client,
    }  # fmt: skip
    logs = paths_of(log, *more)
    values = read("inspect", {name: value for name, value in given.items() if not isinstance(value, str) or value})
    return inspect_once(logs, values)
