"""Compares the answers of a duet: keeps pairs during the run, reads them afterwards, prints and writes what differs."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from logreplay.cli.options.answers import Comparing
from logreplay.core.plural import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from logreplay.analysis.answers.tally import AnswerDifferences
    from logreplay.replay.senders.pair_keeper import Keeping

_ROWS: Final = 30
_VALUE: Final = 30


def keeping(folder: Path, together: int, timeout: float) -> "Keeping":
    """How pairs are kept during the run."""
    from logreplay.analysis.answers.rules import default_ignored
    from logreplay.analysis.input.routes import Routes
    from logreplay.replay.senders.pair_keeper import Keeping

    return Keeping(folder, together, timeout, Routes, default_ignored)


def differences(folder: Path, comparing: Comparing, pairs: int) -> "AnswerDifferences":
    """Compare the pairs that the keepers wrote into a folder, and remove their files.

    Args:
        folder: of the duet.
        comparing: as the user asked for it.
        pairs: of the schedule, sent or not: those of which no keeper heard are counted as not compared.
    """
    from logreplay.analysis.answers.tally import RouteTotal, Tally
    from logreplay.analysis.answers.two_answers import AnswerOf
    from logreplay.replay.senders.digests import pairs_of
    from logreplay.replay.senders.pair_keeper import FILES, read_counts, read_pairs

    tally = Tally(comparing.rules, comparing.examples)
    counts: dict[str, Counter[str]] = {}
    timed_out = 0
    for path in sorted(folder.glob(FILES)):
        kept = read_counts(path)
        timed_out += kept.timed_out
        for route, count in kept.routes.items():
            counts.setdefault(route, Counter()).update(
                pairs=count.pairs, differing=count.differing, looked_at=count.sampled
            )
        for pair in read_pairs(path):
            tally.add(
                pair.row,
                pair.url,
                pair.route,
                [AnswerOf(answer.status, pairs_of(answer.head), *answer[2:]) for answer in pair.answers],
            )
        path.unlink()
    totals = {
        route: RouteTotal(count["pairs"], count["differing"], count["looked_at"]) for route, count in counts.items()
    }
    compared = sum(total.pairs for total in totals.values())
    return tally.differences(totals, timed_out, max(0, pairs - compared - timed_out))


def as_dict(found: "AnswerDifferences") -> dict[str, Any]:
    """The differences for ``summary.json``."""
    from logreplay.analysis.answers.rules import IGNORED_HEADERS

    totals = found.totals.values()
    return {
        "pairs": sum(total.pairs for total in totals),
        "pairs_differing": sum(total.differing for total in totals),
        "pairs_looked_at": sum(total.looked_at for total in totals),
        "share_different": found.share,
        "pairs_timed_out": found.timed_out,
        "pairs_not_compared": found.uncompared,
        "noise": found.noise,
        "differences": [
            {"route": row.route, "place": row.place, "kind": row.kind, "count": row.count, "share": row.share,
             "noise_share": row.noise_share, "p": row.p}
            for row in found.counting
        ],
        "not_counting": len(found.rows) - len(found.counting),
        "ignored_headers": list(IGNORED_HEADERS),
        "ignore_unused": list(found.unused),
    }  # fmt: skip


def print_differences(found: "AnswerDifferences") -> None:
    """Print the differences that count, and what the others are."""
    import click

    from logreplay.analysis.answers.rules import IGNORED_HEADERS
    from logreplay.analysis.output.duet_page import percent
    from logreplay.cli.display.tables import OpenTable

    table = OpenTable(
        *("route", "place", "kind", "pairs", "share", "noise", "baseline", "candidate"),
        words=("place", "kind", "baseline", "candidate"),
        dispensable=("candidate", "baseline"),
    )
    for row in found.counting[:_ROWS]:
        values = (value if len(value) <= _VALUE else value[:_VALUE] + "…" for value in (row.baseline, row.candidate))
        shares = (f"{row.count:,}", percent(row.share), percent(row.noise_share))
        table.add(row.route, row.place, row.kind, *shares, *values)
    pairs = sum(total.pairs for total in found.totals.values())
    if found.counting:
        click.echo(f"answers differ in {percent(found.share)} of {pairs:,} pairs:")
        table.print()
    else:
        click.echo(f"answers: no difference{' that counts' if found.rows else ''} in {number_of(pairs, 'pair')}")
    if (hidden := len(found.counting) - _ROWS) > 0:
        click.echo(f"{number_of(hidden, 'more difference is', 'more differences are')} in differences.csv")
    if others := [row for row in found.rows if not row.counts]:
        why = (
            "not clearly more frequent than between the baselines"
            if found.noise
            else "between UUIDs, time stamps or tokens"
        )
        click.echo(f"differences that do not count: {len(others)}, {why} (differences.csv)")
    click.echo(f"headers not compared: {', '.join(IGNORED_HEADERS)}")
    for sentence in found.left_out:
        click.echo(sentence)
    for word in found.unused:
        click.echo(f"--ignore {word} matched no difference")


def write(
    folder: Path,
    title: str,
    sentences: "Sequence[str]",
    times: "Sequence[Mapping[str, Any]]",
    found: "AnswerDifferences | None",
    facts: "Sequence[tuple[str, str]]",
) -> None:
    """Write ``report.html``, and ``differences.csv`` and ``pairs.jsonl`` if answers were compared.

    Raises:
        LogreplayError: they cannot be written.
    """
    from logreplay.analysis.output.duet_page import html, write_differences
    from logreplay.core.files import write_atomically

    if found:
        write_differences(folder, found)
    write_atomically(folder / "report.html", html(title, sentences, times, found, facts))
