"""Commands that need neither a log nor a target: ``demo``, ``serve``, ``calibrate``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.display.progress import Terminal
from logreplay.cli.display.terminal import on_terminal, print_text, say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable
from logreplay.cli.signals import SIGNALS

if TYPE_CHECKING:
    from logreplay.replay.checks.calibrate import Calibration, CalibrationTrial

_SHORTEST_S = 0.05


@click.command(cls=Configurable)
@options
def demo(output: Path | None, http: str, force: bool, quiet: bool) -> int:
    """Convert the bundled log, start a target that carries 250 requests/s, and sweep past its saturation.

    \b
    Example:
      logreplay demo -o demo
    """
    from logreplay.cli.display.rates import show_sweep
    from logreplay.runs.demo import demo_once

    with SIGNALS.hearing():
        result = demo_once(output, Terminal(quiet=quiet), http=http, force=force)
    return show_sweep(result, quiet=quiet, again="logreplay demo --force begins again", short=True)


@click.command(cls=Configurable)
@click.argument("log", required=False, type=click.Path(path_type=Path))
@options
def serve(log: Path | None, quiet: bool, **given: Any) -> None:
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
    from logreplay.functions import serve_once

    with SIGNALS.hearing(), serve_once(log, **given) as server:
        for note in server.notes:
            say(note, quiet=quiet)
        say(f"{server.url} carries {server.capacity}; Ctrl-C stops it", quiet=quiet)
        server.wait()


@click.command(cls=Configurable)
@options
def calibrate(trial: float, as_json: bool, quiet: bool) -> int:
    """Measure the highest rate that this machine can send, and how exactly it sends.

    calibrate starts a minimal server on this machine and sends to it at rising rates until requests start late. It
    stores the highest rate that was on time; run, sweep and find warn if you ask for more.

    \b
    Example:
      logreplay calibrate
    """
    if trial < _SHORTEST_S:
        raise click.UsageError(f"--trial {trial * 1000:g}ms: too short; expected at least {_SHORTEST_S * 1000:g}ms")
    from logreplay.command_tasks import calibrate_once, remember

    def show(done: "CalibrationTrial") -> None:
        if on_terminal():
            word = "on time" if done.on_time else "late"
            say(f"{done.rate:9.0f}/s  lag p99 {done.lag_p99 * 1000:8.3f} ms  {word}", quiet=quiet)

    found, figures = calibrate_once(trial, show)
    if as_json:
        print_text(figures)
    elif not quiet:
        _print(found)
    if not found.ceiling:
        say(
            "no rate was on time: other processes keep this machine busy; stop them, and calibrate again. Nothing is "
            "remembered; figures of an earlier calibration stay"
        )
        return Exit.INVALID
    say(f"remembered in {remember(figures)}", quiet=quiet)
    return Exit.OK


def _print(found: "Calibration") -> None:
    from logreplay.analysis.format_time import show

    print_text(
        f"ceiling        {found.ceiling:.0f} requests/s start on time, all rows written\n"
        f"added latency  {show(found.added_p50)} at the median, p99 {show(found.added_p99)}: "
        "a target that does nothing, at 1000/s\n"
        f"timer          {show(found.timer_p50)} late at the median, p99 {show(found.timer_p99)}: "
        "sending nothing, at 1000/s"
    )
