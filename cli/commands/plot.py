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
    """Draw one run, or the hockey sticks of several runs in one picture.

    RESULTS are result logs or folders of sweeps. A run at one rate has no curve over rates: its timeline is drawn.

    \b
    Example: logreplay plot before after -o before-and-after.png
    """
    from logreplay.analysis.analyze import timed
    from logreplay.analysis.output.pictures import draw, kinds, usual_kind
    from logreplay.analysis.output.plots import hockey_stick
    from logreplay.core.errors import LogreplayError
    from logreplay.core.files import atomic_path, check_absent, check_distinct

    analysis = timed(results[0]) if len(results) == 1 else None
    drawn = kind or usual_kind(analysis) if analysis else "overlay"
    output = output or Path(f"{drawn}.png")
    check_distinct([("-o", output)], [("result log", path) for path in results])
    if not force:
        check_absent(output)
    if analysis is None:
        from logreplay.analysis.output.plots.overlay import overlay

        runs = {str(path): timed(path).steps for path in results}
        made = hockey_stick.figure(lambda ax: overlay(ax, runs, slo=within, linear=linear))
    else:
        if drawn not in kinds(analysis):
            raise LogreplayError(f"{results[0]}: no {drawn} to draw; these data allow: {', '.join(kinds(analysis))}")
        made = hockey_stick.figure(lambda ax: draw(ax, analysis, drawn, slo=within, linear=linear, title=True))
    with atomic_path(output, force=force) as fresh:
        hockey_stick.save(made, fresh)
    say(f"{drawn}: {output}", quiet=quiet)
