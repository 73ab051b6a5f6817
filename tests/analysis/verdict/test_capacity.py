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
                "error_base": 0.0,
                "failed_p50": None,
                "valid_up_to": 1.0,
                "ok_p90": p90,
            }
            for rate, p90, verdict in rows
        ],
        schema_overrides=dict.fromkeys(("rate", "p90", "ok_p90", "failed_p50"), pl.Float64),
    )


BRACKET = table((30, 0.1, "stable"), (38, 0.2, "stable"), (42, 0.4, "stable"), (50, 2.0, "overloaded"))


def ask(steps: pl.DataFrame, **more: Any) -> Capacity:
    return capacity(steps, **{"tps": 200, "within": 0.3, **more})


def test_both_ends_of_the_bracket_are_said() -> None:
    found = ask(BRACKET)
    assert (found.machines, found.machines_at_best) == (6, 5)
    assert found.sentence == (
        "6 machines for 200/s with p90 within 300 ms, no headroom: one carries 38/s (mean 100 ms), "
        "not 42/s (p90 400 ms); 5 if one carries nearly 42/s within the bound"
    )


FULL = table(
    *((rate, 0.1, "stable") for rate in (40, 60, 80)), (100, 0.25, "stable"), (120, 2.0, "overloaded"), answered=99
)


@pytest.mark.parametrize("saturation", [99.0, None])  # of the sweep; of too few rates: what was answered at 120/s
def test_machines_do_not_run_at_their_saturation(saturation: float | None) -> None:
    """A step of some seconds at the saturation can look stable."""
    found = ask(FULL, saturation=saturation)
    assert (found.machines, found.machines_at_best, found.low, found.high) == (3, 3, 80, 100)
    assert found.saturation == pytest.approx(100, abs=1)
    assert found.sentence.startswith(
        "3 machines for 200/s with p90 within 300 ms, no headroom: one carries 80/s (mean 50 ms); "
        f"100/s kept the bound, too, but one machine saturates at about {found.saturation:.3g}/s, "
        "which leaves too little room"
    )


def test_a_rate_clearly_below_saturation_counts_though_the_next_is_far_above() -> None:
    assert ask(FULL, saturation=110.0).low == 100
    assert ask(BRACKET, within=0.5, saturation=46.0).low == 42


def test_a_target_that_collapses_beyond_what_it_carried_does_not_saturate_at_that_rate() -> None:
    found = ask(table((20, 0.1, "stable"), (40, 0.1, "stable"), (50, 2.0, "overloaded"), answered=20), saturation=None)
    assert (found.low, found.high, found.saturation) == (40, 50, None)


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
    assert (found.low, found.high) == (38, 42)
    assert "too little room" not in found.sentence


def test_the_mean_at_the_carried_rate_is_said_and_may_be_bounded() -> None:
    assert ask(BRACKET).mean == pytest.approx(0.1)
    assert ask(BRACKET, percentile="mean").low == 42
    dead = table((30, 0.1, "stable"), (38, 0.1, "stable")).with_columns(
        mean=pl.when(pl.col("rate") > 30).then(None).otherwise("mean")
    )
    assert ask(dead, percentile="mean").low == 30


def test_one_machine_may_not_be_fewer() -> None:
    steps = table((30, 0.1, "stable"), (38, 0.2, "stable"))
    assert ask(steps, tps=30).sentence.endswith("up to 38/s: sweep higher")
    assert ask(steps).sentence.endswith("up to 38/s: sweep higher, it may be fewer")


def test_headroom_is_kept_free_on_each_machine() -> None:
    assert ask(BRACKET, headroom=0.2).machines == 7


def test_what_is_read_off_short_steps_is_marked() -> None:
    found = ask(table((40, 0.2, "stable"), (50, 0.5, "stable"), seconds=10))
    assert found.machines == 5
    assert found.sentence.startswith("~5 machines")


def test_a_growing_backlog_fails_though_the_percentile_is_still_within() -> None:
    assert ask(table((30, 0.1, "stable"), (38, 0.2, "overloaded"))).low == 30


def test_a_step_above_a_failed_one_does_not_count() -> None:
    assert ask(table((30, 0.1, "stable"), (38, 0.5, "stable"), (42, 0.2, "stable"))).low == 30


def test_of_several_trials_at_a_rate_all_must_keep_the_bound() -> None:
    trials = table((30, 0.1, "stable"), (38, 0.2, "stable"), (38, 0.2, "stable"), (38, 0.4, "stable"))
    assert ask(trials) == ask(table((30, 0.1, "stable"), (38, 0.4, "stable")))
    assert ask(pl.concat([BRACKET, BRACKET])) == ask(BRACKET)


def test_steps_limited_by_the_replay_machine_are_left_out() -> None:
    found = ask(table((30, 0.1, "stable"), (38, 9.0, "generator-limited")))
    assert found.high is None
    assert "sweep higher" in found.sentence


def test_steps_sent_late_are_left_out_and_named() -> None:
    """A response time of 223 ms with a lag of 142 ms does not say that the target is slow."""
    steps = table((20, 0.223, "stable"), (40, 0.1, "stable"), (60, 0.15, "stable"), (80, 0.5, "stable"))
    late = steps.with_columns(lag_p95=pl.when(pl.col("rate") == 20).then(0.142).otherwise("lag_p95"))
    found = ask(late, within=0.2)
    assert (found.low, found.high) == (60, 80)
    assert found.sentence.endswith("3 if one carries nearly 80/s within the bound; not counted: 20/s (sent late)")
    nothing = ask(late.filter(pl.col("rate") == 20), within=0.2)
    assert nothing.machines is None
    assert nothing.sentence == (
        "no step counts for p90 within 200 ms: 20/s (sent late); use longer steps, or repeat the sweep"
    )


@pytest.mark.parametrize(("figure", "valid"), [("p90", 0.88), ("mean", 0.97)])
def test_steps_whose_bounded_figure_the_lag_reaches_are_left_out_and_named(figure: str, valid: float) -> None:
    """The figure is left out of the step table, which says up to which share of the requests times are the target's."""
    reached = pl.col("rate") == 38
    steps = BRACKET.with_columns(
        pl.when(reached).then(None).otherwise(figure).alias("ok_p90" if figure == "p90" else figure),
        valid_up_to=pl.when(reached).then(valid).otherwise(1.0),
    )
    found = ask(steps, percentile=figure, within=0.15)
    assert found.low == 30
    assert found.sentence.endswith("; not counted: 38/s (sent late)")
    if figure == "mean":
        assert "not counted" not in ask(steps, percentile="p90").sentence


def test_a_bound_that_was_never_kept_has_no_answer() -> None:
    found = ask(table((30, 0.4, "stable"), (38, 0.5, "stable")))
    assert found.machines is None
    assert found.sentence == "p90 within 300 ms is not kept even at 30/s, p90 400 ms: sweep lower"


def test_too_few_requests_prove_nothing() -> None:
    assert ask(table((30, 0.1, "stable"), scheduled=20)).sentence == (
        "no step counts for p90 within 300 ms: 30/s (20 requests, p90 needs 36); use longer steps, or repeat the sweep"
    )


def failing(share: float, base: float, *, took: float = 0.01, verdict: str = "stable") -> pl.DataFrame:
    """Steps of which a share fails, so that p90 falls on a failure."""
    failed = pl.col("scheduled") * share
    return table(*((rate, 0.1, verdict) for rate in (30, 38))).with_columns(
        p90=pl.lit(math.inf), errors=failed.cast(pl.Int64), error_base=pl.lit(base), failed_p50=pl.lit(took)
    )


def test_failures_as_frequent_at_every_rate_do_not_hide_the_percentile_of_the_answered() -> None:
    """One page in eight is missing: p90 of all requests is a failure at every rate, that of the answered is 100 ms."""
    found = ask(failing(0.125, 0.125))
    assert (found.low, found.machines, found.error_base) == (38, 6, 0.125)
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


def test_a_growing_backlog_is_named_where_the_percentile_was_kept() -> None:
    assert ask(table((30, 0.1, "overloaded"))).sentence == (
        "p90 within 300 ms is not kept even at 30/s, the backlog grows: sweep lower"
    )
    assert ", not 38/s (the backlog grows)" in ask(table((30, 0.1, "stable"), (38, 0.1, "overloaded"))).sentence


@pytest.mark.parametrize(
    ("verdict", "why"),
    [("generator-limited", "this machine was the limit"), ("outage", "outage"), ("cut", "cut short")],
)
def test_a_rate_that_does_not_count_is_named_with_its_reason(verdict: str, why: str) -> None:
    found = ask(table((30, 0.1, "stable"), (38, 0.1, verdict), (42, 0.1, verdict)))
    assert found.low == 30
    assert found.sentence.endswith(f"; not counted: 38/s, 42/s ({why})")
    assert found.as_dict()["not_counted"] == ({"rate": 38, "why": why}, {"rate": 42, "why": why})


def test_a_percentile_needs_so_many_answers_and_not_only_requests() -> None:
    found = ask(failing(0.995, 0.995))
    assert found.sentence.startswith("no step counts for p90 within 300 ms: 30/s, 38/s (25 requests, p90 needs 36)")


def test_twice_a_rate_that_missed_the_bound_is_not_carried_by_two() -> None:
    """2 x nearly 100 is not 200."""
    steps = table((80, 0.1, "stable"), (100, 0.5, "stable"))
    assert (ask(steps).machines, ask(steps).machines_at_best) == (3, 3)
    assert "nearly" not in ask(steps).sentence
    assert ask(steps, tps=199).machines_at_best == 2
    assert ask(steps, tps=160, headroom=0.2).machines_at_best == 3


def test_infinite_percentiles_fail() -> None:
    assert ask(table((30, 0.1, "stable"), (38, float("inf"), "errors"))).low == 30


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^percentile must be one of mean, p50, p90, p95, p99, p999, got 'p42'$"):
        ask(BRACKET, percentile="p42")
    with pytest.raises(ValueError, match=r"^tps and within must be above 0"):
        ask(BRACKET, tps=0)


def test_a_closed_loop_names_the_least_number_of_machines() -> None:
    """One machine carries 49 to 51 a second: 250 a second need 6, though 250 / 50 is 5."""
    users = UsersVerdict(8, False, 5, 50.0, 49.0, 51.0, 5.0, 4.8, 5.2, "throughput stops growing at 8 users")
    found = capacity(table((40, 0.1, "stable")), tps=250, within=0.3, users=users)
    assert (found.machines, found.machines_at_best, found.low, found.high) == (6, 5, 49.0, 51.0)
    assert found.sentence == (
        "at least 6 machines for 250/s: one carries 50/s (49–51) when it is saturated. These requests came from users "
        "who wait for responses, so the response time at a given rate is unknown. Sweep rates, such as 12.5..60"
    )


def test_a_closed_loop_without_a_plateau_names_no_number() -> None:
    users = UsersVerdict(None, False, None, 50.0, 49.0, 51.0, None, None, None, "throughput still grew at 8 users")
    found = capacity(table((40, 0.1, "stable")), tps=250, within=0.3, users=users)
    assert found.machines is None
    assert found.sentence.startswith(
        "the highest throughput of a machine is unknown: throughput still grew at 8 users. "
    )
    assert found.sentence.endswith("so the response time at a given rate is unknown. Sweep rates instead")
