"""The result of a conversion: its counts, requests and rejected lines."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from logreplay.analysis.verdict.checks import CheckedAnswer
from logreplay.core import FORKED_THREADS
from logreplay.core.errors import LogreplayError
from logreplay.results import frame_of, rows_gone
from logreplay.scratch import HoldsScratch, Scratch

if TYPE_CHECKING:
    import pandas as pd

    from logreplay.analysis.verdict.checks import Check
    from logreplay.parsers.conversion.report import ConvertReport


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

    report: "ConvertReport"
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
        return tuple(self.report.notes)

    @property
    def checks(self) -> "tuple[Check, ...]":
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
        import polars as pl

        from logreplay.core.rows import names_in, read_batches, whole

        FORKED_THREADS.check()
        path = self._file()
        frames = whole(read_batches(path, names_in(path)), path)
        return frame_of(pl.concat(frames), categories=True)

    @cached_property
    def rejects(self) -> "pd.DataFrame":
        """One row for each line that became no row: ``place``, ``reason``, ``line``.

        Raises:
            LogreplayError: the file is gone.
        """
        import polars as pl

        rows = []
        if self.rejects_log:
            self._file()
            for text in self.rejects_log.read_bytes().decode(errors="replace").split("\n")[:-1]:
                head, _, line = text.removesuffix("\r").partition("\t")
                place, *reason = _REASON.split(head, maxsplit=1)
                rows.append((place, "".join(reason), line))
        return frame_of(pl.DataFrame(rows, dict.fromkeys(("place", "reason", "line"), pl.String), orient="row"))

    def __fspath__(self) -> str:
        return str(self._file())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("requests", "rejects")} | {
            "scratch": None
        }

    def _file(self) -> Path:
        """The file that was written.

        Raises:
            LogreplayError: it is gone, or went to standard output.
        """
        if self.log and self.log.exists():
            return self.log
        if self.nothing or not self.log:
            raise LogreplayError(f"no rows: {self.nothing or 'they went to standard output'}")
        raise rows_gone(self.log, "call with output=")
