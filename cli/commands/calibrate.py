"""``logreplay calibrate``: the highest rate that this machine can send, and how exactly it sends."""

from typing import TYPE_CHECKING

import click

from logreplay.cli.display.terminal import on_terminal, print_text, say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable

if TYPE_CHECKING:
    from logreplay.replay.checks.calibrate import Calibration, CalibrationTrial

SHORTEST_S = 0.05


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
    if trial < SHORTEST_S:
        raise click.UsageError(f"--trial {trial * 1000:g}ms: too short; expected at least {SHORTEST_S * 1000:g}ms")
    from logreplay.command_tasks.calibration import calibrate_once, remember

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
