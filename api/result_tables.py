"""The small tables of a result log, which a result keeps; rows stay on disk."""

from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from logreplay.analysis.analyze import Analysis, analyse
from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.summary import remembering
from logreplay.analysis.tables import aggregate


@dataclass(frozen=True, slots=True)
class ResultTables:
    """The tables of one result log.

    Attributes:
        analysis: without the requests.
        routes: rows of each route, or of each step and route; empty if only a per-second table is left of a run.
    """

    analysis: Analysis
    routes: pl.DataFrame


def tables_of(results: Path, executor: Executor | None = None) -> ResultTables:
    """Analyse a result log.

    Args:
        results: its path.
        executor: reads it in stretches, as `logreplay.analysis.input.arrays.read` says.

    Raises:
        LogreplayError: it cannot be read.
    """
    routes: list[pl.DataFrame] = []

    def summarise(requests: RequestArrays) -> None:
        table = aggregate.by_step_and_route(requests)
        routes.append(table if requests.has_times else aggregate.without_times(table))

    analysis = analyse(results, executor=executor, meanwhile=(summarise,))
    summary = remembering(analysis.summary, analysis.earlier)
    return ResultTables(replace(analysis, requests=None, summary=summary), routes[0] if routes else pl.DataFrame())
