"""Onset and saturation are found in a step table, or the table says why they are not."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from logreplay.analysis.verdict.saturation import by_rate, find_onset, first_lasting, judge, widened
from logreplay.analysis.verdict.saturation_sentences import check_feasible
from support.unlike_systems import balance_of

FLOATS = (
    *("mean", "p50", "p90", "p95", "p99", "sent", "settled_goodput", "slope", "lag_p95", "rate"),
    *("ok_p50", "ok_p99", "failed_p50", "duration", "error_base"),
    *("growth", "settled_completed", "fell_behind"),
)
FLAGS = ("over", "failing", "generator")
OUTAGE = "6 s of 502 at 14:03:07 UTC"
RATES = tuple(float(rate) for rate in range(50, 401, 50))


def step(rate: float, **seen: Any) -> dict[str, Any]:
    """A step of ten seconds that its target carried, but for what was seen."""
    good = {
        "scheduled": int(10 * rate),
        "dropped": 0,
        "errors": 0,
        "net_errors": 0,
        "failure": None,
        "slope": 0.0,
        "lag_p95": 0.001,
    }
    good |= {"duration": 10.0, "error_base": 0.0, "failed_p50": 0.001, "outage": None}
    rates = dict.fromkeys(("rate", "sent", "settled_goodput"), rate)
    times = dict.fromkeys(("mean", "p50", "p90", "p95", "p99", "ok_p50", "ok_p99"), 0.02)
    return {**good, **rates, **times, **dict.fromkeys(FLAGS, False), "verdict": "stable", **seen}


def table(*steps: dict[str, Any]) -> pl.DataFrame:
    kinds = (
        dict.fromkeys(FLOATS, pl.Float64)
        | dict.fromkeys(FLAGS, pl.Boolean)
        | {"failure": pl.String, "outage": pl.String, "died": pl.String, "verdict": pl.String}
    )
    counts = dict.fromkeys(("scheduled", "dropped", "errors", "net_errors"), pl.Int64)
    return pl.DataFrame(steps, schema={**kinds, **counts})


def carried_up_to(capacity: float) -> list[dict[str, Any]]:
    """Steps at `RATES` of a target that falls behind above its capacity."""
    good = [step(rate, p90=0.02 / (1 - rate / capacity)) for rate in RATES if rate < capacity]
    bad = [
        step(rate, over=True, slope=rate / capacity - 1, settled_goodput=capacity, p90=5.0)
        for rate in RATES
        if rate > capacity
    ]
    return good + bad


@pytest.mark.parametrize("capacity", [220, 260, 330])
def test_saturation_is_the_rate_that_overloaded_steps_carried(capacity: float) -> None:
    found = judge(table(*carried_up_to(capacity))).saturation
    assert found.found
    assert found.rate == pytest.approx(capacity)
    assert found.low is not None
    assert found.high is not None
    assert found.low < capacity < found.high
    assert found.why.startswith("the backlog grows at ")


def test_a_rate_that_the_target_carried_refutes_an_overload_at_a_lower_one() -> None:
    """Others had slowed the target at 200/s; in overload it answers less, so its median shows nothing."""
    overload = {"over": True, "slope": 0.2, "settled_goodput": 190.0}
    steps = [step(rate) for rate in (100, 150)] + [step(200, **overload), step(250)]
    steps += [step(rate, **overload) for rate in (300, 350, 400)]
    assert judge(table(*steps)).saturation.why.startswith("the backlog grows at 300/s, not at 250/s")


def test_the_order_of_the_steps_does_not_matter() -> None:
    steps = carried_up_to(260)
    assert judge(table(*steps[::-1])).sentence == judge(table(*steps)).sentence


def test_a_limiter_saturates_where_one_percent_fail() -> None:
    flat = [step(rate) for rate in RATES[:5]]
    refused = [
        step(rate, failing=True, errors=int(10 * rate - 2550), settled_goodput=255.0, failure="503: 100 %")
        for rate in RATES[5:]
    ]
    said = judge(table(*flat, *refused))
    assert said.saturation.rate == pytest.approx(255)
    assert (
        said.saturation.why
        == "errors at 300/s, not at 250/s (503: 100 %), response times flat: rate limiter or load shedding"
    )


def test_the_rate_at_which_a_target_collapses_is_not_below_those_that_it_carried() -> None:
    """It answered 6/s after the queue was full: the range ended at 240, below the rates at which it may begin."""
    collapsed = [
        step(rate, failing=True, errors=int(9.7 * rate), settled_goodput=6.0, failure="503: 97 %") for rate in RATES[4:]
    ]
    found = judge(table(*[step(rate) for rate in RATES[:4]], *collapsed)).saturation
    assert found.rate == 225
    assert found.low is not None
    assert found.high is not None
    assert found.low < 200 < 250 < found.high


def test_a_step_that_fails_no_more_often_than_the_last_good_one_begins_saturation() -> None:
    """Of 100 requests two errors may be chance; of 10,000 the same share is not."""
    good = [step(rate, scheduled=100, errors=2) for rate in RATES[:4]]
    failing = [step(rate, scheduled=10_000, errors=200, failing=True, failure="500: 100 %") for rate in RATES[4:]]
    found = judge(table(*good, *failing)).saturation
    assert found.rate is not None
    assert 200 <= found.rate <= 250


def test_failures_that_passed_do_not_lower_the_rate_at_which_failures_begin() -> None:
    """200 of 1,500 failed for another cause; 2 % fail from 300/s on."""
    passing = step(150, errors=200, failing=True, failure="500: 100 %")
    steps = [step(rate, errors=int(0.2 * rate), failing=True, failure="500: 100 %") for rate in RATES if rate >= 300]
    good = [passing if rate == 150 else step(rate) for rate in RATES if rate < 300]
    found = judge(table(*good, *steps)).saturation
    assert 250 < (found.rate or 0) < 300
    assert 200 < (found.low or 0) < 250
    assert 300 < (found.high or 0) <= 350


def test_flat_latency_has_neither_onset_nor_saturation() -> None:
    said = judge(table(*(step(rate) for rate in RATES)))
    assert said.sentence == "no saturation up to 400/s: response times stay flat (p99 rose 1.0x)"
    assert not said.onset.found
    assert not said.saturation.found


def test_rising_latency_without_a_backlog_is_no_saturation() -> None:
    said = judge(table(*(step(rate, p99=rate / 1000, p90=rate / 2000) for rate in RATES)))
    assert said.sentence.startswith("no saturation up to 400/s; response times rise")
    assert not said.saturation.found


def test_a_limited_replay_machine_hides_what_the_target_does_beyond() -> None:
    late = [step(rate, generator=True, sent=210.0, lag_p95=0.5, over=True) for rate in RATES[4:]]
    said = judge(table(*(step(rate) for rate in RATES[:4]), *late))
    assert said.generator_limit == 210
    assert said.sentence.startswith(
        "replay machine limited at 210/s of 250/s offered (generator lag p95 500 ms): the target was"
    )
    assert said.sentence.endswith("was measured up to 200/s")
    assert not said.saturation.found


def test_a_limit_without_lag_is_named_in_the_findings() -> None:
    late = [step(rate, generator=True, failing=True, errors=900) for rate in RATES[4:]]
    said = judge(table(*(step(rate) for rate in RATES[:4]), *late))
    assert said.word == "GENERATOR_BOUND"
    assert said.sentence.startswith("replay machine limited at 250/s (the findings name its limit): the target was ")


def limited(rate: float) -> dict[str, Any]:
    """A step that this machine could not send: slow, and neither good nor bad."""
    return step(rate, generator=True, sent=0.8 * rate, lag_p95=2.4, p90=4.0, p95=4.0, p99=4.0, mean=3.5)


@pytest.mark.parametrize("over", [False, True])
def test_one_step_limited_by_the_replay_machine_is_not_counted(over: bool) -> None:
    """Whatever it shows, the answer is that of the others."""
    for index in range(1, 7):
        steps = carried_up_to(260)
        steps[index] = limited(RATES[index]) | {"over": over}
        said = judge(table(*steps))
        left = judge(table(*steps[:index], *steps[index + 1 :]))
        assert said.sentence == left.sentence
        assert said.onset == left.onset


def test_saturation_is_between_the_last_good_and_the_first_bad_step_around_a_limited_one() -> None:
    steps = [*(step(rate) for rate in RATES[:4]), limited(225.0), *carried_up_to(240)[4:6]]
    found = judge(table(*steps)).saturation
    assert found.why == "the backlog grows at 250/s, not at 200/s"


def test_no_rate_above_a_limited_one_is_called_carried() -> None:
    """Where a passing slowness leaves the highest rate without proof, the limit of this machine is the answer."""
    slow, last = step(150.0, over=True, settled_goodput=140.0), step(350.0, over=True, settled_goodput=40.0, slope=0.4)
    steps = [step(50.0), step(100.0), slow, step(200.0), step(250.0), limited(300.0), last]
    said = judge(table(*steps))
    assert said.word == "GENERATOR_BOUND"
    assert said.sentence.startswith("replay machine limited at 250/s of 300/s offered (generator lag p95 2400 ms)")


@pytest.mark.parametrize(
    ("times", "seen"), [(1.4, "response times stay flat"), (1.5, "no queue builds up"), (2.9, "no queue builds up")]
)
def test_response_times_that_rose_without_a_backlog_are_not_called_flat(times: float, seen: str) -> None:
    steps = [step(rate) for rate in RATES]
    steps[-1]["p99"] *= times
    assert judge(table(*steps)).sentence == f"no saturation up to 400/s: {seen} (p99 rose {times}x)"


def test_response_times_of_a_limited_step_are_no_rise() -> None:
    steps = [step(rate) for rate in RATES]
    steps[3] = limited(RATES[3])
    assert judge(table(*steps)).sentence == "no saturation up to 400/s: response times stay flat (p99 rose 1.0x)"


@pytest.mark.parametrize(
    ("steps", "answer"),
    [
        ([], "not enough data: no rate has 100 requests or more; 5 such rates are needed"),
        (
            [step(rate) for rate in RATES[:4]],
            "not enough data: 4 rates have 100 requests or more; 5 such rates are needed: give more rates, such as "
            "50..200:20",
        ),
        ([step(rate, scheduled=99) for rate in RATES], "not enough data: no rate has"),
        ([step(50.0) | {"rate": float("nan")}] * 9, "not enough data: no rate has"),
        (
            [step(rate, over=True) for rate in RATES[:1]],
            "not enough data: 1 rate has 100 requests or more; 5 such rates are needed",
        ),
        ([step(rate, outage=OUTAGE) for rate in RATES], "not enough data: all 8 rates had an outage; 6 s of 502"),
        ([step(50.0, outage=OUTAGE)], "not enough data: the only rate had an outage; 6 s of 502"),
        (
            [step(rate, outage=OUTAGE if rate > 50 else None) for rate in RATES],
            "not enough data: 1 rate has 100 requests or more and no outage; 5 such rates are needed: repeat the "
            "measurement; 6 s of 502",
        ),
        ([step(rate, over=True) for rate in RATES[:2]], "saturated already at the lowest rate, 50/s: sweep lower"),
        ([step(rate, failing=True) for rate in RATES], "saturated already at the lowest rate, 50/s: sweep lower"),
    ],
)
def test_too_few_steps_or_none_that_was_carried_are_said(steps: list[dict[str, Any]], answer: str) -> None:
    said = judge(table(*steps))
    assert said.sentence.startswith(answer)
    assert said.saturation.as_dict() == {"found": False, "why": said.sentence}


def test_a_sweep_that_ended_itself_with_too_few_rates_is_told_to_keep_going() -> None:
    steps = [step(50.0), step(100.0, over=True), step(150.0, over=True)]
    needed = "not enough data: 3 rates have 100 requests or more; 5 such rates are needed: "
    more = "give more rates, such as 50..150:20"
    assert judge(table(*steps), RATES).sentence == f"{needed}{more}, or add --keep-going for the 5 rates left out"
    assert judge(table(*steps), RATES[:3]).sentence == needed + more
    interrupted = [step(rate) for rate in RATES[:3]]
    assert judge(table(*interrupted), RATES).sentence == f"{needed}measure the 5 other rates, too"
    one = "not enough data: 1 rate has 100 requests or more; 5 such rates are needed: "
    cut = judge(table(*interrupted[:1]), RATES[:4]).sentence
    assert cut == f"{one}give more rates, such as 50..200:20", "the three others would not be enough"


def test_steps_with_too_few_requests_are_told_to_be_longer() -> None:
    said = judge(table(*(step(rate, scheduled=int(10 * rate)) for rate in (1.0, 2.0, 4.0, 5.0, 8.0, 10.0))))
    assert said.sentence == (
        "not enough data: 1 rate has 100 requests or more; 5 such rates are needed: make the steps longer, such as "
        "--for 50s"
    )


@pytest.mark.parametrize(
    ("rates", "seconds", "note"),
    [
        ([40, 80, 160], 10, "has 3: give more rates, such as 40..160:20"),
        ([40, 60, 80, 100], 10, "has 4: give more rates, such as 40..100:10"),
        ([40], 10, "has 1: give more rates, such as 40..200:20"),
        ([40, 40], 10, "has 1: give more rates, such as 40..200:20"),
        ([50, 100, 150, 200, 250], 1, "has 4: make the steps longer, such as --for 2s"),
        ([0.5, 1.5], 10, "has 0: give more rates, such as 0.5..1.5:0.2 and make the steps longer, such as --for 200s"),
        ([10, 20, 30, 40, 50], 10, ""),
        ([1, 10, 20, 30, 40, 50], 10, ""),
    ],
)
def test_a_sweep_that_cannot_have_an_answer_is_foreseen(rates: list[float], seconds: float, note: str) -> None:
    text = "an answer needs 5 rates with 100 requests each, and this sweep "
    assert check_feasible(rates, seconds) == (text + note if note else "")


@pytest.mark.parametrize(
    ("kind", "times", "cause"),
    [
        ("tls", {}, "which are failures of TLS"),
        ("protocol", {}, "which violate HTTP"),
        ("other", {}, "for which the log has a word of its own"),
        ("no_status", {}, "whose kind the log does not say"),
        ("timeout", {"failed_p50": 5.0}, "which are time-outs of the client, after 5 s"),
        ("timeout", {"failed_p50": None}, "which are time-outs of the client"),
        ("503", {"ok_p50": None}, "rate limiter or load shedding"),
        ("503", {}, "response times flat: rate limiter or load shedding"),
        ("503", {"ok_p50": 0.1}, "a queue with a limit: load shedding"),
        ("refused", {"ok_p50": None}, "the target dropped connections: crashes, or a limit of connections"),
        ("500", {}, "which the application answers at once"),
        ("500", {"failed_p50": None}, "which the application answers"),
    ],
)
def test_the_cause_says_no_more_than_is_known(kind: str, times: dict[str, Any], cause: str) -> None:
    failing = {"failing": True, "settled_goodput": 200.0, "failure": f"{kind}: 100 %", **times}
    said = judge(table(*map(step, RATES[:4]), *(step(rate, errors=int(2 * rate), **failing) for rate in RATES[4:])))
    assert said.saturation.why == f"errors at 250/s, not at 200/s ({kind}: 100 %), {cause}"


def test_a_target_that_fails_at_every_rate_is_failing_where_the_generator_was_late_too() -> None:
    failing = {"failing": True, "settled_goodput": 0.0, "failure": "500: 100 %"}
    said = judge(table(*(step(rate, errors=int(10 * rate), generator=rate > 300, **failing) for rate in RATES)))
    assert said.word == "TARGET_FAILING"


def test_what_was_answered_of_mostly_failed_requests_is_told_without_a_measured_goodput() -> None:
    failing = {"failing": True, "settled_goodput": None, "failure": "kind unknown"}
    said = judge(table(*(step(rate, errors=int(6 * rate), **failing) for rate in RATES)))
    assert "60 % of the requests (kind unknown); at most 160/s were answered as expected" in said.sentence


def test_requests_that_were_never_sent_are_no_failures_of_the_target() -> None:
    """87 % of the requests of each step were dropped: the target was called failing, or the verdict crashed."""
    few = [step(rate, dropped=int(8.7 * rate), errors=int(8.7 * rate)) for rate in RATES]
    said = judge(table(*few))
    assert said.word == "VALID"
    assert said.steps["errors"].sum() > 0
    answered = [{**each, "errors": each["errors"] + 5, "failure": "500: 100 %"} for each in few]
    assert judge(table(*answered)).word == "VALID"


def test_goodput_that_falls_by_a_fifth_under_overload_is_a_congestion_collapse() -> None:
    steps = carried_up_to(260)
    fell = [{**each, "settled_goodput": 150.0} if each["rate"] > 300 else each for each in steps]
    assert judge(table(*fell)).sentence == (
        "saturation at about 260/s (between 200 and 350/s): the backlog grows at 300/s, not at 250/s; the target "
        "carries 260/s until a backlog forms, and 150/s then, which lasts; congestion collapse"
    )


def test_goodput_of_steps_that_mostly_timed_out_is_no_collapse() -> None:
    steps = carried_up_to(260)
    cut = [
        {**each, "settled_goodput": 0.0, "net_errors": each["scheduled"]} if each["rate"] > 350 else each
        for each in steps
    ]
    assert "collapse" not in judge(table(*cut)).sentence


def test_trials_of_one_rate_count_as_what_at_least_half_of_them_are() -> None:
    trials = [step(50.0), step(50.0, over=True), step(100.0), step(100.0), step(100.0, over=True)]
    merged = by_rate(table(*trials))
    assert merged.select("rate", "scheduled", "over").rows() == [(50, 1000, True), (100, 3000, False)]


def test_trials_that_are_bad_in_different_ways_are_bad_together() -> None:
    merged = by_rate(table(step(50.0), step(50.0), step(50.0, over=True), step(50.0, failing=True, failure="503")))
    assert merged.select(pl.col("over") | pl.col("failing")).item()


@pytest.mark.parametrize(
    ("bad", "first"),
    [("", None), ("....", None), ("..x", 2), ("..x....", None), ("..xxx.x", 2), ("..xx..x", 6), ("xxxx", 0)],
)
def test_a_bad_step_counts_if_the_next_ones_are_bad_too(bad: str, first: int | None) -> None:
    assert first_lasting(np.array([sign == "x" for sign in bad], dtype=np.bool_)) == first


@given(st.lists(st.booleans(), max_size=12))
def test_steps_that_end_badly_stay_bad_and_good_ones_after_the_last_bad_one_forgive_it(bad: list[bool]) -> None:
    first = first_lasting(np.array(bad, dtype=np.bool_))
    assert first is None or bad[first]
    assert (first is not None) or not (bad and bad[-1])
    assert first_lasting(np.array([*bad, *[False] * 4], dtype=np.bool_)) in (None, first)


@given(
    st.lists(st.floats(1, 1e5), min_size=2, max_size=12, unique=True).map(sorted),
    st.integers(1, 11),
)
def test_the_range_of_saturation_is_wider_than_its_bracket(rates: list[float], first_bad: int) -> None:
    assume(first_bad < len(rates))
    low, high = widened(np.array(rates), first_bad)
    assert 0 <= low < rates[first_bad - 1] < rates[first_bad] < high


def test_onset_is_where_p90_is_twice_its_floor() -> None:
    rates = np.arange(50.0, 801.0, 50.0)
    times = 0.01 * np.exp(np.maximum(rates - 400, 0) / 100)
    bend = find_onset(table(*(step(rate, p90=time) for rate, time in zip(rates.tolist(), times.tolist(), strict=True))))
    assert bend.rate == pytest.approx(400 + 100 * np.log(2))
    assert (bend.low, bend.high) == (400, 550)


def test_a_cold_first_step_does_not_raise_the_floor() -> None:
    times = [0.03, 0.01, 0.01, 0.01, 0.01, 0.012, 0.02, 0.05]
    bend = find_onset(table(*(step(rate, p90=time) for rate, time in zip(RATES, times, strict=True))))
    assert bend.rate == pytest.approx(360, abs=10)


def test_overloaded_steps_do_not_count_for_the_onset() -> None:
    steps = [step(rate, p90=0.02, over=rate > 250, slope=0.3) | ({"p90": 5.0} if rate > 250 else {}) for rate in RATES]
    said = judge(table(*steps))
    assert said.saturation.found
    assert said.onset.why == "p90 stays below twice its floor (it rose 1.0x)"


def test_the_mean_serves_where_no_quantile_is_known() -> None:
    unknown = dict.fromkeys(("p50", "p90", "p95", "p99", "ok_p50", "ok_p99"))
    said = judge(table(*(step(rate, **unknown) for rate in RATES)))
    assert said.sentence == "no saturation up to 400/s: response times stay flat (mean rose 1.0x)"
    assert said.onset.why == "mean stays below twice its floor (it rose 1.0x)"


def test_steps_without_any_time_are_judged_all_the_same() -> None:
    unknown = dict.fromkeys(("mean", "p50", "p90", "p95", "p99", "ok_p50", "ok_p99", "settled_goodput"))
    good, bad = [step(rate, **unknown) for rate in RATES[:5]], [step(rate, over=True, **unknown) for rate in RATES[5:]]
    told = judge(table(*good)).sentence
    assert told == "no saturation up to 250/s: no backlog grows; how response times rise is unknown"
    assert judge(table(*good, *bad)).saturation.found


def test_a_route_that_answers_next_to_nothing_in_overload_puts_saturation_under_no_rate_that_was_carried() -> None:
    rates = [100.0, 200.0, 300.0, 400.0, 500.0]
    steps = table(*(step(rate) for rate in rates)).with_columns(step=pl.int_range(5, dtype=pl.Int64))
    found = judge(steps, (), balance_of(slow=(300.0, 1.0))).saturation
    assert found.why == "the backlog grows at 300/s, not at 200/s, only on route /slow (10 % of the requests)"
    assert found.rate == pytest.approx(170)
    assert found.low == pytest.approx(100)
    assert found.high == pytest.approx(400)


def test_the_rate_of_a_route_that_saturates_alone_is_what_it_answers_over_its_share() -> None:
    rates = [100.0, 200.0, 300.0, 400.0, 500.0]
    steps = table(*(step(rate) for rate in rates)).with_columns(step=pl.int_range(5, dtype=pl.Int64))
    found = judge(steps, (), balance_of(slow=(300.0, 25.0))).saturation
    assert found.rate == pytest.approx(250)
