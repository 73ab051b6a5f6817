"""``logreplay serve``: a target of known capacity."""

from functools import partial
from pathlib import Path

import click

from logreplay.cli.display.terminal import say
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable
from logreplay.cli.signals import SIGNALS


@click.command(cls=Configurable)
@click.argument("log", required=False, type=click.Path(path_type=Path))
@options
def serve(log: Path | None, port: int, workers: int, service_time: float, exponential: bool, quiet: bool) -> None:
    """Start a target that responds to each URL as in LOG, and carries WORKERS / SERVICE-TIME requests/s.

    LOG is an access log, a normalized CSV or a list of URLs; without it, the bundled sample log. Requests wait in one
    queue, first come, first served. If LOG has several answers to a URL (200, then 304), the server gives them in
    turn, in the order of LOG, whoever asks; times of --exponential follow each other likewise. So a server that had
    other requests before answers otherwise than a fresh one: start both again to compare them. The response to a URL
    without a logged status is 200, to a HEAD that of the GET without its body, to an unknown URL 404. The server
    listens on 127.0.0.1 only; Ctrl-C stops it.

    \b
    Example:
      logreplay serve access.log --workers 8 --service-time 20ms
    """
    from logreplay.functions import serve as start

    served = partial(start, log, port=port, workers=workers, service_time=service_time, exponential=exponential)
    with SIGNALS.hearing(), served() as server:
        for note in server.notes:
            say(note, quiet=quiet)
        say(f"{server.url} carries {server.capacity}; Ctrl-C stops it", quiet=quiet)
        server.wait()
