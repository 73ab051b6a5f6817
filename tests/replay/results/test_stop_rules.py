"""A run ends itself when a figure stays above its limit, and says which."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from logreplay.cli.exit_codes import Exit
from logreplay.cli.main import run
from logreplay.core.rows import scan
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.outcome import Progress
from logreplay.replay.results.stop_rules import Condition, StopRule, parse
from support.background_server import beside
from support.raw_server import raw_server


def ended(counters: Counters, number: int, seconds: float, lag: float = 0.0) -> None:
    """Count so many requests whose response took so long, the generator's lag included."""
    counters.response.add(np.full(number, int(seconds * 1e9)))
    counters.without_lag.add(np.full(number, int((seconds - lag) * 1e9)))


def progress(
    second: float, *, ok: int = 0, failed: int = 0, in_flight: int = 0, p99: float = 0.1, lag: float = 0.0
) -> Progress:
    """After so many seconds, in each of which one exchange ended; this long it took."""
    sent = ok + failed
    counters = Counters(sent=sent, ok=ok, http_error=failed, failed=failed)
    ended(counters, int(second), p99, lag)
    return Progress(second, sent + in_flight, in_flight, counters)


@pytest.mark.parametrize(
    ("text", "figure", "limit", "window"),
    [
        ("errors>5%/10s", "errors", 0.05, 10),
        ("errors>0.05/10s", "errors", 0.05, 10),
        ("p99>407ms", "p99", 0.407, 0),
        ("p99>2s/10s", "p99", 2, 10),
        ("p50 > 300ms / 1m", "p50", 0.3, 60),
        ("in_flight>5000", "in_flight", 5000, 0),
    ],
)
def test_conditions_are_read(text: str, figure: str, limit: float, window: float) -> None:
    assert parse(text) == Condition(figure, limit, window, text)


def test_a_bare_share_of_errors_is_ambiguous() -> None:
    with pytest.raises(ValueError, match=r"^'errors>5/10s' is ambiguous: write errors>5%, or errors>0\.05$"):
        parse("errors>5/10s")


@pytest.mark.parametrize("text", ["errors>100%", "errors>150%/10s", "errors>100"])
def test_a_share_of_errors_that_no_run_can_exceed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^'{text}' can never come true: no more than 100% of the requests can fail"):
        parse(text)


@pytest.mark.parametrize("text", ["", "errors>5s/10s", "p99>2%", "in_flight>5s", "p98>1s", "errors<5%", "p99>"])
def test_what_is_no_condition_is_refused_with_examples(text: str) -> None:
    with pytest.raises(
        ValueError,
        match=r"is not a stop condition; write errors>5%/10s, p99>2s/10s or in_flight>5000 \(units: us, ms, s, m, h\)$",
    ):
        parse(text)


def seconds_until(rule: StopRule, seen: list[Progress]) -> int | None:
    return next((index for index, now in enumerate(seen, 1) if rule.see(now)), None)


def test_errors_must_stay_above_for_the_whole_window() -> None:
    rule = StopRule([parse("errors>5%/3s")])
    failing = [progress(s, ok=100 * s, failed=10 * s) for s in range(1, 6)]
    assert seconds_until(rule, failing) == 3
    assert rule.hit == "errors>5%/3s: 9.1% errors"


def test_one_good_second_begins_the_window_anew() -> None:
    rule, errors, seen = StopRule([parse("errors>5%/3s")]), 0, []
    for second in range(1, 9):
        errors += 0 if second == 3 else 20
        seen.append(progress(second, ok=100 * second, failed=errors))
    assert seconds_until(rule, seen) == 6


def test_one_look_is_enough_without_a_window() -> None:
    rule = StopRule([parse("p99>2s/10s"), parse("in_flight>5000")])
    assert seconds_until(rule, [progress(1, in_flight=5000), progress(2, in_flight=5001)]) == 2
    assert rule.hit == "in_flight>5000: 5001 in flight"


def test_another_step_begins_the_window_anew() -> None:
    rule = StopRule([parse("p99>2s/4s")])
    assert seconds_until(rule, [progress(s, p99=3) for s in (1, 2, 3, 1, 2, 3)]) is None


def test_a_second_in_which_nothing_ended_says_nothing() -> None:
    rule = StopRule([parse("p99>2s/3s")])
    slow = progress(1, p99=3)
    seen = [slow, replace(slow, elapsed=2.0), replace(slow, elapsed=3.0), replace(progress(2, p99=3), elapsed=4.0)]
    assert seconds_until(rule, seen) == 4
    assert rule.hit.startswith("p99>2s/3s: p99 3")


def test_a_percentile_that_only_lag_lifts_above_its_limit_is_refused() -> None:
    rule = StopRule([parse("p99>2s/3s"), parse("p50>4s")])
    assert seconds_until(rule, [progress(s, p99=3, lag=1.5) for s in range(1, 7)]) is None
    assert [finding.text for finding in rule.findings()] == [
        "--stop 'p99>2s/3s' was not applied: p99 3.01 s with the generator's lag, and not without it; stop other "
        "processes, and repeat the run"
    ]
    assert seconds_until(rule, [progress(s, p99=3, lag=0.5) for s in range(7, 11)]) == 3
    assert rule.findings() == []


def hanging(second: int, *, quick: int, stuck: int, late: int = 0) -> Progress:
    """After so many seconds, in each of which so many requests ended in 0.1 s; so many wait for 9 s, or ended in it."""
    counters = Counters()
    ended(counters, second * quick, 0.1)
    ended(counters, late, 9.0)
    counters.waiting.add(np.full(stuck, int(9e9)))
    return replace(progress(second, in_flight=stuck), counters=counters)


def test_what_waits_longer_than_the_limit_counts_as_above_it() -> None:
    rule = StopRule([parse("p99>2s/3s")])
    assert seconds_until(rule, [hanging(s, quick=0, stuck=100 * s) for s in range(1, 6)]) == 3
    assert rule.hit == "p99>2s/3s: p99 above 2 s, 300 requests wait longer than that"


def test_users_who_all_wait_for_ever_stop_the_run() -> None:
    assert seconds_until(StopRule([parse("p50>2s/3s")]), [hanging(s, quick=0, stuck=5) for s in range(1, 6)]) == 3


def test_a_share_that_hangs_is_seen_beside_the_answers() -> None:
    seen = [hanging(s, quick=100, stuck=2 * s) for s in range(1, 6)]
    assert seconds_until(StopRule([parse("p99>2s/3s")]), seen) == 3
    assert seconds_until(StopRule([parse("p50>2s/3s")]), seen) is None


def test_a_request_counts_once_however_long_it_waits_and_when_it_ends() -> None:
    seen = [hanging(1, quick=100, stuck=20), *(hanging(s, quick=100, stuck=20) for s in range(2, 6))]
    seen += [hanging(6, quick=100, stuck=0, late=20), hanging(7, quick=100, stuck=0, late=20)]
    assert seconds_until(StopRule([parse("p99>2s/2s")]), seen) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        ("--tps", 50),
        ("--tps", 50, "--sender", "aiohttp"),
        ("--vusers", 5),
        ("--tps", 50, "--max-in-flight", 3),
        pytest.param(("--tps", 50, "--workers", 2), marks=pytest.mark.slow),
    ],
)
def test_a_target_that_hangs_stops_the_run_long_before_its_time_outs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[object, ...]
) -> None:
    log, results = tmp_path / "log.csv", tmp_path / "results.csv"
    log.write_text(
        "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n" + "2026-01-01,00:00:00,0,0,0,5,/stall,200,GET\n" * 9
    )
    with beside(raw_server) as server:
        when = ("--loop", "--for", "100s", "--timeout", "100s", "--stop", "p99>300ms/1s")
        code = run([str(part) for part in ("run", log, server.url, *more, *when, "-o", results)])
    assert code == Exit.CONDITION
    assert re.search(r"stopped: p99>300ms/1s: p99 above 0.3 s, \d+ requests wait longer", capsys.readouterr().err)
    rows = scan(results).collect()
    assert set(rows["error"]) == {"cancelled"}
    assert rows["scheduled"].max() < 50  # type: ignore[operator]
