"""Reports a sweep or a search: the files of its folder, its tables, its findings."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.display.terminal import say, say_finding
from logreplay.cli.display.words import print_arrivals
from logreplay.core.errors import Interrupted

if TYPE_CHECKING:
    import polars as pl

    from logreplay.analysis.summary import About


@contextmanager
def measuring(rows: Path, measured: Callable[[], bool], *, quiet: bool) -> Iterator[None]:
    """Say of an interruption that leaves no summary whether there are rows.

    Args:
        rows: where they are.
        measured: whether there are any.
        quiet: print nothing.
    """
    try:
        yield
    except Interrupted:
        kept = f"; the rows are kept: {rows}" if measured() else " before the first request: nothing was measured"
        say(f"interrupted{kept}", quiet=quiet)
        raise


@contextmanager
def evaluating(*again: str) -> Iterator[None]:
    """Say of an interruption that the rows are kept.

    Args:
        again: the words of the command that evaluates them.
    """
    try:
        yield
    except Interrupted:
        say(f"interrupted while the rows were evaluated; they are kept; evaluate them with: {shlex.join(again)}")
        raise


def report(
    folder: Path,
    about: "About",
    show: "Callable[[dict[str, Any], pl.DataFrame], None]",
    *,
    plots: bool = True,
    as_json: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Analyse the ``results.csv`` of a folder, write what shows it, print it, and report the findings.

    Args:
        folder: of the results.
        about: what only the caller knows of them.
        show: prints the results for people; given the summary and the step table.
        plots: draw the pictures too.
        as_json: print the summary instead.
        quiet: say nothing on stderr.

    Returns:
        The contents of ``summary.json``.
    """
    import json

    from logreplay.analysis.output.folder import write_folder

    with evaluating("logreplay", "analyze", str(folder)):
        summary, table = write_folder(folder / "results.csv", folder, about, plots=plots)
    if as_json:
        click.echo(json.dumps(summary, indent=2))
    else:
        show(summary, table)
    for finding in summary["findings"]:
        say_finding(finding["severity"], finding["text"], quiet=quiet)
    return summary


def report_sweep(
    folder: Path, about: "About", *, plots: bool = True, as_json: bool = False, quiet: bool = False
) -> bool:
    """Report a sweep: its tables on stdout, its answer on stderr.

    Returns:
        Whether the target was measured, and not this machine or nothing but failures.
    """
    from logreplay.cli.display.tables import print_summary

    def show(summary: dict[str, Any], table: "pl.DataFrame") -> None:
        if not quiet:
            print_arrivals(about.options)
            print_summary(summary, table)

    summary = report(folder, about, show, plots=plots, as_json=as_json, quiet=quiet)
    say(f"{summary['answer']}\nverdict: {summary['verdict']}\nresults: {folder}", quiet=quiet)
    return bool(summary["verdict"] == "VALID")
