"""Several workers have one outcome: their counts added up, and judged as those of one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.self_monitor import ProcessLoad, WriteLag
from logreplay.replay.results.verdict import Finding, Judgement, ReadLate, RunEvidence, RunVerdict, Severity, judge
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.schedules.users import Users
from logreplay.replay.workers.aggregate import LostWorker, SharedPlan, adopt_reading
from logreplay.replay.workers.clock_offset import SAME, ClockOffset
from logreplay.replay.workers.protocol import PlanEnded

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LOG = Requests(Path("unread.csv"))
EVEN = Constant(10, 1)
FINE = Judgement(RunVerdict.VALID, ())
LOST = LostWorker("worker 3", "host-b", "no word for 20 s")


def counted(ok: int, dropped: int = 0) -> Counters:
    return Counters(sent=ok, ok=ok, dropped=dropped)


def worker(
    ok: int, seconds: float = 1.0, health: Judgement = FINE, offset: ClockOffset = SAME, **more: Any
) -> PlanEnded:
    """The last message of a worker that sent so many requests."""
    evidence = RunEvidence(
        offered=10, scheduled=ok, counters=counted(ok), duration=1, seconds=seconds, limited=1, local={"EMFILE": 1},
        vitals=ProcessLoad(seconds=10, loop=seconds), queued=2, delay=WriteLag(1, seconds, 1.0, 0.5),
    )  # fmt: skip
    ended = NOW + timedelta(seconds=seconds)
    return PlanEnded(Outcome(0, 0, ok, NOW, ended, 0.0, seconds, health, evidence, **more), LOG, offset)


def shared(
    *ended: PlanEnded, schedule: Constant | Users = EVEN, filled: Counters | None = None, **more: Any
) -> SharedPlan:
    workers = {f"worker {number}": each for number, each in enumerate(ended, 1)}
    counters = sum((each.outcome.counters for each in ended), filled or Counters())
    offsets = more.pop("offsets", dict.fromkeys(workers, SAME))
    more = {"lost": (), "early": False, **more}
    return SharedPlan(Plan(LOG, schedule), workers, offsets, counters=counters, filled=filled or Counters(), **more)


def outcome_of(plan: SharedPlan) -> Outcome:
    return plan.outcome(first=100, next_=200, began=2.0, started=NOW, stopped="")


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9)), min_size=1, max_size=5))
def test_counts_add_up_and_times_are_those_of_the_slowest(each: list[tuple[int, int]]) -> None:
    whole = outcome_of(shared(*(worker(ok, float(seconds), backlog=1, received=100) for ok, seconds in each)))
    count, slowest = len(each), max(seconds for _, seconds in each)
    assert whole.scheduled == whole.counters.ok == sum(ok for ok, _ in each)
    assert (whole.seconds, whole.ended) == (slowest, NOW + timedelta(seconds=slowest))
    assert (whole.backlog, whole.received) == (count, 100 * count)
    evidence = whole.evidence
    assert (evidence.limited, evidence.queued, evidence.local) == (count, 2 * count, {"EMFILE": count})
    assert (evidence.vitals.loop, evidence.delay.longest) == (slowest, slowest)
    assert (whole.first_seq, whole.next_seq, whole.began) == (100, 200, 2.0)


def test_counts_that_differ_from_those_of_the_workers_are_no_outcome() -> None:
    with pytest.raises(AssertionError, match="workers differ in their counts"):
        outcome_of(replace(shared(worker(5)), counters=counted(4)))


def test_a_lost_worker_voids_the_run_and_is_named_with_what_became_of_its_requests() -> None:
    filled = Counters(sent=3, net_error=3, dropped=4)
    whole = outcome_of(shared(worker(5), lost=[LOST, LostWorker("worker 4", "", "killed")], filled=filled))
    assert whole.health.verdict is RunVerdict.GENERATOR_BOUND
    assert (whole.scheduled, whole.lost) == (12, ("worker 3", "worker 4"))
    finding = whole.health.findings[0]
    assert finding.severity is Severity.VOID
    assert "worker 3, host-b: no word for 20 s; worker 4, not started: killed" in finding.text
    assert "Of the requests without a report 4 were not sent (dropped); 3 may have been sent" in finding.text


def test_workers_that_were_lost_for_one_reason_have_it_once() -> None:
    lost = [LostWorker("worker 1", "a", "killed"), LOST, LostWorker("worker 2", "b", "killed")]
    text = shared(worker(5), lost=lost).health.findings[0].text
    assert text.startswith("lost worker 1, a; worker 2, b: killed; worker 3, host-b: no word for 20 s. ")


def test_a_run_whose_workers_were_all_lost_has_an_outcome() -> None:
    whole = outcome_of(shared(lost=[LOST], filled=Counters(dropped=10), early=True))
    assert (whole.scheduled, whole.seconds, whole.ended) == (10, 0.0, NOW)
    assert not whole.health.valid
    assert "The run ended with its last worker." in whole.health.findings[0].text


def test_what_users_of_a_lost_worker_sent_is_said_to_be_unknown() -> None:
    text = shared(worker(5), lost=[LOST], schedule=Users(4)).health.findings[0].text
    assert "What users of a lost worker sent after its last report is not in the result." in text


def test_a_plan_that_was_cut_is_judged_up_to_then_as_its_workers_are() -> None:
    part = worker(5)
    cut = replace(part.outcome.evidence, duration=0.5, sent_on=0.4, unwritten=True)
    whole = shared(replace(part, outcome=replace(part.outcome, evidence=cut)), early=True)
    assert (whole.evidence.duration, whole.evidence.sent_on) == (0.5, 0.4)
    assert "rows_missing" in [each.code for each in whole.health.findings]


def test_a_plan_that_the_number_of_its_requests_ended_is_judged_by_the_length_that_its_workers_saw() -> None:
    parts = [worker(5), worker(15)]
    seen = [
        replace(each.outcome.evidence, duration=4.0, sent_on=share)
        for each, share in zip(parts, (1.0, 0.6), strict=True)
    ]
    ended = [replace(each, outcome=replace(each.outcome, evidence=one)) for each, one in zip(parts, seen, strict=True)]
    whole = shared(*ended, schedule=Constant(10)).evidence
    assert (whole.duration, whole.sent_on) == (4.0, 0.7)


@pytest.mark.parametrize(
    ("plan", "numbers"),
    [
        (shared(worker(5), worker(5)), 10),
        (shared(worker(3), worker(5), early=True), 10),  # 8 requests; the last number is 9
        (shared(worker(3), worker(5), schedule=Users(2)), 10),
        (shared(worker(8), worker(1), by_client=True), 16),
        (shared(worker(5), lost=[LOST], filled=counted(0, 5)), 10),
        (shared(worker(5), lost=[LOST], filled=counted(0, 20), by_client=True), 50),
        (shared(lost=[LOST, LOST]), 0),
    ],
)
def test_a_plan_takes_as_many_numbers_as_any_of_its_requests_may_have(plan: SharedPlan, numbers: int) -> None:
    assert plan.numbers(2) == numbers


def finding(code: str, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(code, severity, f"{severity} {code}")


def failing(failed: int, of: int) -> PlanEnded:
    """A worker of whose requests some were answered with 500."""
    ended = worker(of)
    counters = Counters(sent=of, ok=of - failed, http_error=failed, failed=failed)
    evidence = replace(ended.outcome.evidence, counters=counters, local={}, limited=0, queued=0)
    return replace(ended, outcome=replace(ended.outcome, evidence=evidence, health=judge(evidence)))


def test_failures_that_fall_to_one_worker_are_a_share_of_the_whole_run() -> None:
    """Every fourth request of the log fails, and one of four workers has all of them."""
    four = shared(failing(0, 100), failing(0, 100), failing(0, 100), failing(100, 100)).health
    alone = judge(shared(failing(100, 400)).evidence)
    assert four == alone
    assert four.verdict is RunVerdict.VALID
    assert [each.text.split(":")[0] for each in four.findings] == [
        "25 % of the requests failed (100 x status 400 and above that the log did not have)"
    ]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=5))
def test_the_verdict_on_the_target_does_not_depend_on_how_many_sent(parts: list[tuple[int, int]]) -> None:
    workers = [failing(failed, failed + ok) for failed, ok in parts]
    one = failing(sum(failed for failed, _ in parts), sum(map(sum, parts)))
    assert shared(*workers).health == shared(one).health


def test_a_finding_on_the_generator_names_the_workers_that_have_it_if_not_all_do() -> None:
    said = Judgement(RunVerdict.GENERATOR_BOUND, (finding("emfile", Severity.VOID),))
    texts = [
        next(each.text for each in plan.health.findings if each.code == "emfile")
        for plan in (shared(worker(5), worker(5, health=said)), shared(worker(5, health=said), worker(5, health=said)))
    ]
    assert texts[0].endswith("; seen in worker 2")
    assert "worker" not in texts[1]


def test_the_worst_load_of_any_worker_counts() -> None:
    ended = [worker(5), worker(5)]
    loads = [ProcessLoad(seconds=10, loop=9, waited=1), ProcessLoad(seconds=9, loop=2, waited=4, longest_pause=0.7)]
    outcomes = [
        replace(each.outcome, evidence=replace(each.outcome.evidence, vitals=load))
        for each, load in zip(ended, loads, strict=True)
    ]
    whole = shared(*(replace(each, outcome=outcome) for each, outcome in zip(ended, outcomes, strict=True)))
    assert whole.evidence.vitals == ProcessLoad(seconds=10, loop=9, waited=4, longest_pause=0.7)


def test_requests_that_were_read_late_are_those_of_all_workers() -> None:
    late = [ReadLate(3, 0.5), ReadLate(4, 1.5, 2.0)]
    ended = [replace(each, outcome=replace(each.outcome, evidence=replace(each.outcome.evidence, late=one)))
             for each, one in zip([worker(5), worker(5)], late, strict=True)]  # fmt: skip
    assert shared(*ended).evidence.late == ReadLate(7, 1.5, 2.0)


def test_requests_of_a_lost_worker_that_were_not_sent_are_not_told_as_late() -> None:
    """--late was not given."""
    whole = shared(worker(5), lost=[LOST], filled=Counters(dropped=4)).health
    assert [each.code for each in whole.findings if "--late" in each.text] == []


@pytest.mark.parametrize(
    ("uncertainty_ms", "moved_ms", "severity"),
    [(0.1, 0.2, Severity.INFO), (2, 0, Severity.WARNING), (0, 3, Severity.WARNING)],
)
def test_clocks_that_are_apart_are_worth_a_word(uncertainty_ms: float, moved_ms: float, severity: Severity) -> None:
    before = ClockOffset(10**9, int(uncertainty_ms * 1e6))
    after = ClockOffset(10**9 + int(moved_ms * 1e6), 0)
    plan = shared(worker(5, offset=after), offsets={"worker 1": before})
    assert [each.severity for each in plan.health.findings if each.code == "clocks"] == [severity]
    assert "clocks" not in {each.code for each in shared(worker(5)).health.findings}


def test_the_requests_that_waited_are_those_of_all_workers() -> None:
    said = Judgement(RunVerdict.VALID, (finding("in_flight_limit", Severity.WARNING),))
    texts = {each.code: each.text for each in shared(worker(5, health=said), worker(5)).health.findings}
    assert texts["in_flight_limit"].startswith("2 requests had to wait")
    assert texts["by_client"].startswith("4 requests waited")


def test_what_a_worker_learned_by_reading_is_known_to_the_coordinator() -> None:
    mine, read = Requests(Path("a.csv")), Requests(Path("a.csv"))
    read.left_out["method POST"] = 3
    adopt_reading(mine, read)
    assert mine.left_out == {"method POST": 3}
