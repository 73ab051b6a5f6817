"""A result log → the files that show it."""

import json
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from logreplay.analysis import buckets, hdr, sources
from logreplay.analysis.analyse import Analysis, analyse
from logreplay.analysis.hgrm import write_hgrm
from logreplay.analysis.intake import Requests
from logreplay.analysis.sources import Source
from logreplay.analysis.summary import About, remembering
from logreplay.analysis.watched import stem
from logreplay.parsers.files import write_whole
from logreplay.parsers.record import LogreplayError, to_csv


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
        about: what only the caller knows: log, target, options, findings. None: what the run itself wrote of these.
        plots: draw the pictures and write the report.
        executor: reads the result log in stretches, as `logreplay.analysis.intake.read` says.

    Returns:
        The contents of ``summary.json``, and the step table.

    Raises:
        LogreplayError: the result log cannot be read, or the folder cannot be written.
    """
    folder = Path(folder)

    writers = {"results.hlog": hdr.write_hlog, "routes.csv": _write_routes, "results.hgrm": write_hgrm}
    meanwhile = [partial(_write, folder / name, write) for name, write in writers.items()]
    try:
        analysis = analyse(source, about, executor, meanwhile)
        if about is None and isinstance(source, str | Path):
            earlier = _summary_of(sources.locate(source))
            analysis = replace(analysis, summary=remembering(analysis.summary, earlier))
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
    hlog, hgrm = (name.with_name(f"{name.name}.{kind}") for kind in ("hlog", "hgrm"))
    try:
        analysis = analyse(results, about, meanwhile=(partial(hdr.write_hlog, hlog), partial(write_hgrm, hgrm)))
        _write_summary(summary_beside(results), analysis)
    except OSError as error:
        raise LogreplayError(f"{name}: cannot be written: {error.strerror}; choose another with -o") from None
    return analysis.summary


def _write(path: Path, write: Callable[[Path, Requests], None], requests: Requests) -> None:
    """Write a table of requests, in a folder that is made now that they could be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, requests)


def _write_routes(path: Path, requests: Requests) -> None:
    write_whole(path, to_csv(buckets.by_route(requests), header=True))


def summary_beside(results: Path) -> Path:
    """Where `write_beside` puts the summary of a result log."""
    name = stem(results)
    return name.with_name(f"{name.name}.summary.json")


def _summary_of(results: Path) -> dict[str, Any]:
    """What the run wrote of a result log in its summary; empty if that is not there."""
    for path in (summary_beside(results), results.with_name("summary.json")):
        try:
            value = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(value, dict):
            return value
    return {}


def _write_summary(path: Path, analysis: Analysis) -> None:
    write_whole(path, json.dumps(analysis.summary, indent=2) + "\n")
