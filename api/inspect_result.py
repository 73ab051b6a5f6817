"""The result of `inspect`: the contents of a log as a value, as tables and as a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from logreplay.analysis.demand import wording
from logreplay.analysis.demand.coverage import coverage
from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.demand.replays import Replay, missing, replays
from logreplay.analysis.json_text import json_text
from logreplay.core import FORKED_THREADS
from logreplay.core.files import check_absent, removed_if_empty, write_atomically
from logreplay.core.plural import number_of
from logreplay.core.record import to_csv
from logreplay.options.spelling import spelled_for_save
from logreplay.parsers.conversion.job import output_for
from logreplay.results import frame_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from logreplay.parsers.conversion.report import ConvertReport

_TABLES: Final = ("seconds", "hours", "week", "routes", "clients", "agents")
"""The tables that `InspectResult.save` writes."""


def check_place(folder: Path, *, force: bool) -> None:
    """Check a folder for `InspectResult.save`.

    Raises:
        LogreplayError: a file exists in it and ``force`` is not given.
    """
    for name in () if force else ("report.html", "summary.json", *(f"{table}.csv" for table in _TABLES)):
        check_absent(folder / name)


def account_of(logs: Sequence[str], report: "ConvertReport") -> dict[str, Any]:
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
    """

    logs: tuple[str, ...]
    report: "ConvertReport"
    profile: LogProfile
    reading: tuple[str, ...] = ()
    ordered: bool = True

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
        return missing(self.profile, self.report.unreplayable)

    @cached_property
    def seconds(self) -> "pd.DataFrame":
        """Seconds with a request: ``second`` (since 1970, UTC), ``requests``."""
        return frame_of(self.profile.seconds)

    @cached_property
    def hours(self) -> "pd.DataFrame":
        """Every hour of the log: its start, ``covered`` seconds, requests, and rates in requests/s."""
        return frame_of(self._computable.hours)

    @cached_property
    def week(self) -> "pd.DataFrame":
        """The hours of the week that the log covers, from Monday 0 on, in requests/s."""
        return frame_of(self._computable.week)

    @cached_property
    def routes(self) -> "pd.DataFrame":
        """One row for each method and route: requests, share, failures, bytes, percentiles of the times in seconds."""
        return frame_of(self.profile.routes)

    @cached_property
    def clients(self) -> "pd.DataFrame":
        """One row for each address: requests and different agents."""
        return frame_of(self.profile.clients)

    @cached_property
    def agents(self) -> "pd.DataFrame":
        """One row for each agent: requests, and whether it names itself as a program."""
        return frame_of(self.profile.agents)

    def html(self) -> str:
        """The page with pictures and tables, as a text."""
        from logreplay.analysis.output.log_page import html

        title, account = ", ".join(self.logs), self.report.sentence()
        reasons = dict(self.report.reasons.most_common())
        return html(title, self.profile, self.facts, self.replays, self.missing, account, reasons)

    @spelled_for_save()
    def save(self, folder: str | PathLike[str], *, force: bool = False) -> None:
        """Write ``report.html``, ``summary.json`` and the tables as CSV into a folder, which is made.

        Raises:
            LogreplayError: a file exists and ``force`` is not given, or cannot be written.
        """
        place = Path(folder)
        tables = {f"{name}.csv": to_csv(getattr(self._computable, name), header=True) for name in _TABLES}
        texts = {"summary.json": json_text(self.summary) + "\n", "report.html": self.html()}
        check_place(place, force=force)
        with removed_if_empty(place):
            for name, text in (tables | texts).items():
                write_atomically(place / name, text, force=force)

    def plot(self, ax: "Axes | None" = None) -> "Figure | Axes":
        """Draw the rate over time: on ``ax``, which is returned, or as a figure of its own."""
        from logreplay.analysis.output.plots import demand, hockey_stick

        if ax is not None:
            return demand.rate_over_time(ax, self.profile)
        return hockey_stick.figure(lambda own: demand.rate_over_time(own, self.profile))

    @property
    def _computable(self) -> LogProfile:
        """The profile, after a check that Polars can compute from it.

        Raises:
            LogreplayError: this process is a fork, in which Polars would not end.
        """
        FORKED_THREADS.check()
        return self.profile

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.sentence}>"

    def _repr_html_(self) -> str:
        from logreplay.analysis.notebook_view import html

        return html(self.sentence, [f"{name}: {text}" for name, text in self.facts[1:]])
