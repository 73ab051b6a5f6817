"""``logreplay analyze``: tables, pictures and a report from any result log."""

from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logreplay.cli.display.terminal import print_json, print_text, say, say_finding
from logreplay.cli.exit_codes import of_checks
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable

if TYPE_CHECKING:
    from logreplay.results import Result


@click.command(cls=Configurable)
@click.argument("results", type=click.Path(path_type=Path))
@options
def analyze(
    results: Path,
    output: Path | None,
    trace_url: str | None,
    plots: bool,
    force: bool,
    cluster: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Judge a result log: find the rate of saturation, say whether the run is valid, and make tables and a report.

    RESULTS is a result log, or the folder of a sweep, a search or a duet. Of a folder, the files that it lacks are
    written into it; of a duet, both targets are compared again, and nothing is written.

    \b
    Example: logreplay analyze results.csv -o report
    """
    from logreplay.cli.display.tables import print_summary
    from logreplay.cli.display.words import answer_lines
    from logreplay.readings import analyze_once, holds_duet
    from logreplay.result_folder import place_for

    if output is None and holds_duet(results):
        found = analyze_once(results, None, plots=plots, force=force, cluster=cluster, trace_url=trace_url)
        _show_duet(results, found, as_json=as_json, quiet=quiet)
        return of_checks(found.checks)
    with ExitStack() as stack:
        inside = output is None and results.is_dir()
        folder = output or (results if inside else place_for(None, partial(_made, stack), "analyze"))
        force = force or output is None
        found = analyze_once(results, folder, plots=plots, force=force, cluster=cluster, trace_url=trace_url)
    summary = found.summary
    if as_json:
        print_json(summary)
    else:
        print_summary(summary, found.step_table)
    for finding in found.findings:
        if finding.text != summary["answer"]:
            say_finding(finding.severity, finding.text, quiet=quiet and finding.code != "unreadable_rows")
    say(str(folder), quiet=quiet)
    if not as_json:
        print_text("\n".join(answer_lines(summary)))
    return of_checks(found.checks)


def _show_duet(folder: Path, found: "Result", *, as_json: bool, quiet: bool) -> None:
    """Print what differs between the result logs of a duet."""
    from logreplay.cli.display.comparison import show_comparison
    from logreplay.duet_result import DuetResult

    assert isinstance(found, DuetResult)
    assert found.comparison
    if as_json:
        print_json({**found.summary, "times": found.comparison.as_dict()})
    else:
        show_comparison(found.comparison, ("baseline", "candidate"), as_json=False)
    for finding in found.findings:
        say_finding(finding.severity, finding.text, quiet=quiet)
    say(f"verdict: {found.verdict}\n{folder}", quiet=quiet)


def _made(stack: ExitStack, folder: Path) -> Path:
    """Make a folder, which is removed if it is empty at the end.

    Raises:
        TakenError: another command made it.
        LogreplayError: it cannot be made.
    """
    from logreplay.core.files import TakenError, unwritable

    try:
        folder.mkdir()
    except FileExistsError:
        raise TakenError(f"{folder}: exists already; choose another with -o") from None
    except OSError as error:
        raise unwritable(folder, error) from None

    def remove() -> None:
        with suppress(OSError):
            folder.rmdir()

    stack.callback(remove)
    return folder
