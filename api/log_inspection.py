"""Inspects logs before they are replayed."""

import shlex
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Final, Literal

from logreplay.analysis.demand.log_profile import profile_of
from logreplay.conversion import reading_options, text_of
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.headers import HEADERS
from logreplay.core.masking import masked
from logreplay.inspect_result import InspectResult
from logreplay.options.keywords import read
from logreplay.options.spelling import respelled
from logreplay.options.table import options_of
from logreplay.parsers.conversion.dataframe import log_rows
from logreplay.parsers.conversion.normalized_input import NORMALIZED
from logreplay.parsers.conversion.report import ConvertReport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from logreplay.parsers.conversion.ingest import Progress

_NO_REQUEST: Final = "no line is a request that can be replayed"


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
    options, report, headers = reading_options(**given), ConvertReport(), False

    def rows() -> "Iterator[pl.DataFrame]":
        nonlocal headers
        for part in log_rows(logs, options, report, progress):
            headers = headers or (HEADERS in part.columns and part[HEADERS].count() > 0)
            yield part

    profile = profile_of(rows(), zone_of(options.timezone))
    names = tuple(map(masked, logs))
    if profile is None:
        name, number, reason = next(iter(report.first_bad), ("", 0, ""))
        why = f"; {name}, line {number}: {reason}" if reason else ""
        none = f"no request is left after {shlex.join(_words(given))}" if report.filtered else _NO_REQUEST
        raise LogreplayError(f"{', '.join(names)}: {none}: {report.sentence()}{why}")
    zoned = [note for note in report.notes if note.startswith("--timezone")]  # each time has a zone of its own
    if zoned or (report.format == NORMALIZED and not (given["since"] or given["until"])):
        report.notes = [note for note in report.notes if note not in zoned]
        given = {**given, "timezone": None}
    return InspectResult(logs=names, report=report, profile=profile, headers=headers, reading=_words(given))


def zone_of(name: str) -> str:
    """The time zone of the hours; empty: UTC.

    Raises:
        UsageError: Polars, which computes with it, does not know it.
    """
    import polars as pl

    try:
        pl.Series([0]).cast(pl.Datetime("us", name or "UTC"))
    except pl.exceptions.ComputeError:
        raise UsageError(f"--timezone {name!r}: write a name of the IANA such as Europe/Berlin or UTC") from None
    return name or "UTC"


def _words(given: "Mapping[str, Any]") -> tuple[str, ...]:
    """The given options as words of `convert`."""
    options = options_of("inspect", python=True)
    said = [(option, given.get("method" if option.name == "methods" else option.name)) for option in options]
    words = [(option.names[0], str(value)) for option, value in said if value not in (None, "", option.default)]
    return tuple(word for pair in words for word in pair)


@respelled("inspect")
def inspect(
    log: str | PathLike[str],
    *more: str | PathLike[str],
    format: str = "auto",
    timezone: str = "",
    time_unit: Literal["s", "ms", "us", "ns"] | None = None,
    stamped: Literal["start", "end"] | None = None,
    since: str = "",
    until: str = "",
    match: str = "",
    exclude: str = "",
    status: int | str = "",
    methods: str = "",
    client: str = "",
) -> InspectResult:
    """Describe a log: rates and peaks, bursts, routes, clients, and the commands that replay it.

    Reads the log once, in bounded memory; writes nothing.

    Args:
        log: path or address of an access log, of captured requests, or of a normalized CSV.
        more: further logs.
        format: name, ``log_format`` or ``LogFormat`` string, or ``nginx.conf#name``.
        timezone: of the hours of the week, and of times without offset, such as ``Europe/Berlin``; empty: UTC.
        time_unit: of durations; None: by the format.
        stamped: meaning of times, start or end of a request; None: by the format.
        since: keep requests that start at or after this time, ISO 8601.
        until: keep requests that start before this time.
        match: keep URLs that contain this regular expression.
        exclude: drop URLs that contain it.
        status: keep these statuses: ``"200,3xx,500-504"``.
        methods: keep these methods: ``"GET,HEAD"``.
        client: keep these addresses and networks.

    Raises:
        UsageError: a parameter is wrong.
        LogreplayError: a log cannot be read, or no line is a request.
    """
    given = {
        "format": format, "timezone": timezone, "time_unit": time_unit, "stamped": stamped, "since": since,
        "until": until, "match": match, "exclude": exclude, "status": text_of(status), "methods": methods,
        "client": client,
    }  # fmt: skip
    for each in (log, *more):
        if not isinstance(each, str | PathLike):
            raise UsageError(f"log={type(each).__name__}: expected the path of a log; several are inspect(a, b)")
    values = read("inspect", {name: value for name, value in given.items() if value != ""})
    return inspect_once([fspath(each) for each in (log, *more)], {"method": values.pop("methods"), **values})
