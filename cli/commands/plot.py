"""``logreplay plot``: one picture of a run, or of several laid over each other."""

from collections.abc import Sequence
from pathlib import Path

import click

from logreplay.cli.display.terminal import say
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable


@click.command(cls=Configurable)
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@options
def plot(
    results: Sequence[Path],
    kind: str | None,
    output: Path | None,
    within: float | None,
    linear: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Plot one run, or overlay the hockey sticks of several.

    RESULTS are result logs or folders of sweeps. A run at one rate has no curve over rates: its timeline is drawn.

    \b
    Example: logreplay plot before after -o before-and-after.png
    """
    from logreplay.command_tasks.drawing import plot_once

    drawn, file = plot_once(results, kind, output, within=within, linear=linear, force=force)
    say(f"{drawn}: {file}", quiet=quiet)
