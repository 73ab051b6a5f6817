"""Results of a sweep, a search and a duet, which are folders."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from logreplay.core.errors import UsageError
from logreplay.core.files import TakenError, writing
from logreplay.core.frames import to_pandas
from logreplay.options.keywords import value_of
from logreplay.options.kinds import PATH, SWITCH
from logreplay.options.spelling import spelled_for_save
from logreplay.replay.results.verdict import Finding
from logreplay.result_folder import ResultFolder
from logreplay.results import Result, absolute

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from logreplay.analysis.response_diff.aggregate import AnswerDifferences
    from logreplay.analysis.verdict.comparison import Comparison
    from logreplay.replay.results.by_target import DuetJudgement
    from logreplay.replay.results.outcome import Outcome


@dataclass(kw_only=True, eq=False, repr=False)
class FolderResult(Result):
    """A measurement whose files fill a folder."""

    @spelled_for_save()
    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Copy the files into a folder, which is their place from now on.

        Args:
            path: a new folder, or an empty one.
            force: replace an earlier result in it.

        Raises:
            TakenError: it holds something, and ``force`` was not given.
            LogreplayError: nothing was measured, the rows are gone, or the folder cannot be written.
        """
        rows, path = self._rows(), Path(value_of("path", PATH, path))
        force = value_of("force", SWITCH, force)
        source = rows if rows.is_dir() else rows.parent
        if not force and path.is_dir() and any(path.iterdir()):
            raise TakenError(f"{path}: is not empty; name another folder, or replace the result in it with force=True")
        if path.is_dir() and path.samefile(source):
            return path
        with ResultFolder.new(path, [("rows of this result", rows)], force=force) as folder:
            with writing(path):
                for file in filter(Path.is_file, source.iterdir()):
                    shutil.copyfile(file, folder.path / file.name)
            folder.keep()
        self.files = absolute(path / file.relative_to(source) for file in self.files)
        self.close()
        self.scratch = None
        return path


@dataclass(kw_only=True, eq=False, repr=False)
class RatesResult(FolderResult):
    """Several rates that were measured one after the other; its findings are those of the summary.

    Attributes:
        by_rule: a condition stopped it.
        lost: a worker was lost, with its last measurements.
    """

    by_rule: bool = False
    lost: bool = False

    def __post_init__(self) -> None:
        self.findings = Finding.all_of(self.summary)

    @property
    def sentence(self) -> str:
        return self._spelled(f"{self.verdict}: {self.summary['answer']}")

    def _figure(self, part: str, name: str) -> float | None:
        value: float | None = self.summary.get(part, {}).get(name)
        return value


@dataclass(kw_only=True, eq=False, repr=False)
class SweepResult(RatesResult):
    """A sweep that ended. Rates in requests/s.

    Attributes:
        why_nothing: why nothing was measured, if nothing was.
    """

    why_nothing: str = ""

    @property
    def sentence(self) -> str:
        if not self.summary:
            return self._spelled(f"no judged request was sent: {self.why_nothing}")
        return super().sentence

    @property
    def rate(self) -> float | None:
        """The rate from which the backlog grows or errors start; None: no such rate was found."""
        return self._figure("saturation", "rate")

    @property
    def low(self) -> float | None:
        """The lower end of the interval around `rate`."""
        return self._figure("saturation", "low")

    @property
    def high(self) -> float | None:
        """The upper end of the interval around `rate`."""
        return self._figure("saturation", "high")

    @cached_property
    def costs(self) -> "pd.DataFrame":
        """A row for each route of a sweep with ``routes``: the columns of costs.csv; no rows if costs are not known."""
        from logreplay.analysis.costs.route_costs import RouteCost

        rows = self.summary.get("costs", {}).get("routes", ())
        return to_pandas(pl.DataFrame(rows, schema=None if rows else [each.name for each in fields(RouteCost)]))


@dataclass(kw_only=True, eq=False, repr=False)
class FindResult(RatesResult):
    """A search that ended. Rates in requests/s; users, if those were searched.

    Attributes:
        unfinished: why the search ended without an answer, and the rates known until then; empty if it has one.
    """

    unfinished: str = ""

    @property
    def sentence(self) -> str:
        return self.unfinished or super().sentence

    @property
    def rate(self) -> float | None:
        """The promised rate: the highest that keeps the bounds for certain; None: no answer, see `sentence`."""
        return self._figure("slo", "rate")

    @property
    def low(self) -> float | None:
        """The same as `rate`."""
        return self.rate

    @property
    def high(self) -> float | None:
        """The lowest rate that did not keep the bounds."""
        return self._figure("slo", "high")

    @property
    def machines(self) -> int | None:
        """The number of machines for ``demand``, each at `rate`; None without a demand or without an answer."""
        machines: int | None = self.summary.get("slo", {}).get("machines")
        return machines

    def _drawing(self, kind: str | None, slo: float | None, linear: bool) -> "Callable[[Axes], Axes]":
        facts = self.summary.get("slo", {})
        if kind not in (None, "search") or not facts.get("trials"):
            return super()._drawing(kind, slo, linear)
        from logreplay.analysis.output.plots.search import trace

        return partial(trace, slo=facts)


@dataclass(kw_only=True, eq=False, repr=False)
class DuetResult(FolderResult):
    """Two targets that got the same requests at once. Times in seconds.

    It stands for its folder wherever a path does. Tables have the column ``target``: ``baseline``, ``candidate`` or
    ``noise``.

    Attributes:
        files: the folder, and the result log of each target in it.
        outcome: result of the engine for all targets together; None: an earlier duet was read.
        health: the verdict on the generator, and on each target; likewise.
        comparison: comparison of the times; None if nothing was sent.
        answers: differences between the answers; None if they were not compared. Of an earlier duet without examples.
    """

    outcome: "Outcome | None" = None
    health: "DuetJudgement | None" = None
    comparison: "Comparison | None" = None
    answers: "AnswerDifferences | None" = None

    @property
    def verdict(self) -> str:
        return str(self.health.whole.verdict) if self.summary and self.health else super().verdict

    @property
    def sentence(self) -> str:
        if not self.comparison:
            return f"nothing was sent: {self.outcome.why_nothing if self.outcome else ''}"
        told = (self.summary.get("judgement"), self.comparison.sentence)
        return self._spelled(": ".join(filter(None, (self.verdict, "; ".join(filter(None, told))))))

    @property
    def folder(self) -> Path | None:
        return None if self.scratch or not self.files[0].exists() else self.files[0]

    @property
    def differences(self) -> "pd.DataFrame":
        """One row for each route, place and kind of difference between the answers; none if they were not compared.

        Columns as of `logreplay.analysis.differences`.
        """
        from logreplay.analysis.response_diff.aggregate import frame, read_rows

        rows = self.answers.rows if self.answers else ()
        if not (self.answers or self.health) and (table := self.files[0] / "differences.csv").exists():
            rows = read_rows(table)  # of an earlier duet whose summary is gone
        return to_pandas(frame(rows))

    @cached_property
    def pairs(self) -> "pd.DataFrame":
        """One row for each request to both, as `logreplay.analysis.pairs` returns them. Times in seconds.

        Raises:
            LogreplayError: the rows are gone.
        """
        from logreplay.analysis import pairs

        return pairs(self._rows())

    def _drawing(self, kind: str | None, slo: float | None, linear: bool) -> "Callable[[Axes], Axes]":
        from logreplay.analysis.output.plots.overlay import changes

        if kind not in (None, "changes"):
            text = f"kind={kind!r}: a duet has one picture, changes; draw a target by its result log"
            raise UsageError(text, ("kind",))
        assert self.comparison
        found, targets = self.comparison, self.summary["targets"]
        names = [f"{name} {(targets.get(name) or {}).get('target', '')}".strip() for name in ("candidate", "baseline")]
        title = f"{' against '.join(names)}\n{found.sentence}"

        def draw(ax: "Axes") -> "Axes":
            changes(ax, found).set_title(title, fontsize=9, loc="left", wrap=True, parse_math=False)
            return ax

        return draw

    @property
    def _logs(self) -> Mapping[str, Path]:
        self._rows()  # fails if they are gone
        return {path.name.partition(".")[0]: path for path in self.files[1:]}

    def _joined(self, make: Callable[[str], pl.DataFrame]) -> pl.DataFrame:
        tables = [make(name).select(pl.lit(name).alias("target"), pl.all()) for name in self._tables]
        return pl.concat(tables, how="diagonal")
