"""``logreplay run``: one replay."""

from pathlib import Path
from typing import Any

import click

from logreplay.cli.options.help_groups import GroupedCommand
from logreplay.cli.options.log_name import LogName
from logreplay.cli.options.replay import history_option, junit_option, replay_options
from logreplay.cli.options.schedule import NEEDS, YIELDS_TO, pacing_options
from logreplay.cli.running.run import RunOptions, replay_once
from logreplay.cli.settings.share import share_option


@click.command(cls=GroupedCommand, yields_to=YIELDS_TO, needs=NEEDS)
@click.argument("log", required=False, type=LogName())
@click.argument("target", required=False)
@pacing_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write result rows to FILE.  [default: run-TIME.csv]",
)
@click.option("--force", is_flag=True, help="Replace an existing result.")
@share_option
@click.option("--crash", "--fail-fast", "crash", is_flag=True, help="Stop at the first failure, and print it.")
@click.option("-v", "--verbose", is_flag=True, help="Print each request and response.")
@click.option("-d", "--debug", is_flag=True, help="Print what the generator did.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.option("--classic", is_flag=True, help="Print the figures of siege and ab too.")
@junit_option
@history_option
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON instead of tables.")
@click.option("--dry-run", is_flag=True, help="Print what would be sent, and when; send nothing.")
@replay_options
def run(**given: Any) -> int:
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
    return replay_once(RunOptions(**given))
