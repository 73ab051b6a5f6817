"""A result log → all that is known of it, and the files that show it."""

import json
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from logreplay.analysis import bends, buckets, foreign, hdr, intake, sources, stability
from logreplay.analysis.bends import Verdict
from logreplay.analysis.intake import Requests
from logreplay.analysis.sources import Source
from logreplay.analysis.summary import About, summarise, summarise_seconds
from logreplay.parsers.record import LogreplayError, to_csv

_MANY: Final = 5_000_000


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


def analyse(source: Source, about: About | None = None, executor: Executor | None = None) -> Analysis:
    """Analyse a result log, or the per-second table that is left of one.

    Args:
        source: what to analyse.
        about: what only the caller knows of it.
        executor: reads it in stretches, as `logreplay.analysis.intake.read` says.

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
    with _helper(requests) as helper:
        seconds = helper.submit(buckets.seconds, requests)
        verdict = bends.judge(stability.judged_steps(requests))
        return Analysis(requests, seconds.result(), verdict, summarise(requests, verdict, about))


def _helper(requests: Requests) -> Executor:
    """A thread for half of the work; of very many requests one table at a time is enough to keep in memory."""
    return ThreadPoolExecutor(1) if len(requests) < _MANY else _AtOnce()


class _AtOnce(Executor):
    """Does each task when it is given."""

    def submit(self, task: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(task(*arguments, **options))
        return done


def write_folder(
    source: Source,
    folder: str | Path,
    about: About | None = None,
    *,
    plots: bool = True,
    executor: Executor | None = None,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Analyse a result log and write the files that show it.

    ``seconds.csv``, ``steps.csv``, ``routes.csv``, ``summary.json``, ``results.hlog``; with ``plots`` also
    ``hockeystick.png`` and ``report.html``.

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
    analysis = analyse(source, about, executor)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "seconds.csv").write_bytes(to_csv(analysis.seconds, header=True))
        (folder / "steps.csv").write_bytes(to_csv(analysis.steps, header=True))
        _write_summary(folder / "summary.json", analysis)
        if (requests := analysis.requests) is not None:
            with _helper(requests) as helper:
                histograms = helper.submit(hdr.write_hlog, folder / "results.hlog", requests)
                (folder / "routes.csv").write_bytes(to_csv(buckets.by_route(requests), header=True))
                histograms.result()
        if plots:
            from logreplay.analysis import report  # matplotlib takes a second to import

            report.write(folder, analysis)
    except OSError as error:
        raise LogreplayError(f"{folder}: cannot be written: {error.strerror}; choose another with -o") from None
    return analysis.summary, analysis.steps


def write_beside(results: Path, about: About | None = None) -> dict[str, Any]:
    """Analyse a result log X.csv, write ``X.summary.json`` and ``X.hlog`` beside it, and return the summary.

    Raises:
        LogreplayError: the result log cannot be read, or the files cannot be written.
    """
    analysis = analyse(results, about)
    stem = _stem(results)
    try:
        _write_summary(summary_beside(results), analysis)
        if analysis.requests is not None:
            hdr.write_hlog(stem.with_name(f"{stem.name}.hlog"), analysis.requests)
    except OSError as error:
        raise LogreplayError(f"{stem}: cannot be written: {error.strerror}; choose another with -o") from None
    return analysis.summary


def summary_beside(results: Path) -> Path:
    """Where `write_beside` puts the summary of a result log."""
    stem = _stem(results)
    return stem.with_name(f"{stem.name}.summary.json")


def _stem(results: Path) -> Path:
    """The name of a result log without its endings."""
    while results.suffix in (".gz", ".zst", ".csv", ".parquet"):
        results = results.with_suffix("")
    return results


def _write_summary(path: Path, analysis: Analysis) -> None:
    path.write_text(json.dumps(analysis.summary, indent=2) + "\n", encoding="utf-8")
