"""Compares the answers of a duet: keeps pairs during the run, reads them afterwards, writes what differs."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logreplay.analysis.format_time import interval, show
from logreplay.core.masking import masked
from logreplay.options.answer_rules import AnswerRules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from logreplay.analysis.response_diff.aggregate import AnswerDifferences
    from logreplay.analysis.verdict.comparison import Comparison
    from logreplay.replay.senders.pair_keeper import SamplingConfig


def keeping(folder: Path, together: int, timeout: float) -> "SamplingConfig":
    """The settings by which pairs are kept during the run."""
    from logreplay.analysis.input.routes import Routes
    from logreplay.analysis.response_diff.rules import default_ignored
    from logreplay.replay.senders.pair_keeper import SamplingConfig

    return SamplingConfig(folder, together, timeout, Routes, default_ignored)


def differences(folder: Path, answer_rules: AnswerRules, pairs: int) -> "AnswerDifferences":
    """Compare the pairs that the keepers wrote into a folder, and remove their files.

    Args:
        folder: folder of the duet.
        answer_rules: as the caller asked for it.
        pairs: number of scheduled pairs; those that no keeper saw are counted as not compared.
    """
    from logreplay.analysis.response_diff.aggregate import RouteTotal, Tally
    from logreplay.analysis.response_diff.diff import AnswerOf
    from logreplay.replay.senders.digests import pairs_of
    from logreplay.replay.senders.pair_keeper import FILES, read_counts, read_pairs

    tally = Tally(answer_rules.rules, answer_rules.examples)
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
    from logreplay.analysis.response_diff.rules import IGNORED_HEADERS

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


def time_rows(found: "Comparison") -> list[dict[str, str]]:
    """The changes of a duet as rows of a table: percentiles, then routes, secrets masked."""
    return [
        {"of": masked(name), "change": f"{change.ratio - 1:+.1%}", "interval": interval(change.low, change.high),
         "requests": f"{change.count:,}", "verdict": found.verdicts[name]}
        for name, change in (*found.quantiles.items(), *found.routes.items())
    ]  # fmt: skip


def mean_row(targets: "Mapping[str, Any]") -> list[dict[str, str]]:
    """The change of the mean response time as a row of the table of `time_rows`; none if one is unknown."""
    figures = [targets.get(name, {}).get("response_s", {}) for name in ("baseline", "candidate")]
    before, after = (each.get("mean") for each in figures)
    if not before or not after:
        return []
    means = f"{show(before)} to {show(after)}, no interval"
    return [{"of": "mean", "change": f"{after / before - 1:+.1%}", "interval": means,
             "requests": f"{figures[1]['count']:,}", "verdict": "–"}]  # fmt: skip


def write(
    folder: Path,
    title: str,
    sentences: "Sequence[str]",
    times: "Sequence[Mapping[str, Any]]",
    found: "AnswerDifferences | None",
    facts: "Sequence[tuple[str, str]]",
    compared: "Comparison | None",
) -> None:
    """Write ``report.html``, and ``differences.csv`` and ``pairs.jsonl`` if answers were compared.

    Raises:
        LogreplayError: they cannot be written.
    """
    from logreplay.analysis.output.duet_page import html, write_differences
    from logreplay.core.files import write_atomically

    if found:
        write_differences(folder, found)
    write_atomically(folder / "report.html", html(title, sentences, times, found, facts, compared))
