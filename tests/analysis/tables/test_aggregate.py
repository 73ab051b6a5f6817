"""Seconds and steps lose no request and no second."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.input import arrays
from logreplay.analysis.tables import aggregate
from logreplay.core.record import SCHEMA


def rows(*requests: dict[str, Any]) -> pl.DataFrame:
    """Result rows: 200 after 10 ms, on time, unless said otherwise."""
    usual: dict[str, Any] = {
        "latency": 0.01,
        "xfertime": 0.0,
        "connect": 0.0,
        "lag": 0.0,
        "rc": 200,
        "step": 0,
        "offered": 1.0,
    }
    usual |= {"bytes": 100, "error": "", "expected_rc": 200, "date": "2026-01-01", "time": "23:59:59.000000"}
    return pl.DataFrame([usual | request for request in requests]).cast(
        {name: dtype for name, dtype in SCHEMA.items() if name in usual or name == "scheduled"}
    )


def per_second(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    return aggregate.seconds(arrays.read(rows(*requests))).to_dicts()


def test_two_requests_a_second_are_two_requests_in_every_second() -> None:
    table = per_second(*[{"scheduled": second + part, "latency": 0.032} for second in range(3) for part in (0.0, 0.5)])
    assert [row["offered"] for row in table] == [2, 2, 2]
    assert [row["mean"] for row in table] == [0.032, 0.032, 0.032]


def test_an_empty_second_has_a_row_with_counts_of_zero_and_no_times() -> None:
    table = per_second({"scheduled": 0.0}, {"scheduled": 2.0})
    assert [row["second"] for row in table] == [0, 1, 2]
    assert table[1]["offered"] == table[1]["completed"] == 0
    assert table[1]["p50"] is table[1]["mean"] is table[1]["max"] is table[1]["step"] is None


def test_a_request_that_ends_later_is_counted_where_it_was_scheduled_and_completed_where_it_ended() -> None:
    table = per_second({"scheduled": 0.5, "latency": 2.0})
    assert [row["offered"] for row in table] == [1, 0, 0]
    assert [row["in_flight"] for row in table] == [1, 1, 0]
    assert [row["completed"] for row in table] == [0, 0, 1]
    assert table[0]["p50"] == 2.0


def test_our_own_lag_counts_in_the_response_time_and_moves_the_sending() -> None:
    table = per_second({"scheduled": 0.9, "lag": 0.25, "latency": 3})
    assert [row["sent"] for row in table] == [0, 1, 0, 0, 0]
    assert table[0]["p50"] == 3.25
    assert table[0]["service_p50"] == 3


def test_a_microsecond_before_the_edge_belongs_to_the_second_before() -> None:
    table = per_second({"scheduled": 0.999999}, {"scheduled": 1.0})
    assert [row["offered"] for row in table] == [1, 1]


def test_a_percentile_that_falls_on_a_failure_is_infinite() -> None:
    table = per_second({"scheduled": 0.1}, {"scheduled": 0.2, "rc": 503}, {"scheduled": 0.3, "rc": 0, "error": "reset"})
    assert table[0]["p50"] == float("inf")
    assert table[0]["errors"] == 2
    assert table[0]["completed"] == 2
    assert table[0]["max"] == 0.01


def test_a_status_the_log_had_as_well_is_no_error() -> None:
    table = per_second({"scheduled": 0.1, "rc": 404, "expected_rc": 404}, {"scheduled": 0.2, "rc": 404})
    assert table[0]["errors"] == 1
    assert table[0]["ok"] == 0


def test_p99_needs_368_requests() -> None:
    few = per_second(*[{"scheduled": index / 1000} for index in range(367)])
    enough = per_second(*[{"scheduled": index / 1000} for index in range(368)])
    assert few[0]["p99"] is None
    assert enough[0]["p99"] == 0.01


def test_a_run_over_midnight_stays_in_order() -> None:
    frame = rows({"scheduled": 0.0}, {"scheduled": 0.0}).drop("scheduled")
    frame = frame.with_columns(
        date=pl.Series(["2026-01-01", "2026-01-02"]), time=pl.Series(["23:59:59.500000", "00:00:01.500000"])
    )
    table = aggregate.seconds(arrays.read(frame))
    assert table["offered"].to_list() == [1, 0, 1]


def test_rows_without_a_readable_time_are_counted_not_guessed() -> None:
    requests = arrays.read(rows({"scheduled": 0.0}, {"scheduled": None}, {"scheduled": -1.0}, {"scheduled": 1e300}))
    assert len(requests) == 1
    assert requests.unreadable == {"no time can be read": 3}


@pytest.mark.slow
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "scheduled": st.integers(0, 5_000_000).map(lambda micros: micros / 1e6),
                "lag": st.integers(0, 2_000_000).map(lambda micros: micros / 1e6),
                "latency": st.integers(0, 3_000_000).map(lambda micros: micros / 1e6),
                "rc": st.sampled_from([200, 304, 404, 503, 0]),
                "error": st.sampled_from(["", "", "timeout", "dropped"]),
                "step": st.integers(0, 2),
            }
        ),
        min_size=1,
        max_size=60,
    )
)
def test_the_counts_of_all_seconds_and_of_all_steps_are_those_of_the_run(requests: list[dict[str, Any]]) -> None:
    run = arrays.read(rows(*requests))
    seconds, steps = aggregate.seconds(run), aggregate.steps(run)
    sent = sum(request["error"] != "dropped" for request in requests)
    assert seconds["offered"].sum() == steps["scheduled"].sum() == len(requests)
    assert seconds["sent"].sum() == sent
    assert seconds["in_flight"][-1] == 0
    assert seconds["errors"].sum() == steps["errors"].sum()
    assert steps.select(pl.sum("ok", "http_errors", "net_errors")).sum_horizontal().item() == sent
    assert seconds["bytes"].sum() == 100 * len(requests)
    assert seconds["second"].to_list() == list(range(seconds.height))


def test_requests_held_back_until_a_stop_are_no_net_errors_of_a_step() -> None:
    """The target never saw them."""
    ends = ({"error": "cancelled", "lag": 0.1}, {"error": "cancelled", "latency": 0.1}, {"error": "reset"})
    table = aggregate.steps(arrays.read(rows(*({"scheduled": 0.0, "latency": 0.0, "rc": 0} | end for end in ends))))
    assert table["net_errors"].to_list() == [2]
    assert table["errors"].to_list() == [1]


def test_no_step_answers_more_than_it_sends() -> None:
    """More requests come in the first fifth of the step than later, as random arrivals may."""
    early = [{"scheduled": 0.01 * each, "latency": 1.5} for each in range(100)]
    late = [{"scheduled": 2 + 0.1 * each, "latency": 0.02} for each in range(30)]
    row = aggregate.steps(arrays.read(rows(*(each | {"offered": 26.0} for each in early + late)))).row(0, named=True)
    assert row["settled_goodput"] > row["sent"] == pytest.approx(26)
    assert row["goodput"] == row["completed"] == row["sent"]


def test_an_answer_counts_in_the_step_of_its_request_and_only_before_the_end_of_it() -> None:
    """The first step leaves requests behind, which are answered while the second one is sent."""
    first = [{"scheduled": 0.1 * each, "latency": 1.05, "offered": 10.0} for each in range(20)]
    failed = {"latency": 0.01, "rc": 500, "expected_rc": 200}
    second = [{"scheduled": 2 + 0.1 * each, "step": 1, "offered": 10.0, **failed} for each in range(20)]
    table = aggregate.steps(arrays.read(rows(*first, *second)))
    assert table["sent"].to_list() == pytest.approx([10, 10])
    assert table["completed"].to_list() == pytest.approx([5, 10])
    assert table["goodput"].to_list() == pytest.approx([5, 0])
