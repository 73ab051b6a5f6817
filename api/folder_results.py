"""Results of a sweep and a search, and the properties of all results in folders."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from logreplay.core.files import TakenError, unwritable
from logreplay.options.spelling import spelled_for_save
from logreplay.replay.results.verdict import Finding
from logreplay.result_folder import ResultFolder
from logreplay.results import Result, absolute

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(kw_only=True, eq=False, repr=False)
class FolderResult(Result):
    """A measurement whose files fill a folder.

    Attributes:
        left_out: which requests were not sent, and what a hook took, in sentences.
    """

    left_out: tuple[str, ...] = ()

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
        rows, path = self._rows(), Path(path)
        source = rows if rows.is_dir() else rows.parent
        if not force and path.is_dir() and any(path.iterdir()):
            raise TakenError(f"{path}: is not empty; name another folder, or replace the result in it with force=True")
        with ResultFolder.new(path, [("the rows", rows)], force=force) as folder:
            try:
                for file in filter(Path.is_file, source.iterdir()):
                    shutil.copyfile(file, folder.path / file.name)
            except OSError as error:
                raise unwritable(path, error) from None
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
        return self._saturation("rate")

    @property
    def low(self) -> float | None:
        """The lower end of the interval around `rate`."""
        return self._saturation("low")

    @property
    def high(self) -> float | None:
        """The upper end of the interval around `rate`."""
        return self._saturation("high")

    @cached_property
    def costs(self) -> "pd.DataFrame":
        """A row for each route of a sweep with ``routes``: the columns of costs.csv; no rows if costs are not known."""
        import polars as pl

        from logreplay.analysis.costs.route_costs import RouteCost
        from logreplay.results import frame_of

        rows = self.summary.get("costs", {}).get("routes", ())
        return frame_of(pl.DataFrame(rows, schema=None if rows else [each.name for each in fields(RouteCost)]))

    def _saturation(self, name: str) -> float | None:
        value: float | None = self.summary.get("saturation", {}).get(name)
        return value


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
        return self._answer("rate")

    @property
    def low(self) -> float | None:
        """The same as `rate`."""
        return self.rate

    @property
    def high(self) -> float | None:
        """The lowest rate that did not keep the bounds."""
        return self._answer("high")

    def _drawing(self, kind: str | None, slo: float | None, linear: bool) -> "Callable[[Axes], Axes]":
        facts = self.summary.get("slo", {})
        if kind not in (None, "search") or not facts.get("trials"):
            return super()._drawing(kind, slo, linear)
        from logreplay.analysis.output.plots.search import trace

        return partial(trace, slo=facts)

    def _answer(self, name: str) -> float | None:
        value: float | None = self.summary.get("slo", {}).get(name)
        return value
