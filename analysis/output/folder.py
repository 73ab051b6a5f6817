"""Writes the files that show a result log: tables, summary, HdrHistogram logs, pictures and report."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from logreplay.analysis.analyze import Analysis, analyse
from logreplay.analysis.input import sources
from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.run_metadata import UNFINISHED, summary_of
from logreplay.analysis.input.sources import Source
from logreplay.analysis.json_text import json_text
from logreplay.analysis.output import hdr
from logreplay.analysis.output.file_names import (
    FIGURES,
    OF_COMMANDS,
    PICTURES,
    SUMMARY,
    companion_files,
    summary_beside,
)
from logreplay.analysis.summary import SCHEMA, About, remembering
from logreplay.analysis.tables import aggregate
from logreplay.core.errors import LogreplayError
from logreplay.core.files import check_distinct, make_folder, write_atomically, writing
from logreplay.core.record import to_csv


def write_folder(
    source: Source,
    folder: str | Path,
    about: About | None = None,
    *,
    plots: bool = True,
    executor: Executor | None = None,
    trace_url: str | None = None,
    missing: bool = False,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Analyse a result log and write the files that show it; return the summary and the step table.

    ``seconds.csv``, ``steps.csv``, ``routes.csv``, ``summary.json``, ``results.hlog``, ``results.hgrm``; with
    ``plots`` also ``hockeystick.png`` and ``report.html``. Files of the same names are replaced.

    Args:
        source: the result log, or the folder that holds it as ``results.csv``.
        folder: where to write; made if it is not there.
        about: log, target, options and findings of the caller; None: those that the run itself wrote.
        plots: draw the pictures and write the report.
        executor: reads the result log in stretches, as `logreplay.analysis.input.arrays.read` says.
        trace_url: address of the requests' traces, in place of that in the options of the run.
        missing: leave the files as they are that a run which came to its end wrote beside this result log.
    """
    folder = Path(folder)
    if plots:
        from logreplay.analysis.output import html  # matplotlib takes a second to import, or is missing

    writers = {"results.hlog": hdr.write_hlog, "routes.csv": _write_routes, "results.hgrm": hdr.write_hgrm}
    located = sources.path_of(source)
    kept = _up_to_date(folder, located) if missing and located and located.exists() else set()
    meanwhile = [partial(_write, folder / name, write) for name, write in writers.items() if name not in kept]
    check_distinct([("-o", folder / name) for name in FIGURES], [("result log", located)] if located else [])
    held = sources.results_in(folder)
    if located and held and held.resolve() != located.resolve():
        raise LogreplayError(f"{folder}: holds other results, {held.name}, which are kept; choose another with -o")
    with writing(folder):
        analysis = analyse(source, about, executor, meanwhile)
        analysis = replace(analysis, summary=remembering(analysis.summary, analysis.earlier))
        if trace_url:
            analysis.summary["options"] = {**analysis.summary["options"], "trace_url": trace_url}
        plots = plots and (analysis.requests is None or analysis.requests.has_times)
        make_folder(folder)
        if not kept:
            _remove_outdated(folder, located, plots=plots)
        texts: dict[str, bytes | str] = {
            "seconds.csv": to_csv(analysis.seconds, header=True),
            "steps.csv": to_csv(analysis.steps, header=True, exact=("rate",)),
            SUMMARY: _summary_text(analysis),
        }
        if analysis.costs:
            texts["costs.csv"] = to_csv(analysis.costs.table, header=True)
        if analysis.users:
            texts["users.csv"] = to_csv(analysis.users.table, header=True)
        for name, text in texts.items():
            if name not in kept:
                write_atomically(folder / name, text)
        if plots:
            html.write(folder, analysis, kept)
    return analysis.summary, analysis.steps


def _up_to_date(folder: Path, results: Path) -> set[str]:
    """Names of the figures in a folder that are not older than its result log; none if its run did not end."""
    summary = summary_of(results)
    if summary.get(UNFINISHED) or "verdict" not in summary:
        return set()
    since = results.stat().st_mtime_ns
    paths = [folder / name for name in (*FIGURES, *OF_COMMANDS)]
    return {path.name for path in paths if path.exists() and path.stat().st_mtime_ns >= since}


def _remove_outdated(folder: Path, results: Path | None, *, plots: bool) -> None:
    """Remove figures of an earlier analysis that this one does not make: they would show other results."""
    inside = results is not None and results.parent.resolve() == folder.resolve()
    for name in (*(() if inside else (SUMMARY, *OF_COMMANDS)), *(() if plots else PICTURES)):
        (folder / name).unlink(missing_ok=True)


def write_beside(results: Path, about: About | None = None) -> tuple[dict[str, Any], pl.DataFrame]:
    """Analyse a result log X.csv, and write ``X.summary.json``, ``X.hlog`` and ``X.hgrm`` beside it.

    Returned are the contents of ``X.summary.json``, and the step table.
    """
    summary, hlog, hgrm, *_ = companion_files(results)
    with writing(summary):
        analysis = analyse(results, about, meanwhile=(partial(hdr.write_hlog, hlog), partial(hdr.write_hgrm, hgrm)))
        write_atomically(summary, _summary_text(analysis))
    return analysis.summary, analysis.steps


def write_unfinished(results: Path, about: About) -> None:
    """Write a summary beside a result log that begins to grow: it says that the last step is cut, if the run is killed.

    The summary of the finished run takes its place (`write_beside`), or `remove_unfinished` removes it.
    """
    value = {"schema": SCHEMA, "log": about.log, "target": about.target, "options": dict(about.options), **about.more}
    path = summary_beside(results)
    with writing(path):
        write_atomically(path, json_text({**value, UNFINISHED: True}) + "\n")


def remove_unfinished(results: Path) -> None:
    """Remove what `write_unfinished` wrote."""
    summary_beside(results).unlink(missing_ok=True)


def _write(path: Path, write: Callable[[Path, RequestArrays], None], requests: RequestArrays) -> None:
    """Write a table of requests, in a folder that is made now that they could be read; no times if the log has none."""
    make_folder(path.parent)
    if requests.has_times or write is _write_routes:
        write(path, requests)


def _write_routes(path: Path, requests: RequestArrays) -> None:
    write_atomically(path, to_csv(aggregate.by_step_and_route(requests), header=True))


def _summary_text(analysis: Analysis) -> str:
    return json_text(analysis.summary) + "\n"
