"""Inspects logs before they are replayed: their contents as a value, as tables and as a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import chain, count
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from logreplay.analysis.demand import wording
from logreplay.analysis.demand.coverage import coverage
from logreplay.analysis.demand.log_profile import LogProfile, profile_of
from logreplay.analysis.demand.replays import Replay, missing, replays
from logreplay.analysis.json_text import json_text
from logreplay.analysis.notebook_view import html as in_notebook
from logreplay.conversion import paths_of, reading_options, why_nothing
from logreplay.core import FORKED_THREADS
from logreplay.core.errors import LogreplayError
from logreplay.core.files import check_absent, removed_if_empty, write_atomically
from logreplay.core.frames import to_pandas
from logreplay.core.masking import masked
from logreplay.core.plural import number_of
from logreplay.core.record import to_csv
from logreplay.options.keywords import read, value_of
from logreplay.options.kinds import PATH, SWITCH
from logreplay.options.signatures import with_known_names
from logreplay.options.spelling import respelled, spelled, spelled_for_save
from logreplay.options.table import options_of
from logreplay.parsers.conversion.dataframe import log_rows
from logreplay.parsers.conversion.job import output_for
from logreplay.parsers.conversion.normalized_input import NORMALIZED
from logreplay.parsers.conversion.report import ConvertReport
from logreplay.replay.requests.log_stats import ORDER_OVER, LogFigures

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from logreplay.parsers.conversion.filters import Filter
    from logreplay.parsers.conversion.report import Progress

_TABLES: Final = ("seconds", "hours", "week", "routes", "clients", "agents")
"""The tables that `InspectResult.save` writes."""


def check_place(folder: Path, *, force: bool) -> None:
    """Check a folder for `InspectResult.save`: without ``force`` none of its files may be there."""
    for name in () if force else ("report.html", "summary.json", *(f"{table}.csv" for table in _TABLES)):
        check_absent(folder / name)


def account_of(logs: Sequence[str], report: ConvertReport) -> dict[str, Any]:
    """The part of a summary that a log without requests has, too."""
    counts = report.summary()
    names = ("format", "server", "resolution_s", "lines", "converted", "unreplayable", "rejected", "blank", "filtered")
    return {"log": list(logs), **{name: counts[name] for name in (*names, "reasons", "notes")}}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InspectResult:
    """The contents of a log, before it is replayed. It can be pickled and shown.

    Attributes:
        logs: their names.
        report: the account of every line.
        profile: the counts; `logreplay.analysis.demand.log_profile.LogProfile`.
        reading: options that it was read with, as words of the command line.
        ordered: False for a normalized CSV out of order, which cannot be run at its own times.
        function: the function whose parameters `missing` names; empty: a command.
    """

    logs: tuple[str, ...]
    report: ConvertReport
    profile: LogProfile
    reading: tuple[str, ...] = ()
    ordered: bool = True
    function: str = ""

    @property
    def sentence(self) -> str:
        """The requests and the span, in one line."""
        requests, (_, fact) = self.profile.requests, next(wording.sentences(self.profile))
        rest = fact.removeprefix(f"{requests:,}")
        return f"{', '.join(self.logs)}: {number_of(requests, 'request')}{rest}"

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Name and text of each fact."""
        told = [("coverage", text) for text in self.coverage] + [("note", text) for text in self.report.notes]
        return (*wording.sentences(self._computable), *told)

    @cached_property
    def coverage(self) -> tuple[str, ...]:
        """Times that one of several logs lacks, in words: the rates of these times may be too low."""
        profile = self.profile
        return tuple(coverage(self.report.per_file, profile.first, profile.last, profile.zone))

    @property
    def summary(self) -> dict[str, Any]:
        """The facts as ``inspect --json`` prints them: instants ISO 8601 UTC, times in seconds, rates in requests/s."""
        return {
            **account_of(self.logs, self.report),
            **wording.as_dict(self._computable),
            "replays": [
                {"command": each.command, "measures": each.gives, "leaves_out": [*each.lacks, *self.missing]}
                for each in self.replays
            ],
            "notes": [*self.report.notes, *self.coverage],
        }

    @property
    def replays(self) -> list[Replay]:
        """The commands that replay the log best, and the things that each leaves out beside those `missing`."""
        taken = {Path(log).name for log in self.logs}
        names = chain((str(output_for(self.logs[0])), "all.csv"), (f"all-{number}.csv" for number in count(2)))
        output = next(name for name in names if name not in taken)
        timed = self.profile.timed and not self.report.scrambled
        convert = len(self.logs) > 1 or bool(self.reading) or not self.ordered
        return replays(self.logs, self._computable, self.reading, output if convert else "", timed=timed)

    @property
    def missing(self) -> tuple[str, ...]:
        """The things that every replay of the log leaves out, since the log does not hold them."""
        found = missing(self.profile, self.report.unreplayable)
        return tuple(spelled(text, self.function) for text in found) if self.function else found

    @cached_property
    def seconds(self) -> "pd.DataFrame":
        """Seconds with a request: ``second`` (since 1970, UTC), ``requests``."""
        return to_pandas(self.profile.seconds)

    @cached_property
    def hours(self) -> "pd.DataFrame":
        """Every hour of the log: its start, ``covered`` seconds, requests, and rates in requests/s."""
        return to_pandas(self._computable.hours)

    @cached_property
    def week(self) -> "pd.DataFrame":
        """The hours of the week that the log covers, from Monday 0 on, in requests/s."""
        return to_pandas(self._computable.week)

    @cached_property
    def routes(self) -> "pd.DataFrame":
        """One row for each method and route: requests, share, failures, bytes, percentiles of the times in seconds."""
        return to_pandas(self.profile.routes)

    @cached_property
    def clients(self) -> "pd.DataFrame":
        """One row for each address: requests and different agents."""
        return to_pandas(self.profile.clients)

    @cached_property
    def agents(self) -> "pd.DataFrame":
        """One row for each agent: requests, and whether it names itself as a program."""
        return to_pandas(self.profile.agents)

    def html(self) -> str:
        """The page with pictures and tables, as a text."""
        from logreplay.analysis.output.log_page import html

        title, account = ", ".join(self.logs), self.report.sentence()
        reasons = dict(self.report.reasons.most_common())
        return html(title, self.profile, self.facts, self.replays, self.missing, account, reasons)

    @spelled_for_save()
    def save(self, folder: str | PathLike[str], *, force: bool = False) -> Path:
        """Write ``report.html``, ``summary.json`` and the tables as CSV into a folder, which is made; return it.

        Raises:
            LogreplayError: a file exists and ``force`` is not given, or cannot be written.
        """
        place: Path = value_of("folder", PATH, folder)
        force = value_of("force", SWITCH, force)
        tables = {f"{name}.csv": to_csv(getattr(self._computable, name), header=True) for name in _TABLES}
        texts = {"summary.json": json_text(self.summary) + "\n", "report.html": self.html()}
        check_place(place, force=force)
        with removed_if_empty(place):
            for name, text in (tables | texts).items():
                write_atomically(place / name, text, force=force)
        return place

    def plot(self, ax: "Axes | None" = None) -> "Figure | Axes":
        """Draw the rate over time: on ``ax``, which is returned, or as a figure of its own."""
        from logreplay.analysis.output.plots import demand, hockey_stick

        return hockey_stick.drawn(lambda own: demand.rate_over_time(own, self.profile), ax)

    @property
    def _computable(self) -> LogProfile:
        """The profile, after a check that Polars can compute from it: in a fork it would not end."""
        FORKED_THREADS.check()
        return self.profile

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.sentence}>"

    def _repr_html_(self) -> str:
        return in_notebook(self.sentence, [f"{name}: {text}" for name, text in self.facts[1:]])


def inspect_once(logs: Sequence[str], given: dict[str, Any], progress: "Progress | None" = None) -> InspectResult:
    """Inspect logs as `inspect` does, with options as people write them; ``progress`` is called about once a block."""
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


def no_request(logs: Sequence[str], report: ConvertReport, kept: "Filter") -> NoRequest:
    """The error to raise where no line of logs became a row: why, the account of the lines, and the first bad one."""
    name, number, reason = next(iter(report.first_bad), ("", 0, ""))
    first = f"; {name}, line {number}: {reason}" if reason else ""
    names = [*map(masked, logs)]
    error = NoRequest(f"{', '.join(names)}: {why_nothing(report, kept)}: {report.sentence()}{first}")
    error.summary = account_of(names, report)
    return error


def _words(given: Mapping[str, Any]) -> tuple[str, ...]:
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
    return replace(inspect_once(logs, values), function="run")
