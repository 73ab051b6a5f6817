"""``logreplay serve``: a target of known capacity."""

import asyncio
from pathlib import Path

import click

from logreplay.cli.display.terminal import say
from logreplay.cli.options.types import DURATION
from logreplay.cli.running.log_and_target import normalized
from logreplay.cli.running.loop import run_until_stopped
from logreplay.cli.settings.configurable import Configurable


@click.command(cls=Configurable, short_help="A target of known capacity.")
@click.argument("log", required=False, type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: any free one.")
@click.option("--workers", type=click.IntRange(1), default=4, show_default=True, help="Requests worked on at once.")
@click.option("--service-time", type=DURATION, default="16ms", show_default=True, help="How long each takes.")
@click.option("--exponential", is_flag=True, help="Exponentially distributed times of that mean, not fixed ones.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
def serve(log: Path | None, port: int, workers: int, service_time: float, exponential: bool, quiet: bool) -> None:
    """Serve a target that answers each URL as LOG did, and carries WORKERS / SERVICE-TIME requests a second.

    LOG is an access log, a normalized CSV or a list of urls; without it the bundled sample log. Requests wait in one
    queue, first come, first served. A URL without a logged status is answered with 200, a HEAD as the logged GET,
    without its body, and what the log does not know with 404. Listens on 127.0.0.1 only; ends with Ctrl-C.

    \b
    Example:
      logreplay serve access.log --workers 8 --service-time 20ms
    """
    from logreplay.replay.servers.known_capacity import LoggedAnswers, ServerCapacity, serving

    capacity = ServerCapacity(workers, service_time, exponential)

    async def serve_until_interrupted(path: Path) -> None:
        async with serving(LoggedAnswers.of_log(path), capacity, port=port) as url:
            say(f"{url} carries {capacity}; Ctrl-C ends it", quiet=quiet)
            await asyncio.Event().wait()

    with normalized(log, quiet=quiet) as path:
        run_until_stopped(lambda: serve_until_interrupted(path))
