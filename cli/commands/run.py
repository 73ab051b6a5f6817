"""``logreplay run``: one replay."""

from pathlib import Path
from typing import Any

import click

from logreplay.cli.options.progress import WithLive
from logreplay.cli.options.replay import replay_options
from logreplay.cli.options.schedule import NEEDS, YIELDS_TO, pacing_options
from logreplay.cli.running.log_and_target import LogName
from logreplay.cli.running.run import RunOptions, replay_once


@click.command(cls=WithLive, short_help="One replay.", yields_to=YIELDS_TO, needs=NEEDS)
@click.argument("log", required=False, type=LogName())
@click.argument("target", required=False)
@pacing_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Result log; default: named after the time.")
@click.option("--force", is_flag=True, help="Overwrite an existing result.")
@click.option("--crash", is_flag=True, help="Stop at the first error or unexpected status, and print that exchange.")
@click.option("-v", "--verbose", is_flag=True, help="Print each exchange.")
@click.option("-d", "--debug", is_flag=True, help="Say what the replayer itself does.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option(
    "--classic", is_flag=True, help="Print the figures of siege and ab too; a summary as JSON always has them."
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--dry-run", is_flag=True, help="Print what would be sent, and when; send nothing.")
@replay_options
def run(**given: Any) -> int:
    """Replay LOG against TARGET at a rate you choose, at the log's own times, or with users who wait.

    Each request is sent when its time has come, whatever the target does; what it had to wait is charged to the
    target (response time) and shown beside what the target needed (service time) and how late we were (lag).

    LOG is an access log, a normalized CSV, a list of urls, one url or one raw HTTP request, also from a pipe; without
    it the bundled sample log. TARGET is http://HOST:PORT, unix:/PATH, or without it a built-in one.

    \b
    Example:
      logreplay run access.log http://127.0.0.1:8080 --tps 100 --for 1m
      logreplay run access.log http://127.0.0.1:8080 --speed 3 --match ^/api --header 'X-Test: 1'
      logreplay run access.log http://127.0.0.1:8080 --vusers 50 --think 1s --for 1m
    """
    return replay_once(RunOptions(**given))
