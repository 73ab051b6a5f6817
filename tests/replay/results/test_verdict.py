"""Verdicts: on made-up evidence, and on runs that went wrong on purpose."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from logreplay.replay.results.counters import Counters
from logreplay.replay.results.self_monitor import ProcessLoad, WriteLag
from logreplay.replay.results.verdict import ReadLate, RunEvidence, RunVerdict, Severity, held_back_in_steps, judge
from logreplay.replay.servers.minimal import responding
from support.command_line import COMMAND, started, wait_until
from support.delayed_responses import delayed_responses

LAGS = {"lag_p50": 0.00005, "lag_p95": 0.0001, "lag_p99": 0.0005}


def evidence(**change: Any) -> RunEvidence:
    """What a good run of 10 s rests on, but for some counts, quantiles of lag and response, or other values."""
    change["errors"] = Counter(change.get("errors"))
    counts = {item.name: change.pop(item.name) for item in fields(Counters) if item.name in change}
    counters = Counters(**{"sent": 10_000, **counts})
    p50, p95, p99 = (change.pop(name, usual) for name, usual in LAGS.items())
    lag = (np.array([p50] * 5000 + [p95] * 4500 + [p99] * 500) * 1e9).astype(np.int64)
    without_lag = np.full(10_000, int(change.pop("response_p50", 0.010) * 1e9))
    counters.lag.add(lag)
    counters.response.add(lag + without_lag)
    counters.without_lag.add(without_lag)
    good = RunEvidence(
        offered=1000,
        scheduled=10_000,
        counters=counters,
        duration=10,
        seconds=10,
        limited=0,
        local={},
        vitals=ProcessLoad(seconds=10, loop=2, process=3),
    )
    return replace(good, **change)


@pytest.mark.parametrize(
    ("change", "verdict", "codes"),
    [
        ({}, RunVerdict.VALID, []),
        ({"lag_p99": 0.006}, RunVerdict.VALID, ["lag"]),
        ({"lag_p99": 0.006, "response_p50": 0.1}, RunVerdict.VALID, []),
        ({"lag_p95": 0.06}, RunVerdict.GENERATOR_BOUND, ["lag"]),
        ({"lag_p95": 0.06, "lag_p99": 0.09, "response_p50": 1.0}, RunVerdict.VALID, []),
        (
            {"local": {"EMFILE": 3}, "failed": 3, "net_error": 3, "errors": {"refused": 3}},
            RunVerdict.GENERATOR_BOUND,
            ["emfile"],
        ),
        ({"failed": 200, "net_error": 200, "errors": {"reset": 200}}, RunVerdict.VALID, ["target_failing"]),
        (
            {"failed": 6000, "net_error": 6000, "errors": {"refused": 6000}},
            RunVerdict.TARGET_FAILING,
            ["target_failing"],
        ),
        ({"failed": 9000}, RunVerdict.TARGET_FAILING, ["target_failing"]),
        ({"net_error": 9000, "errors": {"cancelled": 9000}}, RunVerdict.VALID, []),
        ({"net_error": 10_000, "errors": {"cancelled": 10_000}}, RunVerdict.RATE_MISSED, ["rate_missed"]),
        (
            {"net_error": 10_000, "errors": {"cancelled": 10_000}, "lag_p95": 1},
            RunVerdict.GENERATOR_BOUND,
            ["lag"],
        ),
        ({"seconds": 11}, RunVerdict.RATE_MISSED, ["rate_missed"]),
        ({"limited": 100}, RunVerdict.VALID, ["in_flight_limit"]),
        ({"seconds": 11, "limited": 100}, RunVerdict.RATE_MISSED, ["in_flight_limit", "rate_missed"]),
        ({"lag_p95": 0.4, "limited": 1}, RunVerdict.GENERATOR_BOUND, ["lag", "in_flight_limit"]),
        ({"sent": 9000, "dropped": 1000}, RunVerdict.RATE_MISSED, ["dropped", "rate_missed"]),
        ({"seconds": 11, "lag_p95": 1}, RunVerdict.GENERATOR_BOUND, ["lag"]),
        ({"vitals": ProcessLoad(seconds=10, longest_pause=2)}, RunVerdict.VALID, ["stood_still"]),
        ({"retried": 100}, RunVerdict.VALID, []),
        ({"retried": 101}, RunVerdict.VALID, ["retries"]),
        ({"calm": 1}, RunVerdict.VALID, ["enhance_your_calm"]),
        ({"queued": 5, "queued_for": "a stream"}, RunVerdict.VALID, ["streams_limit"]),
        ({"delay": WriteLag(9, 4.0, 5.0, 4.5)}, RunVerdict.VALID, ["slow_disk"]),
        ({"delay": WriteLag(9, 2.0, 5.0, 4.5)}, RunVerdict.VALID, []),
        ({"delay": WriteLag(9, 6, 1, 1), "vitals": ProcessLoad(longest_pause=5)}, RunVerdict.VALID, ["stood_still"]),
    ],
)
def test_each_kind_of_evidence_has_its_verdict(
    change: dict[str, Any], verdict: RunVerdict, codes: Sequence[str]
) -> None:
    health = judge(evidence(**change))
    assert [finding.code for finding in health.findings] == codes
    assert health.verdict is verdict
    assert health.valid == (verdict is RunVerdict.VALID)
    assert any(finding.severity is Severity.VOID for finding in health.findings) != health.valid


def test_a_run_is_not_valid_for_a_percentile_that_its_lag_reaches() -> None:
    """Of a target that answers in 5 ms, 4 % of the requests were sent 2 s late."""
    lag = (np.array([0.0] * 9600 + [2.0] * 400) * 1e9).astype(np.int64)
    seen = evidence()
    seen = replace(seen, counters=Counters(sent=10_000))
    seen.counters.lag.add(lag)
    seen.counters.response.add(lag + 5_000_000)
    seen.counters.without_lag.add(np.full(10_000, 5_000_000))
    assert seen.counters.valid_up_to == 0.96
    (finding,) = judge(seen).findings
    assert (finding.code, finding.severity) == ("lag", Severity.WARNING)
    assert finding.text == (
        "requests were sent late, by up to 2 s: the lag adds 1.99 s to p99 and 1.99 s to p99.9, which are left out; "
        "the machine was busy; check that it is idle, and repeat the run"
    )


def test_lag_in_the_median_leaves_p99_as_it_is() -> None:
    """Of 10 to 20 ms, 90 % of the requests were sent 8 ms late, and 2 % took 520 ms: p99 was left out, too."""
    without_lag = (np.concatenate((np.linspace(10, 20, 9800), np.full(200, 520.0))) * 1e6).astype(np.int64)
    lag = np.where(np.arange(10_000) % 10 > 0, 8_000_000, 0)
    seen = replace(evidence(), counters=Counters(sent=10_000))
    seen.counters.lag.add(lag)
    seen.counters.response.add(lag + without_lag)
    seen.counters.without_lag.add(without_lag)
    (finding,) = judge(seen).findings
    assert finding.text.startswith("requests were sent late, by up to 7.97 ms: the lag adds 7")
    assert " to p50, " in finding.text
    assert "p99" not in finding.text


def test_steps_in_which_requests_waited_are_named_and_their_requests_added_up() -> None:
    limited = {"queued": 5, "queued_for": "a stream"}
    steps = [evidence(offered=10.0), evidence(offered=30.0, **limited), evidence(offered=20.0, **limited, calm=1)]
    found = held_back_in_steps([step.waits for step in steps])
    assert [(each.code, each.text.partition(";")[0]) for each in found] == [
        ("streams_limit", "at 20, 30/s: 10 requests waited for a stream"),
        ("enhance_your_calm", "at 20/s: the target ended streams or connections 1 time with ENHANCE_YOUR_CALM: it "
         "defends itself against the requests, or against the resets of requests that timed out"),
    ]  # fmt: skip


def test_dropped_requests_are_a_share_of_the_steps_at_the_named_rates() -> None:
    steps = [evidence(offered=10.0), evidence(offered=20.0, sent=9000, dropped=1000)]
    assert [each.text for each in held_back_in_steps([step.waits for step in steps])] == [
        "at 20/s: 1000 of 10000 requests were too late to be sent, and dropped (--late)"
    ]


def test_requests_that_a_lost_worker_did_not_send_are_no_late_ones() -> None:
    lost = evidence(sent=9000, dropped=1000, unsent=1000, lost="lost worker 2")
    assert [(each.code, each.text) for each in judge(lost).findings] == [("shard_lost", "lost worker 2")]
    assert held_back_in_steps([lost.waits]) == []


def test_where_most_requests_that_failed_had_waited_for_a_limit_the_limit_is_named() -> None:
    failed = {"failed": 6000, "net_error": 6000, "errors": {"timeout": 6000}}
    judged = judge(evidence(**failed, queued=7000, queued_for="a stream: --streams 4 limits them (raise it)"))
    assert judged.findings[0].text == (
        "60 % of the requests failed (6000 x timeout): 7,000 requests waited for a stream: --streams 4 limits them "
        "(raise it); otherwise check the target's log; run --crash shows the first"
    )


def test_failures_that_are_no_time_outs_are_not_put_down_to_a_limit() -> None:
    failed = evidence(failed=600, http_error=600, queued=700, queued_for="a stream: --streams 4 limits them (raise it)")
    assert judge(failed).findings[0].text.endswith("): check the target's log; run --crash shows the first")


@pytest.mark.parametrize(("change", "is_refused"), [("200 → 401", True), ("302 → 403", True), ("404 → 401", False)])
def test_a_target_that_asks_for_credentials_is_told_from_one_that_fails(change: str, is_refused: bool) -> None:
    seen = evidence(failed=6000, http_error=6000, unexpected=Counter({change: 5000, "200 → 500": 1000}))
    said = "the target asks for cookies or passwords; give them with --auth, --header or --cookies"
    assert (said in judge(seen).findings[0].text) == is_refused


def test_many_retries_at_one_rate_are_told_however_many_requests_the_others_had() -> None:
    steps = [evidence(offered=5.0, retried=101), evidence(offered=9.0), evidence(offered=8.0)]
    (told,) = held_back_in_steps([step.waits for step in steps])
    assert told.text.startswith("at 5/s: requests were sent again 101 times")


def test_a_finding_says_what_was_seen_and_what_helps() -> None:
    busy = evidence(lag_p95=0.2, lag_p99=0.3, vitals=ProcessLoad(seconds=10, loop=9.5, process=9.9))
    (finding,) = judge(busy).findings
    assert finding.text == (
        "requests were started late: lag p95 201 ms, p99 300 ms; it used 95 % of its core; lower the rate, "
        "or use more processes with --workers; logreplay calibrate measures the rate that this machine can send"
    )
    (missed,) = judge(evidence(seconds=11)).findings
    assert missed.text == (
        "90.9% of the schedule was sent in its time: the rate was not reached; lower it, or raise the limit for which "
        "requests waited"
    )
    later = replace(busy, counters=evidence(lag_p95=33.7, lag_p99=34.5).counters)
    assert "lag p95 33." in judge(later).findings[0].text
    waited = replace(busy, vitals=replace(busy.vitals, waited=4))
    assert "it waited 4.0 s of 10.0 s for a CPU that others used" in judge(waited).findings[0].text


def test_late_rows_are_charged_to_the_disk_or_to_the_processor() -> None:
    (slow,) = judge(evidence(delay=WriteLag(700, 4.0, working=5.0, writing=4.5))).findings
    assert slow.text.startswith(
        "700 rows were written late, up to 4.0 s after the request ended: the disk of the result log is too slow "
        "(writing took 4.5 s); response times are not affected"
    )
    (busy,) = judge(evidence(delay=WriteLag(700, 4.0, working=5.0, writing=0.5))).findings
    assert "this machine had too little processor time for the recorder (writing took 0.5 s)" in busy.text


def test_requests_that_were_read_late_are_charged_to_what_they_were_read_from() -> None:
    late = evidence(lag_p95=0.2, lag_p99=0.3, late=ReadLate(5000, 0.3))
    (slow,) = judge(late).findings
    assert "after they were due: the disk of the log or a hook is too slow" in slow.text
    (short,) = judge(replace(late, late=replace(late.late, follow_delay=1.5))).findings
    assert "--delay 1.5s is too short for this log" in short.text
    assert "repeat with --delay 2s or more" in short.text


def command(log: Path, url: str, output: Path, *options: str) -> list[str]:
    return [*COMMAND, "run", str(log), url, "-o", str(output), *options]


def findings_of(output: Path) -> dict[str, str]:
    summary = json.loads(output.with_suffix(".summary.json").read_text())
    return {"verdict": summary["verdict"]} | {finding["code"]: finding["text"] for finding in summary["findings"]}


@contextmanager
def invalid_run(log: Path, output: Path, seconds: int) -> Iterator[int]:
    """A run that has written rows; its process. It must end as no measurement."""
    options = ("--tps", "200", "--for", str(seconds))
    with (
        responding() as url,
        subprocess.Popen(command(log, url, output, *options), stderr=subprocess.PIPE) as process,
    ):
        wait_until(lambda: process.poll() is not None or (output.exists() and output.stat().st_size > 2000))
        yield process.pid
        _, err = process.communicate(timeout=30)
    assert process.returncode == 3, err


@pytest.mark.slow
def test_a_replayer_that_was_stopped_is_no_measurement(log: Path, tmp_path: Path) -> None:
    output = tmp_path / "r.csv"
    with invalid_run(log, output, seconds=6) as pid:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(2)  # the length of the pause
        os.kill(pid, signal.SIGCONT)
    seen = findings_of(output)
    assert seen["verdict"] == "GENERATOR_BOUND"
    assert "the generator did not run for 2 s" in seen["stood_still"]


@pytest.mark.alone
def test_a_replayer_without_a_processor_is_no_measurement(log: Path, tmp_path: Path) -> None:
    """Twenty busy processes leave it 5 % of its core, which would have to send 420,000 requests a second to keep up."""
    output = tmp_path / "r.csv"
    core = min(os.sched_getaffinity(0))
    pinned = ["taskset", "-c", str(core)]
    with responding() as url:
        options = ("--tps", "20000", "--for", "3", "--max-in-flight", "100000")
        process = started(*pinned, *command(log, url, output, *options), stderr=subprocess.PIPE)
        wait_until(lambda: process.poll() is not None or (output.exists() and output.stat().st_size > 2000))
        hogs = [started(*pinned, "sh", "-c", "while :; do :; done") for _ in range(20)]
        time.sleep(2)  # for how long they take the core
        for hog in hogs:
            hog.kill()
            hog.wait()
        _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    seen = findings_of(output)
    assert seen["verdict"] == "GENERATOR_BOUND"
    assert "for a CPU that others used" in seen["lag"]


@pytest.mark.alone
def test_a_target_that_goes_away_is_no_measurement(log: Path, tmp_path: Path) -> None:
    output = tmp_path / "r.csv"
    with invalid_run(log, output, seconds=2):
        (responder,) = [pid for pid in _children(os.getpid()) if "logreplay.replay.servers.minimal" in _command_of(pid)]
        os.kill(responder, signal.SIGKILL)
    seen = findings_of(output)
    assert "refused" in seen["target_failing"]
    assert "run --crash" in seen["target_failing"]  # other commands lack the option
    if "lag" in seen:
        pytest.skip("other work took the processor, which outranks what the target did")
    assert seen["verdict"] == "TARGET_FAILING"


@pytest.mark.slow
def test_too_few_descriptors_are_named(log: Path, tmp_path: Path) -> None:
    """A target that holds every answer for a second, and fifty descriptors for 200 connections."""
    output = tmp_path / "r.csv"
    limited = ["prlimit", "--nofile=50:50"]
    with delayed_responses(1.0) as url:
        options = ("--tps", "200", "--for", "1")
        done = subprocess.run([*limited, *command(log, url, output, *options)], timeout=60, capture_output=True)
    assert done.returncode == 3, done.stderr
    seen = findings_of(output)
    assert seen["verdict"] == "GENERATOR_BOUND"
    assert "too few file descriptors: raise the limit" in seen["emfile"]
    assert "only 50 are allowed" in seen["descriptors"]


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
