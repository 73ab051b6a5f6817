"""A result log → all that is known of it, and the files that show it."""

import json
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from logreplay.analysis import bends, buckets, foreign, hdr, intake, sources, stability
from logreplay.analysis.bends import Verdict
from logreplay.analysis.hgrm import write_hgrm
from logreplay.analysis.intake import Requests
from logreplay.analysis.sources import Source
from logreplay.analysis.summary import About, summarise, summarise_seconds
from logreplay.analysis.watched import stem, with_watched
from logreplay.analysis.whole import write_whole
from logreplay.parsers.record import LogreplayError, to_csv


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


def write_folder(
    source: Source,
    folder: str | Path,
    about: About | None = None,
    *,
    plots: bool = True,
    executor: Executor | None = None,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Analyse a result log and write the files that show it.

    ``seconds.csv``, ``steps.csv``, ``routes.csv``, ``summary.json``, ``results.hlog``, ``results.hgrm``; with
    ``plots`` also ``hockeystick.png`` and ``report.html``.

    Args:
        source: the result log, or the folder that holds it as ``results.csv``.
        folder: where to write; made if it is not there. Files of the same names are replaced.
        about: what only the caller knows: log, target, options, findings.
        plots: draw the pictures and write the report.
        executor: reads the result log in stretches, as `logreplay.analysis.intake.read` says.

    Returns:
        The contents of ``summary.json``, and the step table.

    Raises:
        LogreplayError: the result log cannot be read, or the folder cannot be written.
    """
    folder = Path(folder)

    def write_tables(requests: Requests) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        _write_histograms(folder / "results", requests)
        write_whole(folder / "routes.csv", to_csv(buckets.by_route(requests), header=True))

    try:
        analysis = analyse(source, about, executor, write_tables)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "seconds.csv", to_csv(analysis.seconds, header=True))
        write_whole(folder / "steps.csv", to_csv(analysis.steps, header=True))
        _write_summary(folder / "summary.json", analysis)
        if plots:
            from logreplay.analysis import report  # matplotlib takes a second to import

            report.write(folder, analysis)
    except OSError as error:
        raise LogreplayError(f"{folder}: cannot be written: {error.strerror}; choose another with -o") from None
    return analysis.summary, analysis.steps


def write_beside(results: Path, about: About | None = None) -> dict[str, Any]:
    """Analyse a result log X.csv, write ``X.summary.json``, ``X.hlog`` and ``X.hgrm`` beside it; return the summary.

    Raises:
        LogreplayError: the result log cannot be read, or the files cannot be written.
    """
    name = stem(results)
    try:
        analysis = analyse(results, about, meanwhile=partial(_write_histograms, name))
        _write_summary(summary_beside(results), analysis)
    except OSError as error:
        raise LogreplayError(f"{name}: cannot be written: {error.strerror}; choose another with -o") from None
    return analysis.summary


def _write_histograms(name: Path, requests: Requests) -> None:
    hdr.write_hlog(name.with_name(f"{name.name}.hlog"), requests)
    write_hgrm(name.with_name(f"{name.name}.hgrm"), requests)


def summary_beside(results: Path) -> Path:
    """Where `write_beside` puts the summary of a result log."""
    name = stem(results)
    return name.with_name(f"{name.name}.summary.json")


def _write_summary(path: Path, analysis: Analysis) -> None:
    write_whole(path, json.dumps(analysis.summary, indent=2) + "\n")
