"""Converts logs: from what a caller asks for to the result, with its counts, requests and rejected lines."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import polars as pl

from logreplay.analysis.verdict.checks import Check, CheckedAnswer
from logreplay.core import FORKED_THREADS
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import check_nameable
from logreplay.core.frames import to_pandas
from logreplay.core.masking import masked
from logreplay.core.rows import names_in, read_batches, whole
from logreplay.options.clashes import check
from logreplay.options.keywords import read
from logreplay.options.signatures import with_known_names
from logreplay.options.spelling import respelled, texts_spelled
from logreplay.parsers.conversion.filters import Filter, time_zone
from logreplay.parsers.conversion.job import ConvertOptions, output_for
from logreplay.parsers.conversion.job import convert as convert_logs
from logreplay.parsers.conversion.report import ConvertReport, Limit
from logreplay.parsers.conversion.writers import kind_of
from logreplay.runs.engines import cluster_executor
from logreplay.scratch import HoldsScratch, Scratch, rows_gone

if TYPE_CHECKING:
    import pandas as pd

    from logreplay.parsers.conversion.report import Progress

Kind = Literal["csv", "parquet", "pias", "vegeta", "k6", "gor", "har"]
_FILTERS: Final = ("since", "until", "match", "exclude", "status", "methods", "client")
"""Options that say which rows to keep."""
_REASON: Final = re.compile(" (?=(?:rejected|unreplayable): )")
"""The blank before the reason of a line; the name of a log may hold blanks, too."""


@dataclass(kw_only=True, eq=False, repr=False)
class ConvertResult(HoldsScratch, CheckedAnswer):
    """A log that was converted: a value that stands for its CSV wherever a path does, and can be pickled and shown.

    Attributes:
        report: the account of every line.
        log: the normalized log in its kind: CSV, Parquet and so on; None: it went to standard output.
        nothing: why no line became a row; empty if one did.
        rejects_log: the lines that became no row; None: there are none, or the command line made this.
        scratch: the temporary folder of the files; None: the caller chose their place.
    """

    report: ConvertReport
    log: Path | None
    nothing: str = ""
    rejects_log: Path | None = None
    scratch: Scratch | None = None

    @property
    def verdict(self) -> str:
        """``VALID``, or ``NOTHING`` if no line became a row."""
        return "NOTHING" if self.nothing else "VALID"

    @property
    def sentence(self) -> str:  # type: ignore[override]  # computed
        """The accounting line: each line of the log is in one of its counts."""
        return self.report.sentence()

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # computed
        """Notes on times, units and sizes."""
        return texts_spelled(tuple(self.report.notes), "convert")

    @property
    def checks(self) -> tuple[Check, ...]:
        """Always empty: an error of a log is raised."""
        return ()

    @property
    def converted(self) -> int:
        """Lines that became rows."""
        return self.report.converted

    @property
    def summary(self) -> Mapping[str, Any]:
        """The counts and the facts of the log, as ``convert --json`` prints them."""
        return self.report.summary()

    @property
    def folder(self) -> Path | None:
        """The folder of the files; None if they go with this result, or are gone."""
        return self.log.parent if self.log and not self.scratch and self.log.exists() else None

    @cached_property
    def requests(self) -> "pd.DataFrame":
        """One row for each request, in order of time: the columns of the normalized CSV. Texts are categories.

        Raises:
            LogreplayError: the file is gone, or of a kind that is not read.
        """
        FORKED_THREADS.check()
        path = self._file()
        frames = whole(read_batches(path, names_in(path)), path)
        return to_pandas(pl.concat(frames), categories=True)

    @cached_property
    def rejects(self) -> "pd.DataFrame":
        """One row for each line that became no row: ``place``, ``reason``, ``line``.

        Raises:
            LogreplayError: the file is gone.
        """
        rows = []
        if self.rejects_log:
            self._file()
            for text in self.rejects_log.read_bytes().decode(errors="replace").split("\n")[:-1]:
                head, _, line = text.removesuffix("\r").partition("\t")
                place, *reason = _REASON.split(head, maxsplit=1)
                rows.append((place, "".join(reason), line))
        return to_pandas(pl.DataFrame(rows, dict.fromkeys(("place", "reason", "line"), pl.String), orient="row"))

    def __fspath__(self) -> str:
        return str(self._file())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("requests", "rejects")} | {
            "scratch": None
        }

    def _file(self) -> Path:
        """The file that was written; raises if it is gone, or went to standard output."""
        if self.log and self.log.exists():
            return self.log
        if self.nothing or not self.log:
            raise LogreplayError(f"no rows: {self.nothing or 'they went to standard output'}")
        raise rows_gone(self.log, "call with output=")


def reading_options(**given: Any) -> ConvertOptions:
    """How to read logs, and which rows to keep: attributes of `ConvertOptions` and `Filter` as people write them."""
    filters = {name: given.pop(name) or "" for name in _FILTERS}
    kept = Filter(method=filters.pop("methods"), **filters)
    try:
        if given["timezone"]:
            time_zone(given["timezone"])
        kept.condition(given["timezone"] or "")
    except LogreplayError as error:
        raise UsageError(str(error)) from None
    return ConvertOptions(filter=kept, **{name: value for name, value in given.items() if value is not None})


def check_reading(given: Mapping[str, str]) -> None:
    """Check values of `convert`, `inspect` or `plan` that their kinds do not check."""
    names = (*_FILTERS, "timezone")
    reading_options(**{name: given.get(name) for name in names})
    _limit(given.get("max_rejects"), strict=False)


def convert_once(
    logs: tuple[str, ...],
    output: str | None,
    progress: "Progress | None" = None,
    *,
    cluster: str | None,
    strict: bool,
    max_rejects: str | None,
    **given: Any,
) -> ConvertResult:
    """Convert logs; ``output`` None: a file named after the first log, in the current folder.

    ``-`` is standard input among the logs, and standard output; ``given`` is as for `reading_options`.
    """
    target = output or str(output_for(logs[0], given["to"] or ""))
    try:
        kind_of(target, given["to"] or "")
    except LogreplayError as error:
        raise UsageError(str(error)) from None
    check("convert", {"strict": strict, "max_rejects": max_rejects})
    options = replace(reading_options(**given), limit=_limit(max_rejects, strict=strict))
    for name in (*logs, target):
        check_nameable(name)
    with cluster_executor(cluster) as executor:
        report = convert_logs(logs, target, options, progress, executor)
    nothing = ""
    if not report.converted:
        names = ", ".join(map(masked, logs))
        nothing = f"{names}: {why_nothing(report, options.filter)}: nothing was converted"
    return ConvertResult(report=report, log=None if target == "-" else Path(target), nothing=nothing)


def why_nothing(report: ConvertReport, kept: Filter) -> str:
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
        "max_rejects": None if max_rejects is None else str(max_rejects),
        "output": fspath(output) if isinstance(output, PathLike) else output,
    }  # fmt: skip
    logs = paths_of(log, *more)
    values = read("convert", {name: value for name, value in given.items() if not isinstance(value, str) or value})
    if (place := values.pop("output")) == "-":
        raise UsageError("output='-': a function prints nothing; name a file")
    scratch = Scratch() if place is None else None
    try:
        target = str(scratch.path / output_for(logs[0], to or "").name) if scratch else place
        result = convert_once(logs, target, **values)
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
    """The paths of the logs that a function was called with: the first argument may be a list of them."""
    logs = [*(log if isinstance(log, list | tuple) and log else [log]), *more]
    for each in logs:
        if not isinstance(each, str | PathLike):
            told = f"log={type(each).__name__}: expected the path of a log, or a list of paths"
            raise UsageError(told, ("log",))
        check_nameable(each)
    return tuple(fspath(each) for each in logs)


def _limit(text: str | None, *, strict: bool) -> Limit:
    """How many lines may be rejected."""
    try:
        return Limit(count=0) if strict else Limit.read(text) if text else Limit()
    except ValueError:
        raise UsageError(
            f"--max-rejects {text!r}: expected a number of lines such as 10, or a share such as 2% or 0.02"
        ) from None
