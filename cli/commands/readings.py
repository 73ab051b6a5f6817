"""Commands that read results and send nothing: ``analyze``, ``compare``, ``capacity``, ``seconds``, ``plot``."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from logreplay.cli.display.terminal import print_json, print_result, print_text, say, say_finding
from logreplay.cli.exit_codes import of_checks
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable
from logreplay.core.plural import number_of

if TYPE_CHECKING:
    from logreplay.results import Result


@click.command(cls=Configurable)
@click.argument("results", type=click.Path(path_type=Path))
@options
def analyze(results: Path, output: Path | None, force: bool, as_json: bool, quiet: bool, **given: Any) -> int:
    """Judge a result log: find the rate of saturation, say whether the run is valid, and make tables and a report.

    RESULTS is a result log, or the folder of a sweep, a search or a duet. Of a folder, the files that it lacks are
    written into it, with --force all; of a duet, both targets are compared again, and nothing is written.

    \b
    Example: logreplay analyze results.csv -o report
    """
    from logreplay.cli.display.tables import print_summary
    from logreplay.cli.display.words import answer_lines
    from logreplay.readings import analyze_once, holds_duet
    from logreplay.result_folder import place_for

    if output is None and holds_duet(results):
        found = analyze_once(results, None, force=force, **given)
        _show_duet(results, found, as_json=as_json, quiet=quiet)
        return of_checks(found.checks)
    with ExitStack() as stack:
        inside = output is None and results.is_dir()
        folder = output or (results if inside else place_for(None, partial(_made, stack), "analyze"))
        missing = inside and not (force or given["trace_url"])
        found = analyze_once(results, folder, force=force or output is None, missing=missing, **given)
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
    from logreplay.cli.display.duet import print_differences
    from logreplay.cli.display.words import explained
    from logreplay.folder_results import DuetResult

    assert isinstance(found, DuetResult)
    assert found.comparison
    if as_json:
        print_json({**found.summary, "times": found.comparison.as_dict()})
    else:
        if found.answers:
            print_differences(found.answers)
        if judgement := found.summary.get("judgement"):
            print_text(judgement)
        show_comparison(found.comparison, ("baseline", "candidate"), as_json=False)
    for finding in found.findings:
        say_finding(finding.severity, finding.text, quiet=quiet)
    say(f"verdict: {explained(found)}\n{folder}", quiet=quiet)


def _made(stack: ExitStack, folder: Path) -> Path:
    """Make a folder, which is removed if it is empty at the end."""
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


@click.command(cls=Configurable)
@click.argument("baseline", type=click.Path(path_type=Path))
@click.argument("candidate", required=False, type=click.Path(path_type=Path), metavar="CANDIDATE")
@click.argument("more", nargs=-1, type=click.Path(path_type=Path), metavar="[BASELINE CANDIDATE]...")
@options
def compare(
    baseline: Path,
    candidate: Path | None,
    more: Sequence[Path],
    output: Path | None,
    as_json: bool,
    **given: Any,
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
    found = compare_once(runs, output=output, **given)
    show_comparison(found, [str(run) for run in runs], as_json=as_json)
    if output:
        say(str(output))
    return of_checks(found.checks)


@click.command(cls=Configurable)
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULTS...")
@options
def capacity(results: Sequence[Path], as_json: bool, **given: Any) -> int:
    """Compute how many machines carry a load within a bound, from a sweep of one of them.

    RESULTS is the result log of a sweep, or its folder; of several runs of the same sweep, which are pooled, all of
    them. The answer has two numbers: for the rate that one machine likely carries, and for the lower end of its
    bracket. Steps in which the generator was the limit do not count; steps sent late count only if they keep the bound
    with the lag. Both rates are at least 7.5 % below saturation: closer to it, machines would run full. The bound is on
    the requests answered as expected; a rate at which more requests fail than at the lowest rates does not keep it.
    With --machines 1,2,4 RESULTS are searches or sweeps of 1, 2 and 4 machines: contention and coherency by the
    universal scalability law, and the number of machines by it in place of n times one; no number unless the curve has
    bent.
    ~ marks rates read off steps under a minute. A sweep over users gives the least number of machines, by the
    throughput at which it levels off.
    Exit code 3: no step counts, the lower end is below all rates that count, or the throughput did not level off.
    Exit code 4: no rate kept the bound with room.

    \b
    Example: logreplay capacity sweep --demand 200 --p99 300ms --headroom 20%
             logreplay capacity sweep-1 sweep-2 sweep-3 --demand 200 --p99 300ms --survive 1
             logreplay capacity one two four --machines 1,2,4 --demand 900 --p99 300ms -o scaling.png
    """
    from logreplay.readings import capacity_once

    found = capacity_once(results, given)
    for note in found.notes:
        say_finding("warning", note)
    if as_json:
        print_json(found.as_dict())
    else:
        print_result(found.sentence)
    if found.not_covered:
        say(found.not_covered)
    return of_checks(found.checks)


@click.command(cls=Configurable)
@click.argument("results", type=click.Path(path_type=Path))
@options
def seconds(results: Path, output: Path | None, quiet: bool, **given: Any) -> None:
    """Print one row for each second of a run, as CSV.

    RESULTS is a result log, the folder of a sweep, or a per-second table of Play-it-Again-Sam. A request belongs to the
    second in which it was scheduled; requests sent, completed and in flight count when that happened. Times are
    seconds, from the scheduled instant.

    \b
    Example: logreplay seconds results.csv -o seconds.csv
    """
    from logreplay.readings import seconds_once

    file = None if output == Path("-") else output
    text, count = seconds_once(results, file, **given)
    if file is None:
        click.echo(text, nl=False)
    else:
        say(f"{file}: {number_of(count, 'second')}", quiet=quiet)


@click.command(cls=Configurable)
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@options
def plot(results: Sequence[Path], quiet: bool, **given: Any) -> None:
    """Plot one run, or overlay the hockey sticks of several.

    RESULTS are result logs or folders of sweeps. A run at one rate has no curve over rates: its timeline is drawn.

    \b
    Example: logreplay plot before after -o before-and-after.png
    """
    from logreplay.readings import plot_once

    source = click.get_current_context().get_parameter_source("kind")
    if len(results) > 1 and given["kind"] not in (None, "hockeystick") and source is ParameterSource.COMMANDLINE:
        raise click.UsageError(
            f"--kind {given['kind']} and several RESULTS exclude each other: several runs are drawn as hockey sticks"
        )
    drawn, file = plot_once(results, **given)
    say(f"{drawn}: {file}", quiet=quiet)
