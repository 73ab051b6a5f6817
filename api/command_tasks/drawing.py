"""Draws results into a file."""

from collections.abc import Sequence
from pathlib import Path

from logreplay.core.errors import LogreplayError
from logreplay.core.files import atomic_path, check_absent, check_distinct


def plot_once(
    results: Sequence[Path], kind: str | None, output: Path | None, *, within: float | None, linear: bool, force: bool
) -> tuple[str, Path]:
    """Draw one run, or several over each other; return the kind of picture, and the file.

    Args:
        results: result logs, or folders that hold one.
        kind: kind of the picture; None: the usual one.
        output: the file; None: named after the kind.
        within: bound of the response time to draw, seconds.
        linear: linear time axis.
        force: replace an existing file.

    Raises:
        TakenError: the file exists, and ``force`` was not given.
        LogreplayError: a result cannot be read, or does not allow this picture.
    """
    from logreplay.analysis.analyze import timed
    from logreplay.analysis.output.pictures import draw, kinds, usual_kind
    from logreplay.analysis.output.plots import hockey_stick

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
    return drawn, output
