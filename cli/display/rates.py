"""Shows what a sweep or a search found: its tables and its answer, the last line, on stdout; its findings on stderr."""

from typing import TYPE_CHECKING

from logreplay.cli.display.tables import print_costs, print_summary
from logreplay.cli.display.terminal import print_json, print_text, say, say_finding
from logreplay.cli.display.words import answer_lines, answers, explained, print_arrivals
from logreplay.cli.exit_codes import Exit, of_checks

if TYPE_CHECKING:
    from logreplay.folder_results import FindResult, RatesResult, SweepResult


def show_sweep(
    result: "SweepResult", *, as_json: bool = False, quiet: bool = False, again: str = "", short: bool = False
) -> Exit:
    """Show a sweep; return the exit code.

    ``again`` is the command that makes the missing steps; ``short`` prints no table but that of the steps.
    """
    summary, stopped = result.summary, Exit.CONDITION if result.by_rule else Exit.INTERRUPTED
    if not summary:
        say(result.sentence, quiet=quiet and bool(result.stopped) and not result.by_rule)
        return stopped if result.stopped else Exit.FAILED
    if as_json:
        print_json(summary)
    elif not quiet:
        if not short:
            print_arrivals(summary["options"])
        print_summary(summary, result.step_table, short=short)
        print_costs(summary)
        if summary.get("scaling", {}).get("kind", "few") != "few":
            print_text(f"{summary['scaling']['sentence']}\n")
    _say_findings(result, quiet=quiet)
    if result.lost:
        say(f"a worker was lost: repeat its step with --resume {result.files[0].parent}")
    if result.stopped:
        say(f"{result.stopped}; the rows are kept; {again}", quiet=quiet and not result.by_rule)
    if short and not quiet:
        folder = result.files[0].parent
        say(f"look at {folder / 'report.html'}, {folder / 'hockeystick.png'}")
        say("next, with your own log: logreplay convert access.log")
    if not as_json:
        print_text("\n".join((answers if quiet else answer_lines)(summary)))
    if result.stopped:
        return stopped
    return of_checks(result.checks)


def show_find(result: "FindResult", *, as_json: bool, quiet: bool) -> Exit:
    """Show a search; return the exit code."""
    summary = result.summary
    if as_json and summary:
        print_json(summary)
    if result.unfinished:
        quiet = quiet and not (result.by_rule or result.lost)  # an error, unless somebody interrupted
        say(result.unfinished, quiet=quiet)
        if summary:
            say(f"results: {result.files[0].parent}", quiet=quiet)
        return Exit.CONDITION if result.by_rule else Exit.INVALID if result.lost else Exit.INTERRUPTED
    if not (as_json or quiet):
        print_arrivals(summary["options"])
        seed = summary["options"]["seed"]
        print_text(f"seed: {seed}; --seed {seed} repeats the same random choices")
    _say_findings(result, quiet=quiet)
    if not as_json:
        print_text(summary["answer"])
    return of_checks(result.checks)


def _say_findings(result: "RatesResult", *, quiet: bool) -> None:
    for sentence in result.left_out:
        say(sentence, quiet=quiet)
    for finding in result.findings:
        say_finding(finding.severity, finding.text, quiet=quiet)
    say(f"verdict: {explained(result)}\nresults: {result.files[0].parent}", quiet=quiet)
