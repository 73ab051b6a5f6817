"""One rule says which requests failed: all counts, percentiles, verdicts, metrics and tables have the same number."""

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from logreplay.analysis import summary, summary_rows
from logreplay.analysis.analyze import analyse
from logreplay.analysis.input import arrays
from logreplay.analysis.output import html
from logreplay.analysis.output.hdr import write_hlog
from logreplay.analysis.tables import aggregate
from logreplay.analysis.verdict.comparison import compare
from logreplay.calling import progress_line
from logreplay.core.plural import number_of
from logreplay.core.record import ERRORS, RESPONSE_PARTS, RESULT_COLUMNS, SCHEMA
from logreplay.replay.monitor.prometheus import exposition
from logreplay.replay.monitor.snapshot import Snapshot
from logreplay.replay.monitor.snapshot_builder import SnapshotBuilder
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.live_samples import RecentRequests
from logreplay.replay.results.outcome import Progress
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.results.self_monitor import ProcessLoad
from logreplay.replay.results.stop_rules import StopRule, parse
from logreplay.replay.results.verdict import RunEvidence, RunVerdict, judge
from logreplay.replay.senders.contract import ERROR_CODES, RECORD, Exchange
from logreplay.replay.senders.trace import Watch

Ended = tuple[str, int, int]
"""Error word, status, and status in the log (0: none) of a request."""

STATUSES = (200, 302, 304, 404, 403, 429, 499, 500, 503)


def at_random(seed: int) -> list[Ended]:
    """Some requests: few with many errors, or many with few."""
    chance = random.Random(seed)
    words = ("", *ERRORS) if seed % 2 else ("",) * 40 + ERRORS
    whole = ("", "cancelled", "short_body")
    drawn = [(chance.choice(words), chance.choice(STATUSES)) for _ in range(10 ** (seed % 4))]
    return [(word, status if word in whole else 0, chance.choice((0, *STATUSES))) for word, status in drawn]


def fails(error: str, status: int, expected: int) -> bool:
    """The rule of docs/reference/glossary.md in other words."""
    if error:
        return error != "cancelled"
    return status >= 400 and (str(status)[0] != str(expected)[0] or expected == 499)


def result_rows(ended: list[Ended]) -> pl.DataFrame:
    """Rows of a result log, one every 10 ms, each answered after a quarter of a second."""
    number = len(ended)
    columns = {
        "date": ["2026-01-01"] * number, "time": ["00:00:00"] * number, "url": ["/"] * number, "op": ["GET"] * number,
        "seq": range(number), "row": range(number), "step": [0] * number, "offered": [100.0] * number,
        "scheduled": [place / 100 for place in range(number)],
        **dict.fromkeys(RESPONSE_PARTS, [0.0625] * number), "lag": [0.0] * number,
        "error": [error for error, _, _ in ended], "rc": [status for _, status, _ in ended],
        "expected_rc": [expected or None for _, _, expected in ended], "bytes": [1] * number,
    }  # fmt: skip
    return pl.DataFrame(columns, schema={name: SCHEMA[name] for name in RESULT_COLUMNS if name in columns})


def counted(ended: list[Ended]) -> Counters:
    records, counters = np.zeros(len(ended), RECORD), Counters()
    records["error"] = [ERROR_CODES[error] for error, _, _ in ended]
    records["status"] = [status for _, status, _ in ended]
    counters.add(records, np.zeros(len(ended), np.int64), np.array([expected for _, _, expected in ended]))
    return counters


def verdict(counters: Counters) -> RunVerdict:
    number = counters.sent + counters.dropped
    evidence = RunEvidence(100.0, number, counters, None, 1.0, 0, {}, ProcessLoad())
    return judge(evidence).verdict


@pytest.mark.parametrize("seed", range(8))
def test_all_places_count_the_same_requests_as_failed(seed: int, tmp_path: Path) -> None:
    ended = at_random(seed)
    failed = [fails(*each) for each in ended]
    number = sum(failed)
    frame, counters = result_rows(ended), counted(ended)
    dropped = sum(error == "dropped" for error, _, _ in ended)
    cancelled = sum(error == "cancelled" for error, _, _ in ended)
    sent = number - dropped

    assert counters.failed == sent
    assert (verdict(counters) is RunVerdict.TARGET_FAILING) == (2 * sent > counters.sent)
    stop = StopRule([parse("errors>0.1%")])
    assert bool(stop.see(Progress(1.0, len(ended), 0, counters))) == (sent > 0)
    shown = SnapshotBuilder("run").see(Progress(1.0, len(ended), 0, counters), 1.0)
    assert shown.totals.failed == sent
    assert f"errors {sent}" in progress_line.text(shown)
    assert f"logreplay_failed_total {float(sent)}" in exposition(Snapshot(totals=shown.totals)).decode()

    recent = RecentRequests(MemoryResults())
    recent.write(frame)
    assert recent.ended.failed.tolist() == failed

    requests = arrays.read(frame)
    assert requests.failed.tolist() == failed
    assert len(requests.finished) == len(requests) - cancelled
    figures = summary.summarise(requests, analyse(frame).verdict)
    assert (
        figures["requests"]["failed"] == figures["requests"]["unexpected"] == figures["response_s"]["failed"] == number
    )
    assert figures["response_s"]["count"] == len(ended) - cancelled
    for table in (aggregate.steps(requests), aggregate.seconds(requests), aggregate.by_route(requests)):
        assert table["errors"].sum() == number
        assert table["dropped"].sum() == dropped
    p50 = "failed" if number * 2 > len(ended) - cancelled else "answered"
    found = aggregate.steps(requests)["p50"].item()
    if cancelled < len(ended):
        assert ("failed" if np.isinf(found) else "answered") == p50
    assert compare(frame, frame).failed == (sent / counters.sent,) * 2
    write_hlog(tmp_path / "run.hlog", requests)
    assert f"#[{number_of(number, 'request')} failed" in (tmp_path / "run.hlog").read_text(encoding="ascii")
    for error, status, expected in ended:  # --crash stops at each of them, if it was sent
        watch = Watch(crash=True)
        watch.see(Exchange(0, b"", status, b"", (), 0, 0, 0, 0, error, "", expected))
        assert bool(watch.culprit) == (fails(error, status, expected) and error != "dropped")


def test_a_run_of_errors_that_the_log_had_too_is_valid_and_all_of_it_is_goodput() -> None:
    ended = [("", 500, 500)] * 200
    figures = summary.summarise(arrays.read(result_rows(ended)), analyse(result_rows(ended)).verdict)
    assert verdict(counted(ended)) is RunVerdict.VALID
    assert figures["rate"]["goodput"] == figures["rate"]["completed"] > 0
    assert figures["response_s"]["p50"] == 0.25


def test_requests_that_the_stop_cancelled_are_in_no_count_of_failures_and_in_no_percentile() -> None:
    requests = arrays.read(result_rows([("", 200, 200)] * 60 + [("cancelled", 0, 200)] * 40))
    table = aggregate.steps(requests).row(0, named=True)
    assert (table["scheduled"], table["errors"], table["p90"]) == (100, 0, 0.25)
    seconds = aggregate.seconds(requests).filter(pl.col("offered") > 0)
    assert seconds.select("offered", "errors", "p90").rows() == [(100, 0, 0.25)]


@pytest.mark.parametrize(
    ("number", "failures", "shown"),
    [
        (350, 1, {"p99": "–", "p999": "–"}),
        (200, 1, {"p99": "–", "p999": "–"}),
        (200, 12, {"p90": "250 ms", "p95": "failed", "p99": "–", "p999": "–"}),
        (400, 4, {"p99": "250 ms", "p999": "–", "mean": "250 ms"}),
        (400, 5, {"p95": "250 ms", "p99": "failed", "p999": "–", "mean": "250 ms"}),
        (4000, 4, {"p999": "250 ms"}),
        (4000, 5, {"p99": "250 ms", "p999": "failed"}),
        (10, 10, {"min": "failed", "mean": "failed", "p50": "failed", "p99": "–", "max": "failed"}),
    ],
)
def test_a_percentile_failed_only_if_it_falls_on_a_failed_request(
    number: int, failures: int, shown: dict[str, str]
) -> None:
    frame = result_rows([("", 200, 200)] * (number - failures) + [("refused", 0, 200)] * failures)
    analysis = analyse(frame)
    rows = {name: response for name, response, *_ in summary_rows.latency_rows(analysis.summary)}
    assert {name: rows[name] for name in shown} == shown
    tiles = {name: value for name, value, _ in html._tiles(analysis, None)}
    assert tiles["response time p99"] == rows["p99"]
    (step,) = summary_rows.step_rows(aggregate.steps(arrays.read(frame)).with_columns(verdict=pl.lit("stable")))
    assert step[5:9] == tuple(rows[name] for name in ("p50", "p90", "p95", "p99"))


def test_a_run_whose_requests_were_all_cancelled_is_invalid_and_has_no_times() -> None:
    """It was VALID, with a shortest and a mean time of 4,295 s."""
    ended = [("cancelled", 0, 200)] * 28
    assert verdict(counted(ended)) is RunVerdict.RATE_MISSED
    found = analyse(result_rows(ended)).summary
    assert [found["response_s"][name] for name in ("min", "mean", "p50", "max")] == [None] * 4
    assert found["answer"].endswith(" requests/s: no response as expected; 28 cancelled")
    assert (found["verdict"], [each["code"] for each in found["findings"]]) == ("RATE_MISSED", ["rate_missed"])
    assert verdict(counted([*ended, ("", 200, 200)])) is RunVerdict.VALID
