"""``logreplay run``: one replay."""

import sys
from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.display.async_output import Outlet
from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.from_table import options
from logreplay.cli.options.help_groups import GroupedCommand
from logreplay.cli.options.log_name import LogName
from logreplay.cli.options.replay import ReplayOptions, parts
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

    values = parts({**given, "target": target})
    options = ReplayOptions.taken_from(values)
    shown = {name: values.pop(name) for name in ("verbose", "debug", "classic", "dry_run", "junit", "history")}
    terminal, history = options.terminal(), shown["history"]
    exchanges = Outlet(sys.stdout) if shown["verbose"] and not shown["dry_run"] else None
    call = RunCall(
        log=log,
        show=(lambda text: exchanges.write(f"{text}\n")) if exchanges else None,
        written={"--junit": shown["junit"], "--history": history},
        **options.of_call(),
        **values,
    )
    if shown["dry_run"]:
        from logreplay.cli.display.dry_run import show_dry_run
        from logreplay.runs.dry_run import dry_run

        show_dry_run(dry_run(call, terminal), as_json=options.as_json, quiet=options.quiet)
        return Exit.OK
    with SIGNALS.hearing(), reported("run", shown["junit"], history) as report:
        result = report(run_once(call, terminal))
    if not result.summary:
        stopped = bool(result.outcome.stopped)
        say(f"nothing was sent: {result.outcome.why_nothing}", quiet=options.quiet and stopped)
        return Exit.INTERRUPTED if stopped else Exit.FAILED
    if exchanges:
        finish(exchanges, result.files[0])
    return show_run(
        result,
        as_json=options.as_json,
        classic=shown["classic"],
        debug=shown["debug"],
        quiet=options.quiet,
        secrets=options.sender_rules.show_secrets,
        history=history,
    )
