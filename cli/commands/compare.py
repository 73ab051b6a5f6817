"""``logreplay compare``: the differences between runs, or between a log and its replay."""

from collections.abc import Sequence
from pathlib import Path

import click

from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import of_checks
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable


@click.command(cls=Configurable)
@click.argument("baseline", type=click.Path(path_type=Path))
@click.argument("candidate", required=False, type=click.Path(path_type=Path), metavar="CANDIDATE")
@click.argument("more", nargs=-1, type=click.Path(path_type=Path), metavar="[BASELINE CANDIDATE]...")
@options
def compare(
    baseline: Path,
    candidate: Path | None,
    more: Sequence[Path],
    tolerance: float | None,
    fail_above: float | None,
    output: Path | None,
    junit: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Say whether CANDIDATE is slower or faster than BASELINE, and the smallest change that could be detected.

    Both are result logs or folders that hold one. Runs of the same log are compared request by request, which detects
    changes of 3 % if both runs are long and the machine is steady; other runs are compared by percentiles. The result
    logs of a duet are compared as duet does. If BASELINE is the log that CANDIDATE replayed, statuses, sizes and times
    by route are compared.

    One pair of runs does not show how much runs differ by themselves. Make several, in turn, and name all of them in
    this order: they are judged by the spread between the pairs.

    \b
    Example: logreplay compare before.csv after.csv --fail-above 5%
             logreplay compare 1a.csv 1b.csv 2a.csv 2b.csv 3a.csv 3b.csv
    """
    from logreplay.cli.display.comparison import show_comparison
    from logreplay.readings import compare_once, result_log

    if candidate is None:
        result_log(baseline)  # of the folder of a duet, which has both, the error names them
        raise click.UsageError(f"CANDIDATE is missing: name the run to compare with {baseline}")
    runs = (baseline, candidate, *more)
    limits = {"tolerance": tolerance, "fail_above": fail_above}
    found = compare_once(runs, **limits, output=output, junit=junit, force=force)
    show_comparison(found, [str(run) for run in runs], as_json=as_json)
    if output:
        say(str(output))
    return of_checks(found.checks)
