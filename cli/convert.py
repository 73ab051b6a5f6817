"""``logreplay convert``: access logs → normalized CSV."""

import json
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import click

from logreplay.cli.inputs import on_terminal

if TYPE_CHECKING:
    from logreplay.parsers.convert import ConvertReport


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "-o",
    "--output",
    metavar="CSV",
    help="Where to write; - is standard output. Default: access.log → access.csv in the current folder.",
)
@click.option("-f", "--format", "format_", default="auto", show_default=True, help="Format of the logs.")
@click.option("--timezone", default="", metavar="ZONE", help="Of stamps that carry no offset, such as Europe/Berlin.")
@click.option("--rejects", type=click.Path(path_type=Path), help="Where to keep lines that became no row.")
@click.option("--force", is_flag=True, help="Overwrite existing results.")
@click.option("--json", "as_json", is_flag=True, help="Print the account as JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def convert(
    logs: tuple[str, ...],
    output: str | None,
    format_: str,
    timezone: str,
    rejects: Path | None,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Convert access logs to the normalized CSV that the other commands read.

    Several logs become one CSV in order of time. Lines that cannot be replayed, or not be understood, are counted by
    reason and kept in a .rejects file beside the CSV.

    \b
    Example:
      logreplay convert access.log.1.gz access.log -o access.csv
    """
    from logreplay.parsers.convert import ConvertOptions, output_for
    from logreplay.parsers.convert import convert as convert_logs

    target = output or str(output_for(logs[0]))
    if as_json and target == "-":
        raise click.UsageError("--json and -o - both want standard output; choose one")
    options = ConvertOptions(format=format_, timezone=timezone, rejects=rejects, force=force)
    if quiet:
        report = convert_logs(logs, target, options)
    else:
        with _Bar() as bar:
            report = convert_logs(logs, target, options, bar.update)
    if as_json:
        click.echo(json.dumps(report.summary()))
    if not quiet:
        _tell(report)


def _tell(report: "ConvertReport") -> None:
    click.echo(f"format: {report.format} ({report.share:.1%} of the sampled lines fit)", err=True)
    for reason, count in report.reasons.most_common():
        places = [f"{name}:{number}" for name, number, why in report.first_bad if why == reason]
        click.echo(f"{count:>10,} {reason}" + (f" (first: {', '.join(places)})" if places else ""), err=True)
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(report.sentence(), err=True)
    where = report.output if report.output != "-" else "standard output"
    click.echo(f"{where}" + (f", {report.rejects}" if report.rejects else ""), err=True)


class _Bar:
    """A progress bar on a terminal, for what takes longer than a second."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("converting"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[lines]:,} lines"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("convert", total=None, lines=0)
        self._started = False
        self._begin = monotonic()

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._started:
            self._progress.stop()

    def update(self, done: int, total: int, lines: int) -> None:
        """Show bytes read of all bytes, and lines."""
        if not self._started and on_terminal() and monotonic() - self._begin > 1:
            self._progress.start()
            self._started = True
        self._progress.update(self._task, completed=done, total=total or None, lines=lines)
