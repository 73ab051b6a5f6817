"""``logreplay run``: one replay; and ``logreplay control``, which changes its load."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.display.async_output import Outlet
from logreplay.cli.display.terminal import print_text, say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.from_table import options
from logreplay.cli.options.help_groups import GroupedCommand
from logreplay.cli.options.replay import parts
from logreplay.cli.options.types import LogName
from logreplay.cli.signals import SIGNALS

if TYPE_CHECKING:
    from logreplay.inputs.logs import Log


@click.command(cls=GroupedCommand)
@click.argument("log", required=False, type=LogName())
@click.argument("target", required=False)
@options
def run(log: "Log | None", target: str | None, **given: Any) -> int:
    """Replay LOG against TARGET. Needs one of --tps, --speed, --ramp, --steps, --vusers or --follow.

    LOG is an access log, a normalized CSV, a list of URLs, a file with one raw HTTP request, a pipe, or a URL; TARGET
    is http://HOST:PORT or unix:/PATH. Each request is sent when it is due, even if the target is slow. Response time
    counts from then; service time counts from the sending.
    Units: R requests/s, D a duration (300ms, 10s, 5m, 1h; a bare 10 is seconds), P% a share (5% or 0.05). Without a
    [default], an option is
    off.

    \b
    Example:
      logreplay run access.log http://127.0.0.1:8080 --tps 100 --for 1m
      logreplay run access.log http://127.0.0.1:8080 --speed 3 --match ^/api --header 'X-Test: 1'
    """
    from logreplay.calls.run_call import RunCall
    from logreplay.cli.display.run import finish, show_run
    from logreplay.runs.reports import reported
    from logreplay.runs.single import run_once

    values, shown = parts({**given, "target": target})
    verbose, debug, classic, dry = (values.pop(name) for name in ("verbose", "debug", "classic", "dry_run"))
    terminal = shown.terminal()
    exchanges = Outlet(sys.stdout) if verbose and not dry else None
    call = RunCall(log=log, show=(lambda text: exchanges.write(f"{text}\n")) if exchanges else None, **values)
    if dry:
        from logreplay.cli.display.dry_run import show_dry_run
        from logreplay.runs.single import dry_run

        show_dry_run(dry_run(call, terminal), as_json=shown.as_json, quiet=shown.quiet)
        return Exit.OK
    junit, history = call.written["--junit"], call.written["--history"]
    with SIGNALS.hearing(), reported("run", junit, history) as report:
        result = report(run_once(call, terminal))
    if not result.summary:
        stopped = bool(result.outcome.stopped)
        say(f"nothing was sent: {result.outcome.why_nothing}", quiet=shown.quiet and stopped)
        return Exit.INTERRUPTED if stopped else Exit.FAILED
    if exchanges:
        finish(exchanges, result.files[0])
    return show_run(
        result,
        as_json=shown.as_json,
        classic=classic,
        debug=debug,
        quiet=shown.quiet,
        secrets=call.sender_rules.show_secrets,
        history=history,
    )


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("place", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("words", metavar="ORDER", nargs=-1, required=True)
def control(place: Path, words: tuple[str, ...]) -> None:
    """Change the load of the run that was started with run --control DIR.

    \b
    ORDER is one of
      raise 20%   send 20 % more
      lower 20%   send 20 % less
      rate 150    send 150 requests/s (a run with --tps)
      speed 2     replay twice as fast as the log (a run with --speed)
      pause       send nothing
      continue    send as before the pause
      end         end the run now; its rows are kept, its exit code is 130

    A change takes effect on the next whole second of the run and begins a step of the result log; end takes effect at
    once. A pause moves the schedule: requests that would be due in it are sent after it, at the same rate. The rate
    stays between a thousandth and ten times the one that the run began with. Only the user who started the run may
    change it.

    \b
    Example:
      logreplay run access.log http://127.0.0.1:8080 --tps 100 --control load
      logreplay control load raise 20%
    """
    from logreplay.controlling import control_once
    from logreplay.core.errors import UsageError

    try:
        print_text(control_once(place, " ".join(words)))
    except UsageError as error:
        raise click.UsageError(str(error)) from None
