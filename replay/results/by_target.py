"""Writes the rows of a duet into one result log for each target."""

from collections.abc import Sequence

import polars as pl

from logreplay.replay.requests.mix import TARGET
from logreplay.replay.results.result_log import Results


class ByTarget:
    """Divides rows by their column ``target``. In each log ``seq`` is the number of the group: logs join on it.

    Args:
        results: takes the rows of each target.
        together: requests of a group; 1: each request went to one target only.
    """

    def __init__(self, results: Sequence[Results], together: int) -> None:
        self._results, self._together = results, together

    def write(self, rows: pl.DataFrame) -> None:
        of_one = rows.with_columns(pl.col("seq") // self._together, pl.col("offered") / len(self._results))
        for index, results in enumerate(self._results):
            results.write(of_one.filter(pl.col(TARGET) == index).drop(TARGET))

    def close(self) -> None:
        for results in self._results:
            results.close()
