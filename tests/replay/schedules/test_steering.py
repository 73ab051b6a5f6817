"""A load that is changed while it is sent, as tables: no clock, no socket."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.results.verdict import steered
from logreplay.replay.schedules.arrivals import Poisson, Repeated
from logreplay.replay.schedules.orders import parse_order
from logreplay.replay.schedules.rates import Constant, Schedule
from logreplay.replay.schedules.steering import AHEAD_NS, SECOND, Steering

TICK = SECOND // 20


def sent(
    schedule: Schedule, steering: Steering, orders: dict[float, str], *, seconds: float = 1e9, most: int = 10_000
) -> list[tuple[float, int, float]]:
    """The instants in s, steps and offered rates of requests: the orders are given at these seconds."""
    due = schedule.pacer()(np.zeros(most, np.int64))
    left = {round(at * SECOND): text for at, text in orders.items()}
    placed: list[tuple[float, int, float]] = []
    now = at = 0
    while at < len(due) and not steering.over and now < seconds * SECOND:
        for when in sorted(each for each in left if each <= now):
            steering.ask(parse_order(left.pop(when)), "test", now)
        for part in steering.place(due[at:], now + AHEAD_NS):
            at += len(part.due)
            placed += [(instant / SECOND, part.step, part.offered) for instant in part.due.tolist()]
        now += TICK
    return placed


def test_a_load_that_nobody_changes_is_that_of_its_schedule() -> None:
    schedule = Repeated(Poisson(Constant(100, 10), seed=3))
    due = schedule.pacer()(np.zeros(2000, np.int64)).tolist()
    placed = sent(schedule, Steering("rate", 100, 10), {}, most=2000)
    assert [round(at * SECOND) for at, _, _ in placed] == [each for each in due if each < 10 * SECOND]
    assert {(step, offered) for _, step, offered in placed} == {(0, 100.0)}


@pytest.mark.parametrize(
    ("orders", "when"),
    [
        ((), {0: 50.0, 1: 150.0, 2: 250.0, 3: None}),
        (("raise 100%",), {0: 50.0 - 9.5, 2: 131.0 + 9.5, 5: 290.5, 6: None}),
        (("pause",), {0: None}),
        (("pause", "continue"), {0: 50.0}),
        (("end",), {0: None}),
    ],
)
def test_it_says_when_a_request_is_due_if_nothing_changes_any_more(
    orders: Sequence[str], when: dict[int, float | None]
) -> None:
    steering = Steering("rate", 0.01, 300)
    for text in orders:
        steering.ask(parse_order(text), "test", 30 * SECOND)
    assert {place: steering.due((50 + 100 * place) * SECOND) for place in when} == {
        place: None if at is None else round(at * SECOND) for place, at in when.items()
    }


@given(st.lists(st.sampled_from(["raise 50%", "lower 50%", "pause", "continue"]), max_size=4), st.integers(0, 40))
def test_a_request_comes_when_it_was_said_to_be_due(orders: list[str], place: int) -> None:
    steering, due = Steering("rate", 2, 60), Constant(2).pacer()(np.zeros(200, np.int64))
    for second, text in enumerate(orders):
        with suppress(ValueError):
            steering.ask(parse_order(text), "test", second * SECOND)
    said = steering.due(int(due[place]))
    placed = np.concatenate([part.due for part in steering.place(due, 1000 * SECOND)] or [np.zeros(0, np.int64)])
    assert said == (pytest.approx(placed[place], abs=2) if place < len(placed) else None)


def test_each_rate_is_sent_exactly_from_a_whole_second_on_and_is_a_step() -> None:
    orders = {1.3: "raise 20%", 3.2: "rate 50", 5.95: "lower 50%"}
    steering = Steering("rate", 100, 10)
    placed = sent(Constant(100), steering, orders)
    assert Counter(step for _, step, _ in placed) == {0: 200, 1: 240, 2: 150, 3: 75}
    assert {(step, offered) for _, step, offered in placed} == {(0, 100), (1, 120), (2, 50), (3, 25)}
    assert [min(at for at, step, _ in placed if step == each) for each in range(4)] == pytest.approx(
        [0.005, 2 + 0.5 / 120, 4.01, 7.02]
    )
    gaps = np.diff([at for at, step, _ in placed if step == 1])
    assert gaps == pytest.approx(1 / 120, abs=2e-9)
    assert next(change.as_dict() for change in steering.changes) == {
        "at": 2.0, "from": 100.0, "to": 120.0, "unit": "rate",
        "order": "raise 20%", "by": "test", "step": 1, "held": True,
    }  # fmt: skip


def test_a_pause_moves_the_schedule_and_its_requests_are_not_sent_as_a_burst() -> None:
    steering = Steering("rate", 100, 5)
    placed = sent(Constant(100), steering, {1.5: "pause", 6.2: "continue"})
    seconds = Counter(int(at) for at, _, _ in placed)
    assert seconds == {0: 100, 1: 100, 7: 100, 8: 100, 9: 100}
    assert {step for at, step, _ in placed if at >= 7} == {1}
    assert steering.length == 10, "5 s of sending, and a pause of 5 s"
    assert steering.left(9 * SECOND) == 1
    assert [(change.as_dict()["from"], change.as_dict()["to"], change.step) for change in steering.changes] == [
        (100.0, 0.0, None),
        (0.0, 100.0, 1),
    ]


def test_a_rate_that_is_changed_in_a_pause_holds_after_it() -> None:
    placed = sent(Constant(100), Steering("rate", 100, 4), {1.5: "pause", 3.5: "rate 300", 5.5: "continue"})
    assert Counter(int(at) for at, _, _ in placed) == {0: 100, 1: 100, 6: 300, 7: 300}


def in_force(steering: Steering) -> list[tuple[float, float, int | None]]:
    """The instants, loads and steps of changes that held; each begins with the load before it."""
    held = [change.as_dict() for change in steering.changes if change.held]
    assert [change["to"] for change in held[:-1]] == [change["from"] for change in held[1:]]
    return [(change["at"], change["to"], change["step"]) for change in held]


def test_of_two_orders_within_a_second_both_count_and_there_is_one_step() -> None:
    steering = Steering("rate", 100, 4)
    placed = sent(Constant(100), steering, {1.2: "raise 20%", 1.3: "raise 50%"})
    assert {(step, offered) for _, step, offered in placed} == {(0, 100.0), (1, 180.0)}
    assert [(change.held, change.step) for change in steering.changes] == [(False, None), (True, 1)]
    assert steering.changes[1].before.value == 100


@pytest.mark.parametrize(
    ("orders", "loads"),
    [
        ({1.2: "raise 50%", 1.3: "rate 100", 3.2: "rate 200"}, [(4, 200, 1)]),
        ({1.2: "raise 50%", 1.3: "rate 100"}, []),
        ({1.2: "pause", 1.3: "continue", 2.2: "rate 100"}, []),
        ({1.2: "lower 50%", 1.3: "pause", 4.2: "continue"}, [(2, 0, None), (5, 50, 1)]),
        ({1.2: "raise 50%", 1.3: "lower 50%", 1.4: "rate 90", 3.2: "rate 80"}, [(2, 90, 1), (4, 80, 2)]),
        ({1.2: "raise 50%", 1.5: "end"}, [(1.5, 0, None)]),
    ],
)
def test_a_load_that_never_was_in_force_is_no_step(
    orders: dict[float, str], loads: list[tuple[float, float, int | None]]
) -> None:
    steering = Steering("rate", 100, 8)
    placed = sent(Constant(100), steering, orders)
    assert in_force(steering) == loads
    assert len(steering.changes) == len(orders)
    assert {step for _, step, _ in placed} - {0} == {step for _, _, step in loads if step}
    assert steering.changed == any(load for _, load, _ in loads)
    told = [finding.text for finding in steered(steering.changes)]
    assert [(f"{len(loads)} time" if loads else "did not") in text and "150" not in text for text in told] == [True]


def test_a_pause_that_is_taken_back_within_a_second_changes_nothing() -> None:
    steering = Steering("rate", 100, 4)
    placed = sent(Constant(100), steering, {1.2: "pause", 1.3: "continue"})
    assert {step for _, step, _ in placed} == {0}
    assert len(placed) == 400


def test_orders_that_changed_nothing_are_counted_apart_from_changes() -> None:
    steering = Steering("rate", 100, 9)
    sent(Constant(100), steering, {1.2: "raise 50%", 1.3: "rate 80", 3.2: "pause", 5.2: "continue"})
    (told,) = steered(steering.changes)
    assert told.text.startswith("the load was changed 3 times by 4 orders (--control): 100 requests/s, then 80 req")
    assert told.text.endswith("; 1 order did not change the load, because others followed")
    steering = Steering("rate", 100, 4)
    sent(Constant(100), steering, {1.2: "pause", 1.3: "continue"})
    (told,) = steered(steering.changes)
    assert told.text == "2 orders (--control) did not change the load, because others followed"


def test_the_end_is_at_once() -> None:
    steering = Steering("rate", 100)
    placed = sent(Constant(100), steering, {2.0: "end"})
    assert steering.over
    assert (steering.ended, steering.changed) == ("ended by hand at 2 s", False)
    assert len(placed) == pytest.approx(205, abs=1)
    with pytest.raises(ValueError, match="the run is ending"):
        steering.ask(parse_order("pause"), "test", 3 * SECOND)


def test_the_times_of_the_log_go_by_faster_and_name_no_rate() -> None:
    steering = Steering("speed", 2.0)
    placed = sent(Constant(10), steering, {0.5: "speed 4"}, seconds=3, most=100)
    assert Counter(int(at) for at, _, _ in placed if at < 3) == {0: 10, 1: 20, 2: 20}
    assert {offered for _, _, offered in placed} == {0.0}


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ("rate 1001", "not within 0.1 requests/s to 1000 requests/s"),
        ("lower 100%", "to send nothing use pause"),
        ("speed 2", "this run has a rate and no speed"),
        ("continue", "the load is not paused"),
    ],
)
def test_an_order_that_cannot_be_carried_out_is_refused_with_the_reason(order: str, why: str) -> None:
    steering = Steering("rate", 100)
    with pytest.raises(ValueError, match=why):
        steering.ask(parse_order(order), "test", SECOND)
    assert not steering.changes


def test_changes_are_refused_from_the_thousandth_on_but_the_end_is_not() -> None:
    steering = Steering("rate", 100)
    for second in range(1000):
        steering.ask(parse_order(f"rate {100 + second % 2}"), "test", second * SECOND)
    with pytest.raises(ValueError, match="changed 1000 times"):
        steering.ask(parse_order("pause"), "test", 2000 * SECOND)
    assert "ends" in steering.ask(parse_order("end"), "test", 2000 * SECOND)


@given(st.lists(st.tuples(st.floats(0, 20), st.sampled_from(["raise 300%", "lower 70%", "pause", "continue"]))))
def test_no_request_is_lost_sent_twice_or_out_of_order(given_orders: list[tuple[float, str]]) -> None:
    steering = Steering("rate", 50)
    due = Constant(50).pacer()(np.zeros(500, np.int64))
    orders = sorted(given_orders)
    instants: list[int] = []
    for now in range(0, 60 * SECOND, TICK):
        while orders and orders[0][0] * SECOND <= now:
            try:
                steering.ask(parse_order(orders.pop(0)[1]), "test", now)
            except ValueError:
                continue
        for part in steering.place(due[len(instants) :], now + AHEAD_NS):
            assert (part.due >= now).all()
            instants += part.due.tolist()
    assert instants == sorted(instants)
    paused = steering.level(60 * SECOND).paused
    assert len(instants) <= 500
    assert paused or steering.changes or len(instants) == 500
