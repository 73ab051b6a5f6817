"""find: a search over the engine, in virtual time and against a real target."""

import json
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from logreplay.analysis.search.bounds import Bound
from logreplay.analysis.search.report import sentence
from logreplay.analysis.search.search import Answer, Goal, Search, Trial
from logreplay.calls.find_call import FindCall, taken_bounds
from logreplay.cli.main import cli
from logreplay.core.errors import Interrupted, LogreplayError
from logreplay.options.keywords import read
from logreplay.replay.engine.engine import Engine, Limits
from logreplay.replay.requests.plan import Requests, ScheduledRequests
from logreplay.replay.results.live_samples import RecentRequests
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import MemoryResults, Results
from logreplay.replay.schedules.rates import Schedule
from logreplay.replay.senders.contract import ERROR_CODES
from logreplay.runs.trials import by_chance, drive, evenly, users
from search_servers import Server, responses
from simulate import SimulatedQueue
from support.command_line import COMMAND, PATIENCE, started, wait_for_rows, workers_of
from support.virtual_time import OneServerQueue, OneStream, VirtualTimeLoop, run

MD1_KEEPS = 125.6
"""Requests/s at which 1 % of the answers of one server of 5 ms each take over 30 ms, if requests come by chance."""
BY_CHANCE = by_chance(1)
LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n2026-01-01,00:00:00.000000,0.01,0,0,10,/a,200,GET\n"


def searched(
    log: Path,
    goal: Goal,
    schedule_of: Callable[[Trial], Schedule] = BY_CHANCE,
    contention: Callable[[], Awaitable[str]] | None = None,
    writes_to: Callable[[Results], Results] = lambda results: results,
    sender: OneServerQueue | None = None,
    limits: Limits | None = None,
) -> Search:
    """Search one server of 200 requests/s in virtual time, the engine between it and the search."""
    loop, search = VirtualTimeLoop(), Search(goal)
    results = RecentRequests(MemoryResults())

    async def main() -> Outcome | None:
        target = sender or OneServerQueue(0.005, stall=(0.0, 0.0))
        closed, into = goal.users, writes_to(results)
        async with Engine(target, into, limits=limits, clock=loop.now_ns, threaded=False, closed=closed) as engine:
            return await drive(
                search,
                engine,
                results,
                Requests(log),
                schedule_of=schedule_of,
                contention=contention,
                threaded=False,
                on_begin=lambda _: None,
                on_progress=lambda _: None,
                on_end=lambda *_: None,
            )

    assert run(main(), loop) is None
    return search


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "access.csv"
    path.write_text(LOG)
    return path


def test_the_truth_of_the_simulated_queue_is_where_it_is_said_to_be() -> None:
    server = Server("M/D/1", SimulatedQueue(1, 0.005, "fixed"), Bound("p99", 0.03), MD1_KEEPS)
    arrived = [responses(server, rate, 10_000, np.random.default_rng(0))[1] for rate in (118, 133)]
    assert np.mean(arrived[0] > 0.03) < 0.01 < np.mean(arrived[1] > 0.03)


@pytest.mark.slow
@pytest.mark.parametrize("trial_s", [10, 20])
def test_the_bracket_holds_the_rate_that_a_queue_is_known_to_keep(log: Path, trial_s: float) -> None:
    search = searched(log, Goal((Bound("p99", 0.03),), start=30, trial_s=trial_s))
    answer = search.next
    assert isinstance(answer, Answer)
    assert answer.why == "found", sentence(search)
    assert answer.low is not None
    assert answer.high is not None
    assert answer.low / 1.04 <= MD1_KEEPS <= answer.high * 1.04


@pytest.mark.slow
def test_the_most_users_that_one_server_keeps_in_time_are_found_exactly(log: Path) -> None:
    """Each of N users waits for N answers of 5 ms: 20 wait 100 ms, 21 wait 105 ms."""
    goal = Goal((Bound("p99", 0.102),), start=3, trial_s=5, users=True)
    search = searched(log, goal, users(0.0))
    answer = search.next
    assert isinstance(answer, Answer)
    assert (answer.why, answer.low, answer.high) == ("found", 20, 21)
    assert sentence(search).startswith("20 users keep p99 <= 102 ms: confirmed by a fresh trial of 20 s")


class NumbersOfTheFasterWorker(MemoryResults):
    """Gives rows the numbers that they have where another worker has hardly sent anything."""

    def __init__(self, results: Results) -> None:
        super().__init__()
        self._results = results

    def write(self, rows: pl.DataFrame) -> None:
        self._results.write(rows.with_columns(pl.col("seq") * 2))


@pytest.mark.slow
def test_all_requests_of_users_count_though_one_worker_has_sent_more_than_the_other(log: Path) -> None:
    """Rows of the faster worker were ignored from the number on that all workers together had taken up."""
    goal = Goal((Bound("p99", 0.028),), 1, trial_s=20.0, users=True)
    equal, unequal = (
        searched(log, goal, users(0.0)),
        searched(log, goal, users(0.0), writes_to=NumbersOfTheFasterWorker),
    )
    counted = [[each.outcome.evidence.requests for each in search.judged] for search in (unequal, equal)]
    assert counted[0] == counted[1]


@pytest.mark.slow
def test_a_hopeless_trial_is_cut_and_the_next_one_begins_after_its_answers_are_in(log: Path) -> None:
    search = searched(log, Goal((Bound("p99", 0.1),), start=150, trial_s=20, trials=8, highest=500))
    cut = [judged for judged in search.judged if judged.outcome.cut]
    assert cut
    assert all(judged.outcome.evidence.requests < judged.trial.rate * judged.trial.judged_s for judged in cut)
    numbers = [judged.trial.number for judged in search.judged]
    assert numbers == list(range(1, len(numbers) + 1))


class FailingServer(OneServerQueue):
    """Answers each request with 500."""

    def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
        end = start / 1e9 + self._service
        self._loop.call_at(end, self._done, seq, start, 0, 0, round(self._service * 1e9), 0, 10, 500, 0)


def test_a_target_that_fails_all_requests_fails_its_trials_however_busy_the_machine_is(log: Path) -> None:
    async def busy() -> str:
        return "others used 90% of this machine's processors"

    goal = Goal((Bound("p99", 0.03), Bound("errors", 0.01)), start=20, trial_s=4, trials=4)
    search = searched(log, goal, contention=busy, sender=FailingServer(0.005, stall=(0.0, 0.0)))
    assert {judged.verdict for judged in search.judged} == {"fail"}
    assert sentence(search) == "p99 <= 30 ms and errors <= 1 % does not hold even at 20/s"


class DroppingSender(OneServerQueue):
    """Drops every tenth request, as a sender with a time limit does that is late."""

    def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
        error = ERROR_CODES["dropped"] if seq % 10 == 0 else 0
        self._loop.call_at(start / 1e9 + 0.002, self._done, seq, start, 0, 0, 2_000_000, 0, 10, 200, error)


def test_dropped_requests_are_no_failures_of_the_target(log: Path) -> None:
    goal = Goal((Bound("p99", 0.03), Bound("errors", 0.01)), start=40, trial_s=4, trials=3, highest=60)
    search = searched(log, goal, evenly, sender=DroppingSender(0.002, stall=(0.0, 0.0)))
    assert {judged.findings[1].cost for judged in search.judged} == {0.0}
    assert "fail" not in {judged.verdict for judged in search.judged}


class FailingAboveAHundred(OneServerQueue):
    """Answers every sixth request with 500 where they come faster than 100/s on average."""

    def __init__(self) -> None:
        super().__init__(0.002, stall=(0.0, 0.0))
        self._starts: list[int] = []

    def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
        self._starts = [*self._starts[-99:], start]
        fast = len(self._starts) == 100 and start - self._starts[0] < 990_000_000
        status = 500 if fast and seq % 6 == 0 else 200
        self._loop.call_at(start / 1e9 + 0.002, self._done, seq, start, 0, 0, 2_000_000, 0, 10, status, 0)


def test_a_trial_that_failed_by_answers_of_500_is_no_trial_on_a_busy_machine(log: Path) -> None:
    """A confirmation of which 3 % were answered with 500 did not count, since other programs were busy."""

    async def busy() -> str:
        return "others used 90% of this machine's processors"

    goal = Goal((Bound("p99", 0.03), Bound("errors", 0.01)), start=40, trial_s=8, trials=8, highest=200)
    search = searched(log, goal, evenly, contention=busy, sender=FailingAboveAHundred())
    verdicts = {judged.trial.rate: judged.verdict for judged in search.judged}
    assert verdicts.pop(102.4) == "fail"
    assert set(verdicts.values()) == {"pass"}


@pytest.mark.slow
def test_a_trial_that_failed_while_others_kept_the_machine_busy_counts_for_nothing(log: Path) -> None:
    async def busy() -> str:
        return "others used 90% of this machine's processors"

    goal = Goal((Bound("p99", 0.03),), start=100, trial_s=4, trials=4, highest=500)
    search = searched(log, goal, contention=busy)
    verdicts = {judged.trial.rate: judged.verdict for judged in search.judged}
    assert verdicts.pop(160.0) == "void"
    assert set(verdicts.values()) == {"pass"}
    assert {judged.outcome.void for judged in search.judged if judged.verdict == "void"} == {
        "others used 90% of this machine's processors"
    }


class LosingEngine(Engine):
    """Loses a worker in its second trial."""

    async def run(self, plan: ScheduledRequests, *arguments: Any, **named: Any) -> Outcome:
        outcome = await super().run(plan, *arguments, **named)
        return replace(outcome, lost=("worker 2",)) if plan.step == 1 else outcome


def test_a_search_ends_with_the_trial_that_loses_a_worker(log: Path) -> None:
    """It went on with the others, and called the machine too slow or too busy."""
    loop, search = VirtualTimeLoop(), Search(Goal((Bound("p99", 0.03),), start=20, trial_s=4, trials=9))
    results = RecentRequests(MemoryResults())

    async def main() -> Outcome | None:
        engine = LosingEngine(OneServerQueue(0.005, (0.0, 0.0)), results, clock=loop.now_ns, threaded=False)
        async with engine:
            return await drive(
                search, engine, results, Requests(log), schedule_of=BY_CHANCE, threaded=False,
                on_begin=lambda _: None, on_progress=lambda _: None, on_end=lambda *_: None,
            )  # fmt: skip

    cut = run(main(), loop)
    assert cut
    assert (cut.step, cut.lost, len(search.judged)) == (1, ("worker 2",), 1)


@pytest.mark.slow
def test_a_search_that_lost_a_worker_names_it_and_ends_with_3(tmp_path: Path) -> None:
    words = ("find", "--p99", "9s", "--start", "20", "--trial", "5s", "--workers", "2", "--no-plots", "-o", "out")
    search = started(*COMMAND, *words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    wait_for_rows(tmp_path / "out" / "results.csv")
    os.kill(workers_of(search.pid)[1], signal.SIGKILL)
    said = search.communicate(timeout=PATIENCE)[1]
    assert search.returncode == 3, said
    assert "lost worker 2 of 2" in said
    assert "the search ended after 0 trials; the rows are kept; a search cannot be resumed" in said
    assert "too slow or too busy" not in said


class PausingGenerator(OneServerQueue):
    """Answers each request in 5 ms; the loop stands still for 0.25 s as it sends the request of number 600."""

    def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
        self._loop.call_later(0.005, self._done, seq, start, 0, 0, 5_000_000, 0, 10, 200, 0)
        if seq == 600:
            self._loop.virtual += 0.25  # type: ignore[attr-defined]


@pytest.mark.parametrize("limits", [None, Limits(max_in_flight=5)])
def test_a_bound_that_only_late_sending_missed_is_no_failure_of_the_target_whatever_waited_for_a_limit(
    log: Path, limits: Limits | None
) -> None:
    """With --max-in-flight, some of the late requests wait for others, too, and the trial failed by that."""
    goal = Goal((Bound("p99", 0.05),), start=100, trial_s=4, trials=2, highest=100)
    search = searched(log, goal, sender=PausingGenerator(0.005, stall=(0.0, 0.0)), limits=limits)
    assert [(judged.verdict, judged.outcome.void[:27]) for judged in search.judged[:2]] == [
        ("void", "requests were late because "), ("pass", "")
    ]  # fmt: skip


def test_a_trial_whose_requests_waited_for_a_stream_fails_by_their_response_times(log: Path) -> None:
    goal = Goal((Bound("p99", 0.05),), start=400, trial_s=4, trials=1, highest=400)
    (judged, *_) = searched(log, goal, evenly, sender=OneStream(0.005, (inf, inf))).judged
    assert (judged.verdict, judged.outcome.void) == ("fail", "")


def test_a_trial_that_kept_the_bounds_at_a_rate_that_was_not_sent_does_not_count(log: Path) -> None:
    goal = Goal((Bound("errors", 0.05),), start=202, trial_s=4, trials=1, highest=202)
    (judged, *_) = searched(log, goal, evenly, sender=OneStream(0.0052, (inf, inf))).judged
    assert judged.verdict == "void"
    assert "the rate was not reached" in judged.outcome.void


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "a bound is missing: give one, such as --p99 300ms"),
        (("--bound", "p98<1s"), "expected a bound such as 'p99<300ms'; bounded are p50, p90, p95, p99, p99.9,"),
        (("--bound", "p99<1parsec"), "'1parsec': expected a duration above 0"),
        (("--p99", "300ms", "--bound", "p99<1s"), "--bound: p99 has two bounds; give one"),
        (("--bound", "p99.9<1s", "--bound", "p999<1s"), "--bound: p99.9 has two bounds; give one"),
        (("--p99", "300ms", "--start", "50", "--max-tps", "20"), "--max-tps 20 is below the lowest rate, --start 50"),
        (("--p99", "300ms", "--precision", "90%"), "precision must be from 0.5 % to 50 %, got 90 %"),
        (("--p99", "300ms", "--stop", "fast"), "'fast' is not a stop condition; write errors>5%/10s"),
    ],
)
def test_what_makes_no_sense_is_refused(log: Path, target: str, arguments: tuple[str, ...], text: str) -> None:
    done = CliRunner().invoke(cli, ["find", str(log), target, *arguments])
    assert done.exit_code == 2
    assert text in done.stderr


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        ({"p99": "300ms"}, {"p99": 0.3}),
        ({"bound": ("p99<300ms", "p99.9 <= 1s")}, {"p99": 0.3, "p999": 1.0}),
        ({"bound": {"mean": 0.1, "max": "2s"}, "p50": 0.05}, {"mean": 0.1, "max": 2.0, "p50": 0.05}),
    ],
)
def test_bounds_are_written_as_an_option_of_each_or_as_one_that_repeats(
    given: dict[str, object], bounds: dict[str, float]
) -> None:
    assert taken_bounds(read("find", given)) == bounds


def search_at_one_rate(log: Path, target: str, folder: Path, trials: int) -> Result:
    words = f"--p90 9s --start 100 --max-tps 100 --trial 1s --trials {trials} --no-plots -o {folder}".split()
    return CliRunner().invoke(cli, ["find", str(log), target, *words], standalone_mode=False)


def test_a_search_without_an_answer_is_not_called_valid(
    log: Path, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended with 3, and ``verdict: VALID``."""
    monkeypatch.setattr("logreplay.analysis.search.search.CALIBRATION_SETTLES_S", 0.0)
    done = search_at_one_rate(log, target, tmp_path / "out", trials=1)
    assert done.return_value == 3
    told = json.loads((tmp_path / "out" / "summary.json").read_text())["verdict"]
    assert told in ("NO_ANSWER", "GENERATOR_BOUND")
    assert f"verdict: {told}" in done.stderr


def test_a_search_with_an_answer_is_valid_whatever_its_other_trials_were(
    log: Path, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended with 0, and ``verdict: GENERATOR_BOUND``, where this machine could not send the rates above."""
    found = "logreplay.analysis.search.search.Search._why"
    monkeypatch.setattr(found, lambda search, *_: "found" if search._confirmed else "open")
    monkeypatch.setattr("logreplay.analysis.search.trials.Goal.confirming_s", lambda *_: (1.0, 1.0))
    monkeypatch.setattr("logreplay.analysis.verdict.saturation.SaturationVerdict.word", "GENERATOR_BOUND")
    monkeypatch.setattr("logreplay.analysis.search.search.CALIBRATION_SETTLES_S", 0.0)
    done = search_at_one_rate(log, target, tmp_path / "out", trials=4)
    if not json.loads((tmp_path / "out" / "summary.json").read_text())["slo"]["found"]:
        pytest.skip("this machine is too busy for a valid trial")
    assert done.return_value == 0
    assert "verdict: VALID" in done.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["verdict"] == "VALID"


def test_a_search_without_a_valid_trial_is_not_called_valid(
    log: Path, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("logreplay.runs.trials._void", lambda *_: "the machine was busy")
    monkeypatch.setattr("logreplay.analysis.search.search.CALIBRATION_SETTLES_S", 0.0)
    log.write_text(f"{LOG}{LOG.splitlines()[1].replace('GET', 'POST')}\n")
    words = ["--p99", "400ms", "--start", "20", "--trial", "1s", "--trials", "1", "--no-plots"]
    find = ["find", str(log), target, *words, "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, find, standalone_mode=False)
    assert done.return_value == 3
    assert done.stdout.splitlines()[-1].startswith("no trial at 20/s was valid, this machine was too slow or too busy")
    assert "verdict: GENERATOR_BOUND" in done.stderr
    assert "not sent: 1 x method POST" in done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["verdict"] == "GENERATOR_BOUND"
    assert {step["verdict"] for step in summary["steps"]} == {"void"}


def test_a_signal_while_the_rows_are_evaluated_says_that_they_are_kept(
    log: Path, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise Interrupted

    monkeypatch.setattr("logreplay.runs.rate_search.repeated_urls", interrupted)
    monkeypatch.setattr("logreplay.analysis.search.search.CALIBRATION_SETTLES_S", 0.0)
    out = tmp_path / "out"
    out.mkdir()
    (out / "results.csv").write_text("rows of an older search\n")
    words = [str(log), target, "--p99", "400ms", "--start", "20", "--trial", "1s", "--trials", "1", "--no-plots"]
    done = CliRunner().invoke(cli, ["find", *words, "-o", str(out), "--force"])
    evaluate = f"evaluate them with: logreplay analyze {out}"
    assert f"interrupted while the rows were evaluated; they are kept; {evaluate}" in done.stderr
    assert (out / "results.csv").read_text().startswith("date,time,")


@pytest.mark.slow
@pytest.mark.few
def test_find_writes_a_folder_with_the_answer_and_all_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logreplay.analysis.search.search.CALIBRATION_SETTLES_S", 0.0)
    arguments = ["--p99", "400ms", "--start", "80", "--max-tps", "120", "--trial", "1s", "--demand", "1000"]
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        done = CliRunner().invoke(cli, ["find", *arguments, "-o", str(folder)], standalone_mode=False)
        if not done.return_value:
            break
    else:
        pytest.skip(f"this machine is too busy to measure anything: {done.stderr}")
    assert "keeps p99 <= 400 ms" in done.stdout
    summary = json.loads((folder / "summary.json").read_text())
    slo = summary["slo"]
    assert slo["found"]
    assert slo["rate"] == slo["low"] <= 120
    assert summary["answer"] == slo["sentence"]
    assert done.stdout.splitlines()[-1] == slo["sentence"]
    assert "arrivals: at random (poisson)" in done.stdout
    assert len(slo["trials"]) == len(summary["steps"])
    assert (folder / "search.png").stat().st_size > 10_000
    assert done.stderr.splitlines()[-1] == f"results: {folder}"


@pytest.mark.parametrize(
    "words",
    ["6s", "20s", "2s --start 200", "100s --trial 1m", "5s --trials 1", "17s --start 20 --max-tps 20", "20s --vusers"],
)
def test_a_budget_without_a_confirmation_is_refused_before_anything_is_sent(tmp_path: Path, words: str) -> None:
    (tmp_path / "in.csv").write_text(LOG)
    out = ("-o", str(tmp_path / "out"))
    command = ["find", str(tmp_path / "in.csv"), "http://127.0.0.1:9", "--p99", "100ms", *out, "--budget"]
    done = CliRunner().invoke(cli, [*command, *words.split()])
    assert done.exit_code == 2
    assert f"budget of {words.partition('s')[0]} s (--budget) has no room for a confirmation: the trials" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "words", "bounds"),
    [
        ('p99 = "1s"', ("--bound", "p99<2s"), {"p99": 2.0}),
        ('bound = ["p99<1s", "mean<1s"]', ("--p99", "2s"), {"p99": 2.0, "mean": 1.0}),
        ('p99 = "1s"', ("--bound", "p50<2s"), {"p99": 1.0, "p50": 2.0}),
        ('p99 = "1s"\nbound = ["p50<1s"]', ("--p99", "2s"), {"p99": 2.0, "p50": 1.0}),
    ],
)
def test_a_typed_bound_takes_the_place_of_that_of_the_same_statistic_in_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, words: tuple[str, ...], bounds: dict[str, float]
) -> None:
    """Both were refused, as if both were typed."""
    monkeypatch.chdir(tmp_path)
    Path("logreplay.toml").write_text(f"[find]\n{settings}\n")
    seen: list[dict[str, float]] = []

    def noted(call: FindCall, _: object) -> None:
        seen.append(dict(call.bounds))
        raise LogreplayError("seen")

    monkeypatch.setattr("logreplay.runs.rate_search.find_once", noted)
    CliRunner().invoke(cli, ["find", *words])
    assert seen == [bounds]
