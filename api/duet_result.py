"""The result of a duet: its comparison, differences and checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from logreplay.folder_results import FolderResult
from logreplay.results import frame_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes

    from logreplay.analysis.response_diff.aggregate import AnswerDifferences
    from logreplay.analysis.verdict.comparison import Comparison
    from logreplay.replay.results.by_target import DuetJudgement
    from logreplay.replay.results.outcome import Outcome


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
        answers: differences between the answers; None if they were not compared.
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
        told = (self.health.sentence if self.health else "", self.comparison.sentence)
        return ": ".join(filter(None, (self.verdict, "; ".join(filter(None, told)))))

    @property
    def folder(self) -> Path | None:
        return None if self.scratch or not self.files[0].exists() else self.files[0]

    @property
    def differences(self) -> "pd.DataFrame":
        """One row for each route, place and kind of difference between the answers; none if they were not compared.

        Columns as of `logreplay.analysis.differences`.
        """
        from logreplay.analysis.response_diff.aggregate import frame

        if not self.health and (self.files[0] / "differences.csv").exists():
            from logreplay.analysis import differences

            return differences(self.files[0])
        return frame_of(frame(self.answers.rows if self.answers else ()))

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
            raise ValueError(f"kind {kind!r}: a duet has one picture, changes; draw a target by its result log")
        assert self.comparison
        return partial(changes, found=self.comparison)

    @property
    def _logs(self) -> Mapping[str, Path]:
        self._rows()  # fails if they are gone
        return {path.name.partition(".")[0]: path for path in self.files[1:]}

    def _joined(self, make: "Callable[[str], pl.DataFrame]") -> "pl.DataFrame":
        import polars as pl

        tables = [make(name).select(pl.lit(name).alias("target"), pl.all()) for name in self._tables]
        return pl.concat(tables, how="diagonal")
