"""A result log → all that is known of it."""

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from logreplay.analysis import bends, buckets, foreign, intake, sources, stability
from logreplay.analysis.bends import Verdict
from logreplay.analysis.intake import Requests
from logreplay.analysis.sources import Source
from logreplay.analysis.summary import About, summarise, summarise_seconds
from logreplay.analysis.watched import with_watched
from logreplay.parsers.record import LogreplayError


@dataclass(frozen=True)
class Analysis:
    """All tables of one run.

    Attributes:
        requests: what was measured; None where only a per-second table is left of the run.
        seconds: per-second table.
        verdict: onset and saturation, with the step table and its evidence.
        summary: the contents of summary.json.
    """

    requests: Requests | None
    seconds: pl.DataFrame
    verdict: Verdict
    summary: dict[str, Any]

    @property
    def steps(self) -> pl.DataFrame:
        """Step table with the evidence of each step."""
        return self.verdict.steps


def analyse(
    source: Source,
    about: About | None = None,
    executor: Executor | None = None,
    meanwhile: Callable[[Requests], object] | None = None,
) -> Analysis:
    """Analyse a result log, or the per-second table that is left of one.

    Args:
        source: what to analyse.
        about: what only the caller knows of it.
        executor: reads it in stretches, as `logreplay.analysis.intake.read` says.
        meanwhile: what else to do with the requests, in another thread.

    Raises:
        LogreplayError: it cannot be read.
    """
    try:
        requests = intake.read(source, executor)
    except LogreplayError:
        path = sources.locate(source) if isinstance(source, str | Path) else None
        table = foreign.seconds_table(path) if path is not None and path.exists() else None
        if table is None:
            raise
        verdict = bends.judge(stability.judged_seconds(table))
        return Analysis(None, table, verdict, summarise_seconds(table, verdict, about))
    with ThreadPoolExecutor(1) as helper:  # what it does takes little memory beside the requests; what follows, more
        counting = helper.submit(buckets.seconds, requests)
        more = helper.submit(meanwhile, requests) if meanwhile else None
        verdict = bends.judge(stability.judged_steps(requests))
        summary = summarise(requests, verdict, about)
        if more:
            more.result()
        seconds = with_watched(counting.result(), sources.locate(source) if isinstance(source, str | Path) else None)
        return Analysis(requests, seconds, verdict, summary)
