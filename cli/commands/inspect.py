"""``logreplay inspect``: the contents of a log."""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from logreplay.cli.display.progress_bar import Bar
from logreplay.cli.display.terminal import on_terminal, print_json, print_result, print_text, say, say_losses
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable
from logreplay.core.files import removed_if_empty
from logreplay.core.masking import masked, terminal_safe

if TYPE_CHECKING:
    from logreplay.inspect_result import InspectResult

_ROUTES: Final = 10


@click.command(cls=Configurable)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@options
def inspect(logs: tuple[str, ...], output: Path | None, force: bool, as_json: bool, quiet: bool, **given: Any) -> int:
    """Describe a log before it is replayed: rates and peaks, bursts, routes, clients, and the commands that replay it.

    LOG is whatever convert reads: an access log, plain or compressed, captured requests, or a normalized CSV. It is
    read once; nothing is written without -o. Hours are those of --timezone. The busiest minute and hour may begin with
    any second. -o DIR keeps report.html, summary.json and tables as CSV: seconds, hours, week, routes, clients, agents.

    \b
    Examples:
      logreplay inspect access.log
      logreplay inspect access.log.*.gz --timezone Europe/Berlin -o what-comes
    """
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # blocks are parsed side by side
    from logreplay.inspect_result import check_place
    from logreplay.log_inspection import NoRequest, inspect_once

    if output:
        check_place(output, force=force)
    with removed_if_empty(output) if output else nullcontext():  # it can be written, before hours of reading
        with Bar("reading", shown=not quiet and on_terminal()) as bar:
            try:
                found = inspect_once(logs, given, bar.update)
            except NoRequest as error:
                if as_json:
                    print_json(error.summary)
                raise
        if output:
            found.save(output, force=force)
        if as_json:
            print_json(found.summary)
        elif quiet:
            say_losses(found.report)
        else:
            (print_text if output else print_result)("\n".join(map(terminal_safe, _lines(found))))
        if output:
            say(f"{output / 'report.html'}", quiet=quiet)
    return Exit.OK


def _lines(found: "InspectResult") -> list[str]:
    report = found.report
    lines = [f"{', '.join(found.logs)}: {report.sentence()}; format {report.format}"]
    lines += [f"  {name:<14} {text}" for name, text in found.facts]
    routes = found.profile.routes.head(_ROUTES)
    lines += [
        f"  {'routes' if not at else '':<14} {row['share'] * 100:>5.1f} %  {row['method']} {masked(row['route'])}"
        for at, row in enumerate(routes.iter_rows(named=True))
    ]
    lines += [f"  {'not replayed':<14} {count:,} {reason}" for reason, count in report.reasons.most_common()]
    for replay in found.replays:
        lines += ["", f"{replay.command}", f"  measures {replay.gives}"]
        lines += [f"  leaves out {text}" for text in replay.lacks]
    if found.missing:
        lines += ["", "all of them leave out", *(f"  {text}" for text in found.missing)]
    return lines
