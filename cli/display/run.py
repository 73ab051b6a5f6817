"""Shows one replay: its tables and findings, and the exchanges as they are made."""

from collections import Counter
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from logreplay.analysis.format_time import show_rate
from logreplay.cli.display.async_output import Outlet
from logreplay.cli.display.terminal import print_json, print_text, say, say_finding
from logreplay.cli.display.words import explained, print_arrivals
from logreplay.cli.exit_codes import Exit
from logreplay.core.plural import number_of
from logreplay.options.load import log_sentence
from logreplay.replay.senders.trace import describe
from logreplay.runs.reports import remember

if TYPE_CHECKING:
    import polars as pl

    from logreplay.results import RunResult

_ADDRESSES: Final = 8
"""Most addresses of the target that are printed."""
_STATUSES: Final = 8
"""Most kinds of unexpected statuses that are printed."""


def show_run(
    result: "RunResult", *, as_json: bool, classic: bool, debug: bool, quiet: bool, secrets: bool, history: Path | None
) -> Exit:
    """Print the summary and the findings; return the exit code."""
    summary, outcome = result.summary, result.outcome
    if as_json:
        print_json(summary)
    elif not quiet:
        print_arrivals(summary["options"])
        _print_summary(summary, result.step_table, classic=classic)
    for line in result.course if debug else ():
        say(line)
    for sentence in (log_sentence(summary["replay"]), _punctuality(summary)):
        if sentence:
            say(sentence, quiet=quiet)
    for sentence in (*result.left_out, *_spread(summary)):
        say(sentence, quiet=quiet)
    for finding in result.findings:
        say_finding(finding.severity, finding.text, quiet=quiet)
    if result.culprit:
        say(f"stopped at the first failure:\n{describe(result.culprit, secrets=secrets)}")
    if result.stopped and not (result.culprit and not result.by_rule):
        say(result.stopped, quiet=quiet and not result.by_rule)
    if (failed := _failed(summary)) and not (as_json or quiet):
        print_text(failed)
    invalid = "" if result.valid else "; invalid run: its response times do not describe the target"
    say(f"verdict: {explained(result)}{invalid}", quiet=quiet)
    say(f"results: {', '.join(map(str, result.files))}", quiet=quiet)
    if note := remember("run", summary, history):
        say(note)  # also if quiet: a file lacks the row that was asked for
    if result.culprit or result.by_rule:
        return Exit.CONDITION
    if outcome.stopped:
        return Exit.INTERRUPTED
    return Exit.INVALID if any(check.state == "unjudged" for check in result.checks) else Exit.OK


def finish(exchanges: Outlet, path: Path) -> None:
    """Wait until the exchanges are printed, as long as the reader likes; the results are on disk.

    Raises:
        OSError: standard output is full. A reader that went away may have seen enough.
    """
    from logreplay.core.files import FULL

    if not exchanges.drain():
        say(f"waiting for the reader of standard output; Ctrl-C ends this; results: {path}")
        exchanges.drain(inf)
    exchanges.close()
    if exchanges.failure and exchanges.failure.errno in FULL:
        raise exchanges.failure
    if exchanges.left_out:
        say(
            f"warning: {number_of(exchanges.left_out, 'exchange was', 'exchanges were')} not printed: the reader of "
            "standard output was too slow; write to a file, or lower the rate"
        )


def _spread(summary: dict[str, Any]) -> Iterator[str]:
    """The number of requests to each address of the target, if it was counted."""
    loads = summary.get("addresses", {})
    for address, load in [*loads.items()][:_ADDRESSES]:
        yield f"{address}: {number_of(load['requests'], 'request')} on {number_of(load['connections'], 'connection')}"
    if len(loads) > _ADDRESSES:
        yield f"{len(loads) - _ADDRESSES} more addresses are in the summary, key addresses"


def _failed(summary: dict[str, Any]) -> str:
    """How many requests failed, and with which errors and statuses; empty if none did."""
    from logreplay.analysis.summary import failed_of

    counts = summary["requests"]
    failed = failed_of(counts)
    kinds = Counter({word: count for word, count in summary["errors"].items() if word not in ("cancelled", "dropped")})
    for change, count in summary["unexpected_status"].items():
        logged, _, status = change.partition(" → ")
        if status >= "400" and status[0] != logged[0]:  # the rule of `logreplay.core.record.failed`
            kinds[status] += count
    ranked = sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))
    most = ", ".join(f"{kind}: {count:,}" for kind, count in ranked[:_STATUSES])
    return f"failed: {failed:,} of {counts['sent']:,} ({most}{', …' * (len(kinds) > _STATUSES)})" if failed else ""


def _punctuality(summary: dict[str, Any]) -> str:
    """The deviation of the replay from its schedule; empty if there was none: the answers decide when users send."""
    from logreplay.analysis.tables.schedule_accuracy import Punctuality

    found = summary.get("punctuality")
    return Punctuality(**found).sentence() if found and "vusers" not in summary["options"] else ""


def _print_summary(summary: dict[str, Any], steps: "pl.DataFrame | None", *, classic: bool) -> None:
    """The figures of a run on stdout, with the tables of siege and ab."""
    from logreplay.analysis.summary_rows import protocol
    from logreplay.analysis.verdict.status_changes import explained
    from logreplay.cli.display.tables import print_classic, print_summary, print_times

    counts = summary["requests"]
    if "by_step" in summary:
        print_summary(summary, steps, classic=classic)
    else:
        print_times(summary)
    not_sent = counts["not_sent"]
    cancelled = summary["errors"].get("cancelled", 0) - not_sent
    stopped = f", {cancelled} of them cancelled" if cancelled else ""
    held = f" + not sent {not_sent}" if not_sent else ""
    print_text(
        f"scheduled {counts['scheduled']} = sent {counts['sent']} + dropped {counts['dropped']}{held}; "
        f"sent = ok {counts['ok']} + http_error {counts['http_error']} + net_error {counts['net_error']}{stopped}"
    )
    rates = ""
    if rate := summary.get("rate"):
        names = ("offered", "sent", "completed", "goodput")
        rates = ", ".join(f"{name} {show_rate(rate[name], 4)}/s" for name in names) + "; "
    print_text(f"{rates}protocol {protocol(summary['target'], summary['options'])}")
    if found := summary["unexpected_status"]:
        more = f", {len(found) - _STATUSES} more in the summary" if len(found) > _STATUSES else ""
        named = ", ".join(f"{count:,} x {change}" for change, count in list(found.items())[:_STATUSES])
        print_text(f"status other than in the log: {named}{more}")
        for note in explained((logged, status) for logged, _, status in (change.partition(" → ") for change in found)):
            print_text(f"  {note}")
    if classic and "by_step" not in summary:
        print_text()
        print_classic(summary)
