"""``logreplay run``: one replay."""

from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.options.from_table import options
from logreplay.cli.options.help_groups import GroupedCommand
from logreplay.cli.options.log_name import LogName
from logreplay.cli.options.replay import parts
from logreplay.cli.running.run import RunOptions, replay_once

if TYPE_CHECKING:
    from logreplay.inputs.logs import Log


@click.command(cls=GroupedCommand)
@click.argument("log", required=False, type=LogName())
@click.argument("target", required=False)
@options
def run(log: "Log | None", target: str | None, **given: Any) -> int:
    """Replay LOG against TARGET. Needs one of --tps, --speed, --ramp, --steps, --vusers or --follow.

    LOG is an access log, normalized CSV, list of URLs, one URL or raw HTTP request, or a pipe; TARGET is
    http://HOST:PORT or unix:/PATH. Each request is sent when it is due, even if the target is slow. Response time
    counts from then; service time counts from the sending.
    Units: R requests/s, D a duration (300ms, 10s, 5m, 1h; a bare 10 is seconds), P% a share (5% or 0.05). Without a
    [default], an option is
    off.

    \b
    Example:
      logreplay run access.log http://127.0.0.1:8080 --tps 100 --for 1m
      logreplay run access.log http://127.0.0.1:8080 --speed 3 --match ^/api --header 'X-Test: 1'
    """
    return replay_once(RunOptions(log=log, target=target, **parts(given)))
