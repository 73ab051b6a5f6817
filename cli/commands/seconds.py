"""``logreplay seconds``: the per-second table of a result log."""

from contextlib import ExitStack
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
    from logreplay.analysis.analyze import seconds as per_second
    from logreplay.analysis.input import sources
    from logreplay.core.files import atomic_path, check_distinct
    from logreplay.core.record import to_csv

    if output == Path("-"):
        output = None
    path = sources.locate(results)
    with ExitStack() as stack:
        if output is not None:
            check_distinct([("-o", output)], [("result log", path)])
            fresh = stack.enter_context(atomic_path(output, force=force))
        table = per_second(results)
        text = table.write_ndjson().encode() if as_json else to_csv(table, header=True)
        if output is None:
            click.echo(text, nl=False)
            return
        fresh.write_bytes(text)
    say(f"{output}: {number_of(table.height, 'second')}", quiet=quiet)
