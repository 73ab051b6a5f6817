"""How many machines follow from a step table."""

import math
from typing import Any

import polars as pl
import pytest

from logreplay.analysis.tables.users import UsersVerdict
from logreplay.analysis.verdict.capacity import Capacity, capacity


def table(
    *rows: tuple[float, float, str], seconds: float = 60, scheduled: int = 5000, answered: float = 1e9
) -> pl.DataFrame:
    """Steps of (rate, p90, verdict); the mean is half of p90; responses/s are at most ``answered``."""
    return pl.DataFrame(
        [
            {
                "rate": rate,
                "p90": p90,
                "mean": p90 / 2,
                "verdict": verdict,
                "lag_p95": 0.004,
                "service_p50": p90 / 2,
                "duration": seconds,
                "scheduled": scheduled,
                "settled_completed": min(rate, answered),
                "errors": 0,
                "dropped": 0,
                "error_base": 0.0,
                "failed_p50": None,
                "valid_up_to": 1.0,
                "ok_p90": p90,
                "p50": p90 / 3,
                "ok_p50": p90 / 3,
            }
            for rate, p90, verdict in rows
        ],
        schema_overrides=dict.fromkeys(("rate", "p50", "p90", "ok_p50", "ok_p90", "failed_p50"), pl.Float64),
    )


BRACKET = table((30, 0.1, "stable"), (38, 0.2, "stable"), (42, 0.4, "stable"), (50, 2.0, "overloaded"))


def ask(steps: pl.DataFrame, **more: Any) -> Capacity:
    return capacity(steps, **{"tps": 200, "within": 0.3, **more})


def test_the_numbers_for_the_likely_and_for_the_lower_end_are_said() -> None:
    found = ask(BRACKET)
    assert (found.machines_likely, found.machines, found.machines_at_best) == (5, 6, 5)
    assert found.sentence == (
        "5 machines for 200/s with p90 within 300 ms, no headroom; 6 at the lower end: one carries about 40.7/s "
        "(39.9–42/s); p90 200 ms at 38/s (mean 100 ms), not kept at 42/s (p90 400 ms)"
    )


@pytest.mark.parametrize(
    ("verdict", "remedy"),
    [
        ("outage", "repeat the measurement; "),
        ("generator-limited", "stop other programs, add --workers, or send"),
    ],
)
def test_a_higher_rate_that_does_not_count_is_not_answered_with_the_advice_to_sweep_higher(
    verdict: str, remedy: str
) -> None:
    said = ask(table((30, 0.1, "stable"), (38, 0.1, "stable"), (50, 2.0, verdict))).sentence
    assert f"the bound was kept at every rate that counts; higher rates do not count, so {remedy}" in said
    assert "sweep higher" not in said


def test_so_many_machines_may_be_lost() -> None:
    found = ask(BRACKET, survive=2)
    assert (found.machines_likely, found.machines, found.machines_at_best) == (7, 8, 7)
    assert found.sentence.startswith(
        "7 machines for 200/s with p90 within 300 ms, no headroom, 2 machines lost; 8 at the lower end: one carries"
    )


FULL = table(
    *((rate, 0.1, "stable") for rate in (40, 60, 80)), (100, 0.25, "stable"), (120, 2.0, "overloaded"), answered=99
)


@pytest.mark.parametrize("saturation", [99.0, None])  # of the sweep; of too few rates: what was answered at 120/s
def test_machines_do_not_run_at_their_saturation(saturation: float | None) -> None:
    """A step of some seconds at the saturation can look stable."""
    found = ask(FULL, saturation=saturation)
    assert found.saturation == pytest.approx(100, abs=1)
    assert found.likely == pytest.approx(0.925 * (found.saturation or 0))
    assert found.machines == 3
    assert found.sentence.endswith(
        f"saturates at about {found.saturation:.3g}/s, and 92.5 % of that is the most that counts as carried"
    )


def test_a_rate_clearly_below_saturation_counts_though_the_next_is_far_above() -> None:
    assert ask(FULL, saturation=110.0).likely == pytest.approx(100.7, abs=0.5)
    assert ask(BRACKET, within=0.5, saturation=46.0).likely == pytest.approx(42.5, abs=0.5)


def test_a_target_that_collapses_beyond_what_it_carried_does_not_saturate_at_that_rate() -> None:
    found = ask(table((20, 0.1, "stable"), (40, 0.1, "stable"), (50, 2.0, "overloaded"), answered=20), saturation=None)
    assert found.saturation is None
    assert 40 < (found.low or 0) < (found.high or 0) < 50


def test_rates_of_thousands_are_written_without_an_exponent() -> None:
    steps = ((rate, 0.1, "stable") for rate in (1000, 1500, 2000))
    found = ask(table(*steps, (2500, 2.0, "overloaded"), answered=2100), saturation=2134.5)
    assert "one machine saturates at about 2134/s" in found.sentence


def test_rates_all_near_saturation_name_no_number() -> None:
    found = ask(table((95, 0.1, "stable"), (120, 2.0, "overloaded")), saturation=99.0)
    assert found.machines is None
    assert found.sentence == (
        "p90 within 300 ms is kept at 95/s, but one machine saturates at about 99/s, which leaves too little room: "
        "sweep lower"
    )


def test_a_bound_that_fails_below_saturation_is_the_limit() -> None:
    found = ask(BRACKET, saturation=46.0)
    assert 38 < (found.low or 0) < (found.likely or 0) < 42
    assert "counts as carried" not in found.sentence


def test_the_mean_at_the_carried_rate_is_said_and_may_be_bounded() -> None:
    assert ask(BRACKET).mean == pytest.approx(0.1)
    assert ask(BRACKET, percentile="mean").likely == pytest.approx(44.3, abs=0.5)
    dead = table((30, 0.1, "stable"), (38, 0.1, "stable")).with_columns(
        mean=pl.when(pl.col("rate") > 30).then(None).otherwise("mean")
    )
    assert ask(dead, percentile="mean").likely == 30


def test_where_every_rate_kept_the_bound_no_more_than_the_highest_is_promised() -> None:
    found = ask(table((30, 0.1, "stable"), (38, 0.1, "stable")))
    assert (found.low, found.likely, found.high, found.machines_at_best) == (38, 38, None, None)
    assert found.sentence.endswith(
        "; p90 100 ms at 38/s (mean 50 ms); the bound was kept at every rate that counts: sweep higher"
    )


def test_headroom_is_kept_free_on_each_machine() -> None:
    assert ask(BRACKET, headroom=0.2).machines == 7


def test_what_is_read_off_short_steps_is_marked() -> None:
    found = ask(table((40, 0.2, "stable"), (50, 0.5, "stable"), seconds=10))
    assert found.machines == 5
    assert found.sentence.startswith(
        "~5 machines for 200/s with p90 within 300 ms, no headroom: one carries about 45.3/s"
    )


def test_a_growing_backlog_fails_though_the_percentile_is_still_within() -> None:
    found = ask(table((30, 0.1, "stable"), (38, 0.2, "overloaded")))
    assert 30 < (found.likely or 0) <= (found.high or 0) < 38


def test_a_step_above_an_overloaded_one_does_not_count() -> None:
    found = ask(table((30, 0.1, "stable"), (38, 0.2, "overloaded"), (42, 0.2, "stable")))
    assert (found.high or 0) < 38


@pytest.mark.parametrize(("word", "why"), [("overloaded", "the backlog"), ("errors", "10 % of the requests")])
@pytest.mark.parametrize("at", [30, 42])
def test_a_rate_that_was_bad_for_a_moment_is_named_and_ends_nothing(at: int, word: str, why: str) -> None:
    steps = table(*((rate, 0.1, word if rate == at else "stable") for rate in (30, 38, 42, 46, 50, 54)))
    found = ask(steps.with_columns(errors=pl.when(pl.col("verdict") == "errors").then(500).otherwise(0)))
    assert (found.low, found.likely, found.high) == (54, 54, None)
    assert f"at 54/s (mean 50 ms); not kept at {at}/s ({why}" in found.sentence
    assert "), but at higher rates; the bound was kept at every other rate that counts: sweep higher" in found.sentence


def test_a_figure_that_misses_the_bound_at_one_rate_is_weighed_with_that_of_the_next() -> None:
    found = ask(table((30, 0.1, "stable"), (38, 0.5, "stable"), (42, 0.2, "stable")))
    assert 35 < (found.low or 0) < (found.likely or 0) < (found.high or 0) < 40


def test_trials_of_a_rate_are_weighed_together_and_narrow_the_bracket() -> None:
    once, thrice = ask(BRACKET), ask(pl.concat([BRACKET] * 3))
    assert thrice.likely == pytest.approx(once.likely, rel=0.01)
    widths = [(found.high or 0) - (found.low or 0) for found in (once, thrice)]
    assert widths[1] < 0.8 * widths[0]


def test_trials_that_differ_more_than_their_length_explains_widen_the_bracket() -> None:
    agreeing = pl.concat([BRACKET, BRACKET])
    apart = pl.concat([BRACKET.with_columns(ok_p90=pl.col("ok_p90") * by) for by in (0.5, 1.5)])
    widths = [(found.high or 0) - (found.low or 0) for found in map(ask, (agreeing, apart))]
    assert widths[1] > 1.5 * widths[0]


def test_runs_that_are_pooled_are_counted() -> None:
    found = ask(pl.concat([BRACKET, BRACKET]), saturation=[48.0, 50.0], runs=2)
    assert (found.saturation, found.runs) == (49.0, 2)
    assert found.sentence.endswith("; 2 runs pooled")


def test_steps_limited_by_the_replay_machine_are_left_out() -> None:
    found = ask(table((30, 0.1, "stable"), (38, 9.0, "generator-limited")))
    assert found.high is None
    assert "higher rates do not count, so stop other programs" in found.sentence


def test_steps_sent_late_are_left_out_and_named() -> None:
    """A response time of 223 ms with a lag of 142 ms does not say that the target is slow."""
    steps = table((20, 0.223, "stable"), (40, 0.1, "stable"), (60, 0.15, "stable"), (80, 0.5, "stable"))
    late = steps.with_columns(lag_p95=pl.when(pl.col("rate") == 20).then(0.142).otherwise("lag_p95"))
    found = ask(late, within=0.2)
    assert 60 < (found.low or 0) < (found.high or 0) < 80
    assert found.sentence.endswith("not kept at 80/s (p90 500 ms); not counted: 20/s (sent late)")
    nothing = ask(late.filter(pl.col("rate") == 20), within=0.2)
    assert nothing.machines is None
    assert nothing.sentence == (
        "no step counts for p90 within 200 ms: 20/s (sent late); stop other programs, add --workers, or send from "
        "another machine, and repeat the measurement"
    )


def test_longer_steps_are_not_the_remedy_where_requests_were_sent_late() -> None:
    """It advised longer steps, in which a busy generator is as late."""
    steps = table((20, 0.31, "stable"), (38, 0.5, "stable"))
    late = steps.with_columns(lag_p95=pl.when(pl.col("rate") == 20).then(0.142).otherwise("lag_p95"))
    idle = "stop other programs, add --workers, or send from another machine, and repeat the measurement"
    assert f"p90 500 ms: lower rates do not count, so {idle}; not counted: 20/s" in ask(late).sentence
    limited = table((20, 0.1, "generator-limited"), (50, 0.1, "stable"), scheduled=300, seconds=6)
    assert f"no lower rate shows what one machine carries: {idle}; not counted: 20/s" in ask(limited).sentence
    outage = table((20, 0.1, "outage"), (38, 0.5, "stable"))
    assert "lower rates do not count, so repeat the measurement; not counted: 20/s (outage)" in ask(outage).sentence
    few = pl.concat([late, table((30, 0.1, "stable"), scheduled=20)], how="vertical_relaxed")
    assert (
        f"lower rates do not count, so make the steps longer, such as --for 164s; {idle}; not counted"
        in ask(few).sentence
    )


def test_a_step_sent_late_that_keeps_the_bound_with_the_lag_counts() -> None:
    """It was left out, though a target that gets the same requests on time answers none of them later."""
    late = BRACKET.with_columns(lag_p95=pl.when(pl.col("rate") < 40).then(0.142).otherwise("lag_p95"))
    found = ask(late)
    assert (found.low, found.likely, found.high) == (ask(BRACKET).low, ask(BRACKET).likely, ask(BRACKET).high)
    assert found.not_counted == ()
    assert found.sentence.endswith("; sent late, and counted with the generator's lag: 30/s, 38/s")
    unknown = late.with_columns(ok_p90=pl.when(pl.col("rate") < 40).then(None).otherwise("ok_p90"), valid_up_to=0.5)
    assert ask(unknown).sentence.endswith("; not counted: 30/s, 38/s (sent late)")
    assert ask(unknown.with_columns(with_lag_p90="p90")).sentence == found.sentence
    slow_failures = unknown.with_columns(with_lag_p90="p90", failed_p50=10.0, p90=pl.lit(None, pl.Float64))
    assert "sent late, and counted" not in ask(slow_failures).sentence


def test_a_step_sent_late_that_a_weaker_bound_lets_count_does_not_lower_the_answer() -> None:
    """With its lag it is slower than the next step: the likely rate fell from 75.6 to 54.7/s."""
    steps = table((30, 0.04, "stable"), (35, 0.15, "stable"), (95, 0.66, "stable"), (110, 2.0, "overloaded"), seconds=5)
    late = steps.with_columns(lag_p95=pl.when(pl.col("rate") == 35).then(0.1).otherwise("lag_p95"), scheduled=200)
    strong, weak = (ask(late, within=within, saturation=100.0) for within in (0.12, 0.2))
    assert ("sent late)" in strong.sentence, "sent late, and counted" in weak.sentence) == (True, True)
    assert (strong.low or 0) <= (weak.low or 0)
    assert (strong.likely or 0) <= (weak.likely or 0)
    assert (strong.high or 0) <= (weak.high or 0)


def test_a_step_whose_requests_were_dropped_proves_no_rate() -> None:
    """Three of four requests of 120/s and of 150/s were dropped, and one machine carried about 150/s."""
    steps = table((60, 0.1, "stable"), (90, 0.1, "stable"), (120, 0.1, "stable"), (150, 0.1, "stable"))
    many = pl.when(pl.col("rate") > 100).then(3 * pl.col("scheduled") // 4).otherwise(pl.col("scheduled") // 50)
    found = ask(steps.with_columns(dropped=many, errors=many))
    assert found.high is None
    assert found.likely == 90
    assert found.sentence.endswith("; not counted: 120/s, 150/s (requests dropped)")
    # a limit may drop them
    assert "higher rates do not count, so repeat the measurement without --late drop" in found.sentence
    over = steps.with_columns(dropped=many, errors=many, verdict=pl.Series(["stable"] * 2 + ["overloaded"] * 2))
    assert "requests dropped" not in ask(over).sentence


def test_lower_rates_that_were_sent_late_are_not_answered_with_the_advice_to_sweep_lower() -> None:
    """It advised to sweep lower, as if all rates were near saturation; a lower one was swept, but does not count."""
    steps = table((50, 0.4, "stable"), (95, 0.1, "stable"), (120, 2.0, "overloaded"))
    late = steps.with_columns(lag_p95=pl.when(pl.col("rate") == 50).then(0.3).otherwise("lag_p95"))
    found = ask(late, saturation=99.0)
    assert found.sentence == (
        "p90 within 300 ms is kept at 95/s, but one machine saturates at about 99/s, which leaves too little room: "
        "lower rates do not count, so stop other programs, add --workers, or send from another machine, and repeat the "
        "measurement; not counted: 50/s (sent late)"
    )
    assert [check.state for check in found.checks] == ["unjudged"]


@pytest.mark.parametrize(("figure", "valid"), [("p90", 0.88), ("mean", 0.97)])
def test_steps_whose_bounded_figure_the_lag_reaches_are_left_out_and_named(figure: str, valid: float) -> None:
    """The figure is left out of the step table, which says up to which share of the requests times are the target's."""
    reached = pl.col("rate") == 38
    steps = BRACKET.with_columns(
        pl.when(reached).then(None).otherwise(figure).alias("ok_p90" if figure == "p90" else figure),
        valid_up_to=pl.when(reached).then(valid).otherwise(1.0),
    )
    found = ask(steps, percentile=figure, within=0.15)
    assert 30 < (found.likely or 0) < 42
    assert found.sentence.endswith("; not counted: 38/s (sent late)")
    if figure == "mean":
        assert "not counted" not in ask(steps, percentile="p90").sentence


def test_a_bound_that_was_never_kept_has_no_answer() -> None:
    found = ask(table((30, 0.4, "stable"), (38, 0.5, "stable")))
    assert found.machines is None
    assert found.sentence == "p90 within 300 ms is not kept even at 30/s, p90 400 ms: sweep lower"


def test_a_bound_that_was_missed_above_rates_that_do_not_count_asks_for_longer_steps() -> None:
    steps = pl.concat([table((20, 0.1, "stable"), scheduled=20), table((38, 0.5, "stable"))], how="vertical_relaxed")
    found = ask(steps)
    assert found.sentence.startswith(
        "p90 within 300 ms is not kept at 38/s, p90 500 ms: lower rates do not count, so make the steps longer, such "
        "as --for 164s; not counted"
    )
    assert [check.state for check in found.checks] == ["unjudged"]


def test_too_few_requests_prove_nothing() -> None:
    assert ask(table((30, 0.1, "stable"), scheduled=20)).sentence == (
        "no step counts for p90 within 300 ms: 30/s (20 requests, p90 needs 36); make the steps longer, such as --for "
        "164s"
    )
    longer = table((30, 0.1, "stable"), scheduled=20 * 164 // 60)
    assert ask(longer).not_counted == ()


def failing(share: float, base: float, *, took: float = 0.01, verdict: str = "stable") -> pl.DataFrame:
    """Steps of which a share fails, so that p90 falls on a failure."""
    failed = pl.col("scheduled") * share
    return table(*((rate, 0.1, verdict) for rate in (30, 38))).with_columns(
        p90=pl.lit(math.inf), errors=failed.cast(pl.Int64), error_base=pl.lit(base), failed_p50=pl.lit(took)
    )


def test_failures_as_frequent_at_every_rate_do_not_hide_the_percentile_of_the_answered() -> None:
    """One page in eight is missing: p90 of all requests is a failure at every rate, that of the answered is 100 ms."""
    found = ask(failing(0.125, 0.125))
    assert (found.likely, found.machines, found.error_base) == (38, 6, 0.125)
    assert "; 12 % of the requests failed at every rate" in found.sentence


def test_failures_that_took_longer_than_the_bound_are_late() -> None:
    found = ask(failing(0.125, 0.125, took=10.0))
    assert found.machines is None
    assert "p90 within 300 ms is not kept even at 30/s, p90 failed: sweep lower" in found.sentence


def test_failures_beyond_their_budget_are_named_where_the_percentile_was_kept() -> None:
    """A bound of 300 ms was called not kept where p50 was 21 ms, without a word on the failures."""
    found = ask(failing(0.125, 0.0, verdict="errors"))
    assert found.sentence == (
        "p90 within 300 ms is not kept even at 30/s, 12 % of the requests failed (see run --crash): sweep lower"
    )


def refusing(*rows: tuple[float, int, int, str], base: float = 0.0) -> pl.DataFrame:
    """Steps of (rate, requests, failures, verdict) of a target that answers fast and refuses some."""
    steps = pl.concat(table((rate, 0.001, verdict), seconds=8, scheduled=sent) for rate, sent, _, verdict in rows)
    return steps.with_columns(errors=pl.Series([row[2] for row in rows]), error_base=pl.lit(base))


@pytest.mark.parametrize(
    ("rows", "low", "likely", "high"),
    [
        (((40, 400, 0), (80, 800, 25), (90, 900, 45)), 40, 66, 80),
        (((40, 480, 0), (55, 660, 0), (70, 840, 8), (85, 1020, 39)), 55, 71, 85),
        (((40, 200, 0), (70, 350, 2), (100, 500, 36), (130, 650, 153)), 40, 79, 100),
    ],
)
def test_where_a_limiter_refuses_more_with_the_load_the_range_is_that_of_the_rates_that_show_it(
    rows: tuple[tuple[int, int, int], ...], low: float, likely: float, high: float
) -> None:
    """Response times are flat: with 3.1 % failures at 80/s, the answer was 79.6/s, from 79.4 to 79.7."""
    steps = refusing(*((*row, "errors" if row[2] > 0.03 * row[1] else "stable") for row in rows))
    found = ask(steps)
    assert (found.low, found.high) == (low, high)
    assert found.likely == pytest.approx(likely, rel=0.05)


def test_failures_that_the_verdict_of_a_step_lets_pass_are_weighed_and_named() -> None:
    """In short steps it takes many failures to be sure: 7 % at 100/s passed, and the answer was 97.1/s."""
    rows = ((40, 320, 0), (60, 480, 10), (80, 640, 19), (90, 720, 32), (100, 800, 56))
    steps = refusing(*((*row, "stable") for row in rows), (110, 880, 111, "errors"))
    found = ask(steps)
    assert (found.low, found.high) == (40, 80)
    assert "at 40/s (mean 500 µs), not kept at 60/s (2.1 % of the requests failed (see run --crash))" in found.sentence
    never_sure = ask(steps.filter(pl.col("rate") < 110)).sentence
    assert "p90 1 ms at 100/s (mean 500 µs), 7 % of the requests failed; the bound was kept" in never_sure


def test_failures_at_every_rate_are_no_part_of_those_that_set_the_limit() -> None:
    rows = ((40, 4000, 0), (80, 8000, 0), (120, 12000, 0), (160, 16000, 3000))
    constant = [(rate, sent, failed + sent // 20) for rate, sent, failed in rows]
    found = ask(refusing(*((*row, "errors" if row[0] > 120 else "stable") for row in constant), base=0.05))
    assert (found.low, found.high) == (120, 160)
    assert 120 < (found.likely or 0) < 140
    growing = ask(refusing((40, 4000, 0, "stable"), (80, 8000, 600, "stable"), (120, 9000, 3000, "errors"), base=0.05))
    assert (growing.low, growing.high) == (40, 80)


def test_a_target_that_fails_too_often_at_the_lowest_rate_carries_none() -> None:
    steps = refusing((40, 400, 12, "stable"), (80, 800, 48, "stable"), (90, 900, 90, "errors"))
    found = ask(steps)
    assert found.machines is None
    assert "p90 within 300 ms is not kept even at 40/s, 3 % of the requests failed" in found.sentence


def test_a_growing_backlog_is_named_where_the_percentile_was_kept() -> None:
    assert ask(table((30, 0.1, "overloaded"))).sentence == (
        "p90 within 300 ms is not kept even at 30/s, the backlog grows: sweep lower"
    )
    assert ", not kept at 38/s (the backlog grows)" in ask(table((30, 0.1, "stable"), (38, 0.1, "overloaded"))).sentence


@pytest.mark.parametrize(
    ("verdict", "why"),
    [("generator-limited", "this machine was the limit"), ("outage", "outage"), ("cut", "cut short")],
)
def test_a_rate_that_does_not_count_is_named_with_its_reason(verdict: str, why: str) -> None:
    found = ask(table((30, 0.1, "stable"), (38, 0.1, verdict), (42, 0.1, verdict)))
    assert found.likely == 30
    assert found.sentence.endswith(f"; not counted: 38/s, 42/s ({why})")
    one = {"why": why, "steps": 1, "of": 1, "needs_s": None}
    assert found.as_dict()["not_counted"] == ({"rate": 38, **one}, {"rate": 42, **one})


def test_a_rate_of_which_one_step_counts_says_how_many_do_not() -> None:
    found = ask(table((30, 0.1, "stable"), (38, 0.1, "stable"), (38, 0.1, "outage"), (38, 0.11, "stable")))
    assert "p90 110 ms at 38/s (mean 55 ms) in the slowest of 2 steps" in found.sentence
    assert found.sentence.endswith("; not counted: 38/s in 1 of 3 steps (outage)")


def test_the_order_of_the_steps_changes_nothing() -> None:
    steps = table(
        (30, 0.1, "stable"), (38, 0.2, "stable"), (38, 0.23, "stable"), (42, 0.4, "stable"), (42, 0.5, "overloaded"),
        (42, 0.6, "errors"), (50, 2.0, "overloaded"),
    )  # fmt: skip
    said = ask(steps).sentence
    assert "p90 230 ms at 38/s (mean 115 ms) in the slowest of 2 steps, not kept at 42/s (the backlog grows)" in said
    assert all(ask(steps.sample(fraction=1, shuffle=True, seed=seed)) == ask(steps) for seed in range(5))


def test_a_range_that_reaches_above_the_saturation_is_said_to_be_an_estimate_like_it() -> None:
    found = ask(FULL, saturation=99.0, within=1.9)
    assert (found.high or 0) > 99
    assert found.sentence.endswith(
        "one machine saturates at about 99/s, and 92.5 % of that is the most that counts as carried (both are "
        f"estimates: the range ends at {found.high:.3g}/s)"
    )


def test_a_sweep_without_enough_data_for_a_saturation_has_none_in_the_answer_either() -> None:
    lacks = "not enough data: 4 rates have 100 requests or more; 5 such rates are needed"
    found = ask(FULL.head(4).vstack(FULL.tail(1)).unique(maintain_order=True), lacks=lacks)
    assert "saturates" not in found.sentence
    assert (
        "an overloaded machine answered about 100/s, and 92.5 % of that is the most that counts as carried"
        in found.sentence
    )
    assert found.sentence.endswith(f"; saturation unknown, {lacks}")


@pytest.mark.parametrize(("within", "longer"), [(0.3, ", or make the steps longer, such as --for 36s"), (0.11, "")])
def test_a_lower_end_below_all_rates_that_count_is_refused(within: float, longer: str) -> None:
    """One rate, or an interrupted sweep, had a lower end of a tenth of its only rate."""
    found = ask(table((50, 0.1, "stable"), scheduled=300, seconds=6), within=within)
    assert found.verdict == "NO_ANSWER"
    assert found.machines is None
    assert [check.state for check in found.checks] == ["unjudged"]
    assert found.sentence == (
        f"p90 within {1000 * within:.0f} ms is kept at 50/s, the lowest rate that counts, but not surely (p90 100 ms "
        f"of 300 requests), and no lower rate shows what one machine carries: sweep lower{longer}"
    )
    if longer:
        assert ask(table((50, 0.1, "stable"), scheduled=1800, seconds=36), within=within).machines == 4


@pytest.mark.parametrize("slowest", [0.3, 0.31, math.inf])
def test_longer_steps_are_not_advised_where_the_slowest_step_only_just_keeps_the_bound_or_misses_it(
    slowest: float,
) -> None:
    """The length that it would need is infinite."""
    said = ask(table(*[(50, 0.15, "stable")] * 2, (50, slowest, "stable"), scheduled=100, seconds=5)).sentence
    assert "is kept at 50/s, the lowest rate that counts, but not surely" in said
    assert said.endswith("no lower rate shows what one machine carries: sweep lower")


def test_rates_of_the_sweep_that_were_not_measured_are_named_where_the_bound_was_always_kept() -> None:
    found = ask(table((30, 0.1, "stable"), (38, 0.1, "stable")), unmeasured=[20, 50, 60, 90])
    assert found.sentence.endswith(
        "the bound was kept at every rate that counts: measure the other rates of the sweep, 50 to 90/s"
    )


def test_an_answer_says_for_how_long_the_rates_were_held_and_what_it_does_not_cover() -> None:
    assert ask(BRACKET).not_covered == (
        "each rate that counts was held for 60 s: the number does not cover what takes longer, such as leaks and "
        "slow scaling, another mix of routes, or what the machines share"
    )
    assert ask(table((30, 2.0, "overloaded"))).not_covered == ""


def test_a_percentile_needs_so_many_answers_and_not_only_requests() -> None:
    found = ask(failing(0.995, 0.995))
    assert found.sentence.startswith("no step counts for p90 within 300 ms: 30/s, 38/s (25 requests, p90 needs 36)")


def test_rates_above_the_first_that_failed_are_not_promised() -> None:
    assert (ask(table((30, 0.1, "stable"), (38, float("inf"), "errors"))).high or 0) < 38


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^percentile='p42': expected one of mean, p50, p90, p95, p99, p999$"):
        ask(BRACKET, percentile="p42")
    with pytest.raises(ValueError, match=r"^tps and within must be above 0"):
        ask(BRACKET, tps=0)


def test_a_closed_loop_names_the_least_number_of_machines() -> None:
    """One machine carries 49 to 51 a second: 250 a second need 6, though 250 / 50 is 5."""
    users = UsersVerdict(8, False, 5, 50.0, 49.0, 51.0, 5.0, 4.8, 5.2, "throughput stops growing at 8 users")
    found = capacity(table((40, 0.1, "stable")), tps=250, within=0.3, users=users)
    assert (found.machines, found.machines_at_best, found.low, found.high) == (6, 5, 49.0, 51.0)
    assert (found.machines_likely, found.likely) == (5, 50.0)
    assert capacity(table((40, 0.1, "stable")), tps=250, within=0.3, users=users, survive=1).machines == 7
    assert found.sentence == (
        "at least 6 machines for 250/s: one carries 50/s (49–51) when it is saturated. These requests came from users "
        "who wait for responses, so the response time at a given rate is unknown. Sweep rates, such as 12.5..60"
    )


def test_a_fast_closed_loop_names_rates_without_exponents() -> None:
    users = UsersVerdict(8, False, 5, 12_345.6, 12_000.0, 12_800.0, 5.0, 4.8, 5.2, "")
    sentence = capacity(table((40, 0.1, "stable")), tps=100_000, within=0.3, users=users).sentence
    assert "one carries 12346/s (12000–12800) when" in sentence
    assert sentence.endswith("such as 3086..14815")


def test_a_closed_loop_without_a_plateau_names_no_number() -> None:
    users = UsersVerdict(None, False, None, 50.0, 49.0, 51.0, None, None, None, "throughput still grew at 8 users")
    found = capacity(table((40, 0.1, "stable")), tps=250, within=0.3, users=users)
    assert found.machines is None
    assert found.sentence.startswith(
        "the highest throughput of a machine is unknown: throughput still grew at 8 users. "
    )
    assert found.sentence.endswith("so the response time at a given rate is unknown. Sweep rates instead")
