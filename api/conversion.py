"""Converts logs: from what a caller asks for to the result."""

import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from logreplay.convert_result import ConvertResult
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import check_nameable
from logreplay.core.masking import masked
from logreplay.options.clashes import check
from logreplay.options.keywords import read
from logreplay.options.signatures import with_known_names
from logreplay.options.spelling import respelled
from logreplay.parsers.conversion.filters import Filter, time_zone
from logreplay.parsers.conversion.job import ConvertOptions, output_for
from logreplay.parsers.conversion.job import convert as convert_logs
from logreplay.parsers.conversion.report import Limit
from logreplay.parsers.conversion.writers import kind_of
from logreplay.runs.engines import cluster_executor
from logreplay.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logreplay.parsers.conversion.report import ConvertReport, Progress

Kind = Literal["csv", "parquet", "pias", "vegeta", "k6", "gor", "har"]
_FILTERS: Final = ("since", "until", "match", "exclude", "status", "methods", "client")
"""Options that say which rows to keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertCall:
    """A conversion, as its caller asked for it.

    Attributes:
        logs: paths or addresses; ``-`` is standard input.
        output: the file to make; ``-`` is standard output.
        options: options of the conversion.
        cluster: a Dask scheduler that parses the blocks; None: threads of this process.
    """

    logs: tuple[str, ...]
    output: str
    options: ConvertOptions
    cluster: str | None = None

    @classmethod
    def of(
        cls,
        logs: tuple[str, ...],
        output: str | None,
        *,
        cluster: str | None = None,
        strict: bool = False,
        max_rejects: str | None = None,
        **given: Any,
    ) -> Self:
        """Read options as people write them.

        Args:
            logs: as of the call.
            output: likewise; None: named after the first log, in the current folder.
            cluster: as of the call.
            strict: no line may be rejected.
            max_rejects: largest number or share of rejected lines; None: any number.
            given: as for `reading_options`.

        Raises:
            UsageError: a value is wrong.
        """
        target = output or str(output_for(logs[0], given["to"] or ""))
        try:
            kind_of(target, given["to"] or "")
        except LogreplayError as error:
            raise UsageError(str(error)) from None
        check("convert", {"strict": strict, "max_rejects": max_rejects})
        options = replace(reading_options(**given), limit=_limit(max_rejects, strict=strict))
        return cls(logs=logs, output=target, options=options, cluster=cluster)


def reading_options(**given: Any) -> ConvertOptions:
    """How to read logs, and which rows to keep, from options as people write them.

    Args:
        given: the attributes of `ConvertOptions` and the options of a `Filter`; None: the default.

    Raises:
        UsageError: a value is wrong.
    """
    filters = {name: given.pop(name) or "" for name in _FILTERS}
    kept = Filter(method=filters.pop("methods"), **filters)
    try:
        if given["timezone"]:
            time_zone(given["timezone"])
        kept.condition(given["timezone"] or "")
    except LogreplayError as error:
        raise UsageError(str(error)) from None
    return ConvertOptions(filter=kept, **{name: value for name, value in given.items() if value is not None})


def convert_once(call: ConvertCall, progress: "Progress | None" = None) -> ConvertResult:
    """Convert logs.

    Args:
        call: input, output and options of the conversion.
        progress: called about once a block.

    Raises:
        LogreplayError: a log cannot be read, or the output not be written.
        TooManyRejects: more lines were rejected than the call allows.
    """
    for name in (*call.logs, call.output):
        check_nameable(name)
    with cluster_executor(call.cluster) as executor:
        report = convert_logs(call.logs, call.output, call.options, progress, executor)
    nothing = ""
    if not report.converted:
        names = ", ".join(map(masked, call.logs))
        nothing = f"{names}: {why_nothing(report, call.options.filter)}: nothing was converted"
    return ConvertResult(report=report, log=None if call.output == "-" else Path(call.output), nothing=nothing)


def why_nothing(report: "ConvertReport", kept: Filter) -> str:
    """Why no line of a log became a row."""
    if not report.filtered:
        return "no line is a request that can be replayed"
    filters = " ".join(f"--{name} {shlex.quote(value)}" for name, value in asdict(kept).items() if value)
    return f"no request is left after {filters}"


@with_known_names
@respelled("convert")
def convert(
    log: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    *more: str | PathLike[str],
    output: str | PathLike[str] | None = None,
    format: str = "auto",
    to: Kind | None = None,
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
    redact: bool = False,
    rejects: str | PathLike[str] | None = None,
    strict: bool = False,
    max_rejects: float | str | None = None,
    cluster: str | None = None,
    force: bool = False,
) -> ConvertResult:
    """Convert access logs and captured requests to the normalized CSV that the other functions read.

    Several logs become one in order of time. Prints nothing, and writes only to ``output`` and beside it. Without it
    the rows lie in a temporary folder that goes with the result.

    Args:
        log: path or address, plain or compressed, or a list of them.
        more: further logs.
        output: the file to make: .csv, .csv.gz, .csv.zst, .parquet, .pias, .gor or .har.
        format: name, ``log_format`` or ``LogFormat`` string, or ``nginx.conf#name``.
        to: kind of output; None: by the ending of ``output``.
        timezone: time zone of times without offset, such as ``Europe/Berlin``; empty: UTC.
        time_unit: unit of durations; None: by the format.
        stamped: meaning of times, start or end of a request; None: by the format.
        since: keep requests that start at or after this time, ISO 8601 or a `datetime`.
        until: keep requests that start before this time.
        match: keep URLs that contain this regular expression.
        exclude: drop URLs that contain it.
        status: keep these statuses: ``"200,3xx,500-504"`` or ``[404, "5xx"]``.
        methods: keep these methods: ``"GET,HEAD"`` or a list of them.
        client: keep these addresses and networks.
        redact: replace values in URLs, headers and bodies by pseudonyms.
        rejects: file for lines that became no row; None: beside the output.
        strict: stop at the first rejected line.
        max_rejects: most lines that may be rejected, a number, or a share such as ``"2%"``.
        cluster: a Dask scheduler that parses the log, or ``local:N``.
        force: replace existing results.

    Raises:
        UsageError: a parameter is wrong.
        TooManyRejects: more lines were rejected than ``strict`` and ``max_rejects`` allow.
        LogreplayError: a log cannot be read, the output not be written, or no line is a request.
    """
    given = {
        "format": format, "to": to, "timezone": timezone, "time_unit": time_unit, "stamped": stamped, "since": since,
        "until": until, "match": match, "exclude": exclude, "status": status, "methods": methods,
        "client": client, "redact": redact, "rejects": rejects, "strict": strict, "cluster": cluster, "force": force,
        "max_rejects": text_of(max_rejects), "output": fspath(output) if isinstance(output, PathLike) else output,
    }  # fmt: skip
    logs = paths_of(log, *more)
    values = read("convert", {name: value for name, value in given.items() if not isinstance(value, str) or value})
    if (place := values.pop("output")) == "-":
        raise UsageError("output='-': a function prints nothing; name a file")
    scratch = Scratch() if place is None else None
    try:
        target = str(scratch.path / output_for(logs[0], to or "").name) if scratch else place
        result = convert_once(ConvertCall.of(logs, target, **values))
        if result.nothing:
            raise LogreplayError(result.nothing)
    except BaseException:
        if scratch:
            scratch.close()
        raise
    result.scratch, result.log = scratch, Path(target).absolute()
    result.rejects_log = Path(result.report.rejects).absolute() if result.report.rejects else None
    return result


def paths_of(log: object, *more: object) -> tuple[str, ...]:
    """The paths of the logs that a function was called with: the first argument may be a list of them.

    Raises:
        UsageError: one is not a path, or the list is empty.
    """
    logs = [*(log if isinstance(log, list | tuple) and log else [log]), *more]
    for each in logs:
        if not isinstance(each, str | PathLike):
            told = f"log={type(each).__name__}: expected the path of a log, or a list of paths"
            raise UsageError(told, ("log",))
        check_nameable(each)
    return tuple(fspath(each) for each in logs)


def text_of(value: float | str | None) -> str | None:
    """A number, or a text, as the command line would have it."""
    return None if value is None else str(value)


def _limit(text: str | None, *, strict: bool) -> Limit:
    """How many lines may be rejected.

    Raises:
        UsageError: neither a number nor a share.
    """
    try:
        return Limit(count=0) if strict else Limit.read(text) if text else Limit()
    except ValueError:
        raise UsageError(
            f"--max-rejects {text!r}: expected a number of lines such as 10, or a share such as 2% or 0.02"
        ) from None
