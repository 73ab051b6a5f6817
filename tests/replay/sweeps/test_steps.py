"""A sweep, in virtual time against one server of 200 requests/s."""

import random
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.statistics.failures import more_errors
from logreplay.core.errors import LogreplayError
from logreplay.core.record import RESPONSE_PARTS
from logreplay.core.rows import scan
from logreplay.replay.engine.engine import Engine
from logreplay.replay.requests.plan import Requests
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.verdict import Judgement, RunVerdict, Waits
from logreplay.replay.schedules.arrivals import Scattered
from logreplay.replay.schedules.rates import Constant, Schedule
from logreplay.replay.sweeps.step_log import ASIDE, JUDGED, Mark, StepLog
from logreplay.replay.sweeps.steps import (
    WARM_UP,
    At,
    FinishedStep,
    Step,
    SweepPlan,
    due_before,
    finished,
    known_overloaded,
    sweep,
)
from support.virtual_time import OneServerQueue, VirtualTimeLoop, run

NO_STALL = (0.0, 0.0)


def evenly(rate: float, seconds: float, index: int) -> Schedule:
    return Constant(rate, seconds)


def swept(
    log: Path, *rates: float, at: At = evenly, service: float = 0.005, **how: Any
) -> tuple[tuple[Outcome, ...], pl.DataFrame]:
    """Make a sweep with steps of 10 s in virtual time; return what became of each, and the judged rows."""
    loop = VirtualTimeLoop()
    course = SweepPlan(rates, 10.0, **how)

    async def main() -> tuple[Outcome, ...]:
        sender, results = OneServerQueue(service, stall=NO_STALL), StepLog(log.parent)
        async with Engine(sender, results, clock=loop.now_ns, threaded=False) as engine:
            return await sweep(engine, results, Requests(log), course, at=at)

    return run(main(), loop), scan(log.parent / JUDGED).collect()


def test_each_step_reads_on_in_the_log_at_its_rate(log: Path) -> None:
    outcomes, rows = swept(log, 5, 12, 25)
    assert [outcome.scheduled for outcome in outcomes] == [50, 120, 250]
    assert rows.sort("seq")["row"].to_list() == [row % 100 for row in range(420)]
    assert rows.group_by("step").agg(pl.col("offered").unique().first()).sort("step")["offered"].to_list() == [
        5,
        12,
        25,
    ]


def test_each_step_begins_at_the_start_of_the_log_where_that_is_asked_for(log: Path) -> None:
    _, rows = swept(log, 5, 12, 25, restart=True)
    assert rows.sort("seq")["row"].to_list() == [*range(50), *range(100), *range(20), *[*range(100)] * 2, *range(50)]


def test_what_warms_up_and_settles_is_read_on_from_too(log: Path) -> None:
    _, rows = swept(log, 1, 2, warm_up=3, settle=2)
    aside = scan(log.parent / ASIDE).collect()
    assert pl.concat([rows, aside]).sort("seq")["row"].to_list() == list(range(3 + 12 + 24))
    assert rows["row"].min() == 5


@pytest.mark.parametrize("stopped", [False, True])
def test_all_requests_are_told_those_of_the_warm_up_and_of_a_step_that_was_stopped_too(
    log: Path, *, stopped: bool
) -> None:
    """The live totals lacked the last part of the warm-up, and of an interrupted step."""
    loop, told = VirtualTimeLoop(), list[Outcome]()
    course = SweepPlan([5, 12], 10.0, warm_up=2.5)

    async def main() -> tuple[Outcome, ...]:
        sender, results = OneServerQueue(0.005, stall=NO_STALL), StepLog(log.parent)
        async with Engine(sender, results, clock=loop.now_ns, threaded=False) as engine:
            if stopped:
                loop.call_later(5.0, engine.stop, "enough")
            return await sweep(
                engine, results, Requests(log), course, at=evenly,
                on_end=lambda _, outcome: told.append(outcome), on_other=told.append,
            )  # fmt: skip

    outcomes = run(main(), loop)
    rows = scan(log.parent / JUDGED).collect().height + scan(log.parent / ASIDE).collect().height
    assert [outcome.step for outcome in told] == [WARM_UP, *(outcome.step for outcome in outcomes)]
    assert sum(outcome.counters.sent for outcome in told) == rows
    assert bool(outcomes[-1].stopped) is stopped


def test_each_second_of_a_run_belongs_to_one_step(log: Path) -> None:
    _, rows = swept(log, 15, 30, 10, service=0.05)
    owners = rows.group_by(pl.col("scheduled").floor()).agg(pl.col("step").n_unique())
    assert owners["step"].to_list() == [1] * owners.height
    counted = rows.group_by(pl.col("scheduled").floor()).agg(pl.len(), pl.col("offered").first())
    assert (counted["len"] == counted["offered"]).all()


def test_it_is_told_each_second_how_a_step_stands(log: Path) -> None:
    loop, told = VirtualTimeLoop(), list[Progress]()

    async def main() -> None:
        sender, results = OneServerQueue(0.005, stall=NO_STALL), StepLog(log.parent)
        async with Engine(sender, results, clock=loop.now_ns, threaded=False) as engine:
            await sweep(engine, results, Requests(log), SweepPlan([5, 12], 3.0), at=evenly, on_progress=told.append)

    run(main(), loop)
    assert [now.counters.sent for now in told][:4] == pytest.approx([5, 10, 12, 24], abs=2)


def test_a_step_begins_when_all_answers_of_the_one_before_are_in(log: Path) -> None:
    _, rows = swept(log, 40, 10, service=0.05)
    end = pl.sum_horizontal("scheduled", *RESPONSE_PARTS)
    ends = rows.filter(pl.col("step") == 0).select(end.max()).item()
    begins = rows.filter(pl.col("step") == 1)["scheduled"].min()
    assert isinstance(begins, float)
    assert ends <= begins


class SlowTarget(OneServerQueue):
    """Answers each request after three seconds, and a share of them with 500."""

    def __init__(self, failing: Callable[[float], float]) -> None:
        super().__init__(3.0, NO_STALL)
        self._failing, self._sent = failing, list[float]()

    def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
        self._sent.append(start / 1e9)
        rate = sum(at > start / 1e9 - 1 for at in self._sent[-1000:])
        share = self._failing(rate)
        failed = int(seq * share) != int((seq + 1) * share)
        end = start / 1e9 + self._service
        self._loop.call_at(end, self._done, seq, start, 0, 0, round(3e9), 0, 10, 500 if failed else 200, 0)


def carried(log: Path, *rates: float, target: OneServerQueue | None = None) -> list[bool]:
    """Whether each step that was made was carried."""
    return [step.carried for step in made(log, *rates, target=target)]


def made(log: Path, *rates: float, target: OneServerQueue | None = None) -> list[FinishedStep]:
    loop, steps = VirtualTimeLoop(), list[FinishedStep]()

    async def main() -> None:
        sender = target or OneServerQueue(0.005, stall=NO_STALL)
        async with Engine(sender, results := StepLog(log.parent), clock=loop.now_ns, threaded=False) as engine:
            course = SweepPlan(rates, 10.0)
            await sweep(engine, results, Requests(log), course, at=evenly, on_end=lambda step, _: steps.append(step))

    run(main(), loop)
    return steps


def test_two_steps_in_a_row_that_were_not_carried_end_a_sweep(log: Path) -> None:
    assert carried(log, 10, 30, 35, 40, target=OneServerQueue(0.05, NO_STALL)) == [True, False, False]


def test_a_slow_target_that_keeps_up_carries_every_step(log: Path) -> None:
    assert carried(log, 20, 40, 80, target=SlowTarget(lambda rate: 0.0)) == [True] * 3


def test_failures_that_come_at_every_rate_end_no_sweep(log: Path) -> None:
    assert carried(log, 20, 40, 80, target=SlowTarget(lambda rate: 0.03)) == [True] * 3


def test_failures_that_begin_at_a_rate_end_a_sweep(log: Path) -> None:
    steps = made(log, 20, 40, 80, 100, target=SlowTarget(lambda rate: 0.02 if rate < 35 else 0.2))
    assert [step.carried for step in steps] == [True, False, False]
    assert [step.failed / step.sent for step in steps] == pytest.approx([0.02, 0.19, 0.19], abs=0.02)


def judged(
    step: Step, failed: int, done: Sequence[FinishedStep], by_second: tuple[tuple[int, int], ...] = ()
) -> FinishedStep:
    """Judge a step of which so many requests failed, and of which none waits at its end."""
    sent = round(step.rate * step.seconds)
    seen: Any = SimpleNamespace(
        counters=SimpleNamespace(failed=failed, sent=sent), backlog=0, offered=step.rate,
        evidence=SimpleNamespace(limited=0, waits=Waits()), health=Judgement(RunVerdict.VALID, ()),
    )  # fmt: skip
    return finished(step, seen, 0, done, by_second)


@pytest.mark.parametrize("share", [0.01, 0.03])
def test_chance_among_few_failures_ends_no_sweep(share: float) -> None:
    chance = random.Random(1)
    for _ in range(100):
        done = list[FinishedStep]()
        for index, rate in enumerate(range(20, 201, 20)):
            assert not known_overloaded(rate, done)
            failed = sum(chance.random() < share for _ in range(5 * rate))
            done.append(judged(Step(index, rate, 5.0), failed, done))


def test_a_sweep_and_its_verdict_call_the_same_steps_failing() -> None:
    lower = [judged(Step(0, 100, 10.0), 20, []), judged(Step(1, 200, 10.0), 42, [])]
    rates, sent, known = np.array([100.0, 200.0, 300.0]), np.array([1000, 2000, 3000]), np.ones(3, np.bool_)
    for failed in range(0, 3001, 3):
        failing, *_ = more_errors(rates, np.array([20, 42, failed]), sent, known)
        assert judged(Step(2, 300, 10.0), failed, lower).carried is not bool(failing[2]), failed


def test_failures_that_come_together_count_as_one_as_in_the_verdict() -> None:
    """Two blips at the lowest rate: fifty failures there say as much as some, and so do those of the next rates."""
    bursts = [(100, 25 if second in (2, 9) else 0) for second in range(20)]
    lower = [judged(Step(0, 100, 20.0), 50, [], tuple(bursts)), judged(Step(1, 200, 20.0), 84, [])]
    assert [step.carried for step in lower] == [True, True]
    rates, sent, known = np.array([100.0, 200.0, 300.0]), np.array([2000, 4000, 6000]), np.ones(3, np.bool_)
    none = np.zeros((2, 0), np.int64)
    series = [tuple(np.array(bursts).T), tuple(none), tuple(none)]
    assert not judged(Step(2, 300, 20.0), 280, [judged(Step(0, 100, 20.0), 50, []), lower[1]]).carried
    assert judged(Step(2, 300, 20.0), 280, lower).carried
    for failed in range(0, 3001, 10):
        failing, *_ = more_errors(rates, np.array([50, 84, failed]), sent, known, series)
        assert judged(Step(2, 300, 20.0), failed, lower).carried is not bool(failing[2]), failed


def test_a_sweep_counts_the_failures_of_each_second(log: Path) -> None:
    steps = made(log, 20, 40, target=SlowTarget(lambda rate: 0.1))
    for step in steps:
        assert len(step.by_second) in (10, 11, 12)
        assert tuple(map(sum, zip(*step.by_second, strict=True))) == (step.sent, step.failed)
    assert all(step.by_second == () for step in made(log, 20, 40, target=SlowTarget(lambda rate: 0.0)))


def test_a_target_that_fails_more_than_half_of_the_requests_is_swept_for_two_steps(log: Path) -> None:
    assert carried(log, 20, 40, 80, target=SlowTarget(lambda rate: 1.0)) == [False] * 2


def test_a_sweep_goes_on_where_it_is_told_to(log: Path) -> None:
    assert len(swept(log, 10, 30, 35, 40, service=0.05, keep_going=True)[0]) == 4


@pytest.mark.slow
def test_what_warms_up_and_settles_is_kept_but_not_judged(log: Path) -> None:
    _, rows = swept(log, 50, 100, warm_up=3, settle=2)
    aside = scan(log.parent / ASIDE).collect()
    assert rows.group_by("step").len().sort("step")["len"].to_list() == [500, 1000]
    assert aside.group_by("step").len().sort("step")["len"].to_list() == [150, 100, 200]
    assert aside["step"].min() == WARM_UP
    assert sorted([*rows["seq"], *aside["seq"]]) == list(range(1950))
    assert rows.filter(pl.col("step") == 0)["scheduled"].min() == pytest.approx(5.01)


def by_chance(rate: float, seconds: float, index: int) -> Scattered:
    return Scattered(Constant(rate, seconds), index + 1)


def test_what_settles_ends_in_time_where_arrivals_are_random(log: Path) -> None:
    _, rows = swept(log, 50, 100, at=by_chance, settle=2)
    aside = scan(log.parent / ASIDE).collect()
    assert len(rows) + len(aside) == 12 * 50 + 12 * 100
    settled = aside.filter(pl.col("step") == 0)["scheduled"].to_list()
    judged = rows.filter(pl.col("step") == 0)["scheduled"].to_list()
    assert len(settled) == due_before(by_chance(50, 12, 0), 2)
    assert max(settled) < 2 <= min(judged)


def test_equal_rates_get_other_random_arrivals_each_time(log: Path) -> None:
    _, rows = swept(log, 50, at=by_chance, repeat=2)
    first, second = (rows.filter(pl.col("step") == step)["scheduled"].sort().diff().round(6) for step in (0, 1))
    assert first.to_list() != second.to_list()


@pytest.mark.parametrize(
    ("order", "rates"),
    [("given", [2, 1, 3] * 2), ("up", [1, 2, 3] * 2), ("down", [3, 2, 1] * 2)],
)
def test_rates_are_gone_through_in_an_order(order: Any, rates: list[float]) -> None:
    steps = SweepPlan([2, 1, 3], 10, repeat=2, order=order).steps()
    assert [step.rate for step in steps] == rates
    assert [step.index for step in steps] == list(range(6))


@given(st.lists(st.floats(1, 100), min_size=1, unique=True), st.integers(1, 4), st.integers(0, 5))
def test_shuffled_rates_are_all_there_in_each_round_and_the_same_each_time(
    rates: list[float], repeat: int, seed: int
) -> None:
    course = SweepPlan(rates, 10, repeat=repeat, order="shuffle", seed=seed)
    steps = [step.rate for step in course.steps()]
    for round_ in range(repeat):
        assert sorted(steps[round_ * len(rates) : (round_ + 1) * len(rates)]) == sorted(rates)
    assert course.steps() == course.steps()


@pytest.mark.parametrize(
    ("made", "rate", "expected"),
    [
        ([(100, False), (200, True), (300, True)], 400, True),
        ([(100, False), (200, True), (300, False), (350, True)], 400, False),
        ([(400, True), (300, True)], 200, False),  # downwards: lower ones may still be carried
        ([(300, True), (400, True), (300, False)], 500, False),  # one of two trials at 300 was carried
        ([(200, True)], 400, False),
    ],
)
def test_what_is_above_two_rates_that_were_not_carried_is_left_out(
    made: list[tuple[float, bool]], rate: float, expected: bool
) -> None:
    assert known_overloaded(rate, [FinishedStep(Step(0, each, 10), not bad) for each, bad in made]) is expected


@pytest.mark.slow
def test_a_sweep_that_was_cut_off_goes_on_with_the_same_rows(log: Path) -> None:
    """Killed in its third step: its rows are there, but no note that it was finished."""
    course = SweepPlan([50, 100, 150, 120], 10.0)

    def make(folder: Path, steps: Sequence[Step], mark: Mark, lost: bool = False) -> Mark:
        loop, marks = VirtualTimeLoop(), [mark]
        results = StepLog(folder, mark)

        async def main() -> None:
            sender = OneServerQueue(0.005, stall=NO_STALL)
            async with Engine(sender, results, clock=loop.now_ns, threaded=False) as engine:
                await sweep(engine, results, Requests(log), course, at=evenly, steps=steps,
                            on_end=lambda *_: marks.append(results.mark()))  # fmt: skip

        run(main(), loop)
        return marks[-2] if lost else marks[-1]

    whole, broken = log.parent / "whole", log.parent / "broken"
    whole.mkdir()
    broken.mkdir()
    make(whole, course.steps(), Mark())
    mark = make(broken, course.steps()[:3], Mark(), lost=True)
    with (broken / JUDGED).open("ab") as file:
        file.write(b"2026-01-01,half a li")
    make(broken, course.steps()[2:], mark)
    same = ["seq", "row", "step", "offered", "url", "rc", "latency"]
    expected, found = (scan(folder / JUDGED).collect() for folder in (whole, broken))
    assert found.select(same).equals(expected.select(same))
    ends = found.group_by("step").agg(pl.col("scheduled").min().alias("first"), pl.col("scheduled").max().alias("last"))
    ends = ends.sort("step")
    assert all(last < first for last, first in zip(ends["last"][:-1], ends["first"][1:], strict=True))


def test_a_result_log_that_lost_bytes_cannot_go_on(tmp_path: Path) -> None:
    (tmp_path / JUDGED).write_text("short")
    with pytest.raises(
        LogreplayError, match=r"results.csv: is shorter than when the run was interrupted; start again$"
    ):
        StepLog(tmp_path, Mark(judged=100))
