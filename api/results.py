"""Results of calls that send: their tables, pictures and files."""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, overload

import polars as pl

from logreplay.analysis.format_time import show
from logreplay.analysis.notebook_view import html
from logreplay.analysis.output.file_names import companion_files
from logreplay.core.errors import LogreplayError
from logreplay.core.files import atomic_path, writing
from logreplay.core.frames import to_pandas
from logreplay.core.quantities import Seconds
from logreplay.core.record import RESULT_COLUMNS
from logreplay.options.keywords import value_of
from logreplay.options.kinds import DURATION, PATH, SWITCH, TEXT
from logreplay.options.spelling import spelled, spelled_for_save
from logreplay.scratch import HoldsScratch, Scratch, rows_gone

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from logreplay.analysis.analyze import Analysis
    from logreplay.analysis.input.arrays import RequestArrays
    from logreplay.analysis.limit.sentences import TargetLimit
    from logreplay.analysis.verdict.checks import Check
    from logreplay.replay.results.outcome import Outcome
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.senders.contract import Exchange

_LAZY: Final = ("requests", "seconds", "steps", "routes", "pairs")
"""Data frames that are not pickled: they are made again from the small tables and the rows."""


@dataclass(kw_only=True, eq=False, repr=False)
class Result(HoldsScratch):
    """A measurement: a value that can be copied, pickled and shown, also if it is invalid, interrupted or empty.

    It stands for its result log or folder wherever a path does. Rows lie on disk and are read when they are asked for;
    a pickle has the summary and the small tables, and rows only if they were given a place.

    Attributes:
        summary: the contents of summary.json; empty if no request was due.
        files: the result log, and the files next to it.
        step_table: rows of ``summary["steps"]`` as they are shown: a figure that falls on a failed request is inf.
        findings: observations that bear on the measurement.
        checks: the conditions of the call, and the validity.
        stopped: why it ended before its plan did, in words; empty if it did not.
        left_out: which requests were not sent, and what a hook took, in sentences.
        notes: sentences that were told while it ran.
        scratch: the temporary folder of the files; None: the caller chose their place.
        function: the function whose parameters `sentence` names; empty: a command.
    """

    summary: dict[str, Any]
    files: tuple[Path, ...]
    step_table: pl.DataFrame | None = None
    findings: "tuple[Finding, ...]" = ()
    checks: "tuple[Check, ...]" = ()
    stopped: str = ""
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    scratch: Scratch | None = None
    function: str = ""

    @property
    def verdict(self) -> str:
        """``VALID``, or why the measurement does not describe the target; empty without a measurement or a summary."""
        return str(self.summary.get("verdict", ""))

    @property
    def valid(self) -> bool:
        """Whether the target was measured, and not this machine or nothing but failures."""
        return self.verdict == "VALID"

    @property
    def passed(self) -> bool:
        """Whether every check was made and holds; False if nothing was measured, or not all that was planned."""
        return bool(self.summary) and not self.stopped and all(check.state == "passed" for check in self.checks)

    @property
    def sentence(self) -> str:
        """The result in one line."""
        return self._spelled(": ".join(filter(None, (self.verdict, self.summary.get("answer")))))

    @property
    def limit(self) -> "TargetLimit | None":
        """Limit of a sweep; None of any other result. Its ``kind`` is None if it cannot be told."""
        from logreplay.analysis.limit.sentences import TargetLimit

        limit = self.summary.get("limit")
        if not limit:
            return None
        found = TargetLimit.of(limit)
        return replace(found, text=self._spelled(found.text), advice=self._spelled(found.advice))

    @property
    def folder(self) -> Path | None:
        """The folder of the files; None if they are removed with this result, or are gone."""
        return None if self.scratch or not self.files[0].exists() else self.files[0].parent

    @cached_property
    def requests(self) -> "pd.DataFrame":
        """One row for each request: the columns of the result log, and ``service``, ``response`` and ``good``.

        Texts are categories. Times in seconds.

        Raises:
            LogreplayError: the rows are gone.
        """
        from logreplay.analysis.analyze import rows

        return self._frame(
            (*RESULT_COLUMNS, "service", "response", "good"), lambda name: rows(self._logs[name]), categories=True
        )

    @cached_property
    def seconds(self) -> "pd.DataFrame":
        """One row for each second, as `logreplay.analysis.seconds` returns them. Times in seconds."""
        from logreplay.analysis.tables.aggregate import SECONDS

        return self._frame(SECONDS, lambda name: self._tables[name].analysis.seconds)

    @cached_property
    def steps(self) -> "pd.DataFrame":
        """One row for each step, as `logreplay.analysis.steps` returns them. Times in seconds, rates in requests/s."""
        return self._frame(("step", "rate"), lambda name: self._tables[name].analysis.steps)

    @cached_property
    def routes(self) -> "pd.DataFrame":
        """One row for each route, of several steps one for each step and route. Times in seconds."""
        return self._frame(("route", "requests"), lambda name: self._tables[name].routes)

    @overload
    def plot(self, kind: str | None = None, *, slo: Seconds | None = None, linear: bool = False) -> "Figure": ...

    @overload
    def plot(self, kind: str | None, ax: "Axes", *, slo: Seconds | None = None, linear: bool = False) -> "Axes": ...

    @overload
    def plot(
        self, kind: str | None = None, *, ax: "Axes", slo: Seconds | None = None, linear: bool = False
    ) -> "Axes": ...

    def plot(
        self, kind: str | None = None, ax: "Axes | None" = None, *, slo: Seconds | None = None, linear: bool = False
    ) -> "Figure | Axes":
        """Draw a picture.

        Args:
            kind: ``hockeystick``, ``achieved``, ``throughput``, ``percentiles``, ``heatmap`` or ``timeline``; of a
                search also ``search``, its default; None: the hockey stick of several rates, the timeline of one.
            ax: where to draw; None: on a new figure, which is returned.
            slo: a bound of the response time to draw.
            linear: linear time axis of the hockey stick.

        Raises:
            UsageError: the data do not allow this picture, or a value is wrong.
            LogreplayError: nothing was measured, the rows are gone, or matplotlib is not installed.
        """
        from logreplay.analysis.output.plots.hockey_stick import drawn

        if not self.summary:
            raise LogreplayError(f"nothing to draw: {self.sentence}")
        asked = None if kind is None else value_of("kind", TEXT, kind)
        bound = None if slo is None else value_of("slo", DURATION, slo)
        return drawn(self._drawing(asked, bound, value_of("linear", SWITCH, linear)), ax)

    @spelled_for_save()
    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the result log to ``path``, and the files that belong to it beside it; they are its place from now on.

        Args:
            path: a new result log, with the ending of the present one.
            force: replace an earlier one, and the files that belong to it.

        Raises:
            TakenError: one of these files exists, and ``force`` was not given.
            LogreplayError: nothing was measured, the rows are gone, the ending is another, or it cannot be written.
        """
        from logreplay.replay.results.result_log import check_new, form_of  # loads the senders

        source, path = self._rows(), Path(value_of("path", PATH, path))
        force = value_of("force", SWITCH, force)
        check_new(path, force=force, companion_files=companion_files)
        if (form := form_of(source)) != form_of(path):
            raise LogreplayError(f"{path}: the rows are copied unchanged; name a file that ends in {form}")
        pairs = [*zip(companion_files(source), companion_files(path), strict=True), (source, path)]
        with writing(path):
            for old, new in pairs:
                if old.exists():
                    with atomic_path(new, force=True) as fresh:
                        shutil.copyfile(old, fresh)
                else:  # an earlier result's would be taken for this one's
                    new.unlink(missing_ok=True)
        places = dict(pairs)
        self.files = absolute(places.get(file, file) for file in self.files)
        self.scratch = None  # the folder goes with its last copy
        return path

    def __fspath__(self) -> str:
        return str(self._rows())

    def __repr__(self) -> str:
        ended = f"; {self.stopped}" if self.stopped and self.stopped not in self.sentence else ""
        return f"<{type(self).__name__} {self.sentence}{ended}>"

    def _repr_html_(self) -> str:
        return self._html

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self.__copy__()  # nothing in it changes; the copies share their rows

    def close(self) -> None:
        """Remove the files, if they go with this result; its small tables stay."""
        if self.scratch:
            self._keep_tables()
        super().close()

    def __getstate__(self) -> dict[str, Any]:
        self._keep_tables()
        return {name: value for name, value in self.__dict__.items() if name not in _LAZY} | {"scratch": None}

    def _keep_tables(self) -> None:
        """Make the small tables while the rows are there; later, whoever asks is told."""
        if self.summary:
            with suppress(LogreplayError):
                self._tables  # noqa: B018

    def _drawing(self, kind: str | None, slo: float | None, linear: bool) -> "Callable[[Axes], Axes]":
        """A function that draws a picture on axes."""
        from logreplay.analysis.analyze import timed
        from logreplay.analysis.output import pictures

        (found,) = (tables.analysis for tables in self._tables.values())
        if kind != "hockeystick" and (kind or not pictures.has_curve(found)):
            found = timed(self._rows())
        drawn = kind or pictures.usual_kind(found)
        return lambda ax: pictures.draw(ax, found, drawn, slo=slo, linear=linear, title=drawn == "hockeystick")

    @property
    def _logs(self) -> "Mapping[str, Path]":
        """The result logs by the name of their target, where there are several."""
        return {"": self._rows()}

    @cached_property
    def _tables(self) -> "Mapping[str, ResultTables]":
        return {name: tables_of(path) for name, path in self._logs.items()}

    def _frame(
        self, columns: Sequence[str], make: Callable[[str], pl.DataFrame], *, categories: bool = False
    ) -> "pd.DataFrame":
        """One table of all result logs; without a request it has these columns and no row."""
        if not self.summary:
            return to_pandas(pl.DataFrame(schema=dict.fromkeys(columns, pl.Float64)))
        return to_pandas(self._joined(make), categories=categories)

    def _joined(self, make: Callable[[str], pl.DataFrame]) -> pl.DataFrame:
        """One table of all result logs."""
        return make("")

    @cached_property
    def _html(self) -> str:
        """For a notebook, which must show something whatever happens; made once."""
        texts = [finding.text for finding in self.findings]
        try:
            from logreplay.analysis.output.plots.hockey_stick import png

            return html(self.sentence, texts, png(self.plot()))
        except Exception:  # no matplotlib, no rows, nothing measured
            return html(self.sentence, texts)

    def _spelled(self, text: str) -> str:
        return spelled(text, self.function) if self.function else text

    def _rows(self) -> Path:
        """The result log; raises if it is gone."""
        results = self.files[0]
        if results.exists():
            return results
        if not self.summary:
            raise LogreplayError(f"no rows: {self.sentence}")
        raise rows_gone(results, "call with output=, or save() the result")


@dataclass(kw_only=True, eq=False, repr=False)
class RunResult(Result):
    """One replay that ended. Times in seconds.

    Attributes:
        outcome: outcome of the engine.
        course: lines on the generator's behaviour.
        culprit: the exchange at which the run was stopped.
        by_rule: a condition stopped it.
    """

    outcome: "Outcome"
    course: tuple[str, ...] = ()
    culprit: "Exchange | None" = None
    by_rule: bool = False

    @property
    def verdict(self) -> str:
        return str(self.outcome.health.verdict) if self.summary else ""

    @property
    def valid(self) -> bool:
        return bool(self.summary) and self.outcome.health.valid

    @property
    def sentence(self) -> str:
        if not self.summary:
            return self._spelled(f"nothing was sent: {self.outcome.why_nothing}")
        counts = self.outcome.counters
        times = {name: value for name, value in self.summary.get("response_s", {}).items() if value is not None}
        told = next((f", {name} {show(times[name])}" for name in ("p99", "p95", "p90", "p50") if name in times), "")
        return f"{self.verdict}: {counts.sent:,} requests sent, {counts.failed:,} failed{told}"


def absolute(files: Iterable[Path]) -> tuple[Path, ...]:
    """The files of a result, for a caller who may change to another folder."""
    return tuple(file.absolute() for file in files)


@dataclass(frozen=True, slots=True)
class ResultTables:
    """The small tables of a result log, which a result keeps; rows stay on disk.

    Attributes:
        analysis: without the requests.
        routes: rows of each route, or of each step and route; empty if only a per-second table is left of a run.
    """

    analysis: "Analysis"
    routes: pl.DataFrame


def tables_of(results: Path, executor: "Executor | None" = None) -> ResultTables:
    """Analyse a result log; ``executor`` reads it in stretches, as `logreplay.analysis.input.arrays.read` says."""
    from logreplay.analysis.analyze import analyse  # loads the analysis: only where rows are read
    from logreplay.analysis.summary import remembering
    from logreplay.analysis.tables.aggregate import by_step_and_route

    routes: list[pl.DataFrame] = []

    def summarise(requests: "RequestArrays") -> None:
        routes.append(by_step_and_route(requests))

    analysis = analyse(results, executor=executor, meanwhile=(summarise,))
    summary = remembering(analysis.summary, analysis.earlier)
    return ResultTables(replace(analysis, requests=None, summary=summary), routes[0] if routes else pl.DataFrame())
