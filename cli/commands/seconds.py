"""``logreplay seconds``: the per-second table of a result log."""

from pathlib import Path

import click

from logreplay.cli.display.terminal import say
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable
from logreplay.core.plural import number_of


@click.command(cls=Configurable)
@click.argument("results", type=click.Path(path_type=Path))
@options
def seconds(results: Path, output: Path | None, force: bool, as_json: bool, quiet: bool) -> None:
    """Print one row for each second of a run, as CSV.

    RESULTS is a result log, the folder of a sweep, or a per-second table of Play-it-Again-Sam. A request belongs to the
    second in which it was scheduled; requests sent, completed and in flight count when that happened. Times are
    seconds, from the scheduled instant.

    \b
    Example: logreplay seconds results.csv -o seconds.csv
    """
    from logreplay.readings import seconds_once

    file = None if output == Path("-") else output
    text, count = seconds_once(results, file, force=force, as_json=as_json)
    if file is None:
        click.echo(text, nl=False)
    else:
        say(f"{file}: {number_of(count, 'second')}", quiet=quiet)
