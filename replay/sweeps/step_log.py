"""Writes the result log of a sweep: rows of the steps into one file, those of the warm-up into another.

It can be resumed: rows of an unfinished step are removed, and numbers and instants continue after the last finished
step.
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.record import RESPONSE_PARTS
from logreplay.replay.results.result_log import ResultLog

JUDGED: Final = "results.csv"
ASIDE: Final = "warmup.csv"


@dataclass(frozen=True, slots=True)
class Mark:
    """The finished part of a step log.

    Attributes:
        judged, aside: bytes of the two files; 0: there is none.
        next_seq: number of the next request.
        next_s: from when on requests may be scheduled, seconds since the start of the run; whole.
        position: requests of the log that the steps have used up.
    """

    judged: int = 0
    aside: int = 0
    next_seq: int = 0
    next_s: int = 0
    position: int = 0


class StepLog:
    """Results of a sweep (see `logreplay.replay.results.result_log.Results`), as files in a folder.

    Attributes:
        next_seq: number of the first request of the next step; kept by the sweep.
        position: requests of the log that the steps so far have used up; kept by the sweep.
    """

    def __init__(self, folder: Path, mark: Mark | None = None, more: Sequence[str] = ()) -> None:
        """Begin new files, or continue them at their mark; ``more``: columns behind `RESULT_COLUMNS`.

        Raises:
            LogreplayError: they cannot be written, or were packed or taken away meanwhile.
        """
        self._folder, self._from, self._more = folder, mark or Mark(), more
        if self._from.judged and not (folder / JUDGED).exists():
            raise LogreplayError(_gone(folder))
        self._judged = self._begin(JUDGED, self._from.judged)
        self._aside: ResultLog | None = None
        self.next_seq, self.position = self._from.next_seq, self._from.position
        self._judged_from: float = 0
        self._last_s = float(self._from.next_s)

    def _begin(self, name: str, keep: int) -> ResultLog:
        """Begin a file, or go on with it; rows of a first step that was not finished are removed."""
        path = self._folder / name
        if not keep:
            path.unlink(missing_ok=True)
        return ResultLog(path, keep=keep, more=self._more)

    def set_aside(self, requests: float) -> None:
        """Leave the next ``requests`` requests, or all (infinite), out of the judgement."""
        self._judged_from = self.next_seq + requests

    def write(self, rows: pl.DataFrame) -> None:
        """Append rows, each to the file where it belongs."""
        if self._from.next_seq:
            rows = rows.with_columns(pl.col("seq") + self._from.next_seq, pl.col("scheduled") + self._from.next_s)
        ended = rows.select(pl.sum_horizontal("scheduled", *RESPONSE_PARTS).max()).item()
        self._last_s = max(self._last_s, ended or 0.0)
        aside = rows.filter(pl.col("seq") < self._judged_from)
        if aside.height:
            if self._aside is None:
                self._aside = self._begin(ASIDE, self._from.aside)
            self._aside.write(aside)
        if aside.height < rows.height:
            self._judged.write(rows.filter(pl.col("seq") >= self._judged_from))

    def mark(self) -> Mark:
        """The finished part; its rows are on disk (fsync)."""
        aside = self._aside.sync() if self._aside else self._from.aside
        return Mark(self._judged.sync(), aside, self.next_seq, math.ceil(self._last_s) + 1, self.position)

    @property
    def rows(self) -> Path | None:
        """The file that holds the judged rows; None: there are none."""
        return self._judged.rows

    def close(self) -> None:
        """Finish the files."""
        with ExitStack() as closing:  # closes each, even if the other one fails
            closing.callback(self._judged.close)
            if self._aside:
                closing.callback(self._aside.close)


def _gone(folder: Path) -> str:
    """The error where the rows are not in their file."""
    path = folder / JUDGED
    for packed in (path.with_name(f"{JUDGED}{ending}") for ending in (".gz", ".zst")):
        if packed.exists():
            return f"{path}: was packed into {packed.name}, to which rows cannot be added; unpack it, then resume"
    if path.with_suffix(".parquet").exists():
        return f"{path}: is a Parquet file now, to which rows cannot be added; start again with -o"
    return f"{path}: is missing, and with it the finished steps; start again with -o"
