"""Result rows become whole microseconds, kinds and flags; damaged values become none, not others."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.analysis.input.arrays import read
from logreplay.analysis.input.downcast import (
    DROPPED,
    ERROR_WORDS,
    FIRST_ERROR,
    HTTP_ERROR,
    LONGEST_RUN_S,
    NET_ERROR,
    OK,
    OUTCOMES,
    compact,
)
from logreplay.analysis.input.sources import COLUMNS
from logreplay.analysis.statistics.quantiles import LONGEST
from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS, RESPONSE_PARTS, RESULT_COLUMNS, SCHEMA

SECONDS = ("scheduled", *RESPONSE_PARTS)


def compacted(**values: Any) -> dict[str, Any]:
    row = {
        "scheduled": 1.0,
        "lag": 0.0,
        "connect": 0.0,
        "latency": 0.25,
        "xfertime": 0.0,
        "rc": 200,
        "url": "/",
        **values,
    }
    frame = pl.DataFrame([row], schema={name: SCHEMA[name] for name in COLUMNS})
    return compact(frame.lazy()).collect().row(0, named=True)


def test_times_are_whole_microseconds() -> None:
    found = compacted(scheduled=1.5, lag=0.001, connect=0.002, latency=0.25, xfertime=0.0000004)
    assert [found[name] for name in ("scheduled", "lag", "connect", "latency")] == [1_500_000, 1000, 2000, 250_000]
    assert found["response"] == 253_000  # from the scheduled instant, lag included


def test_the_wait_for_a_connection_is_part_of_the_response_and_not_of_the_service_time() -> None:
    found = compacted(lag=0.0000006, queued=0.1000006, latency=0.25)
    assert found["response"] == 350_001
    assert found["response"] - found["lag"] - found["queued"] == 250_000


def test_a_time_below_0_leaves_no_service_time() -> None:
    """The times are unsigned: a request that waited, with a latency below 0, took 71 minutes."""
    found = compacted(lag=2.0, latency=-1.0)
    assert found["response"] - found["lag"] == 0


def test_a_log_of_an_earlier_version_has_no_waits(tmp_path: Path) -> None:
    columns = [name for name in RESULT_COLUMNS if name != "queued"]
    values = {"date": "2026-01-01", "time": "00:00:00.000000", "url": "/", "op": "GET", "lag": "0.5", "latency": "0.25"}
    row = ",".join(values.get(name, "0") for name in columns)
    (tmp_path / "old.csv").write_text(",".join(columns) + "\n" + row + "\n")
    requests = read(tmp_path / "old.csv")
    assert (requests.queued.tolist(), requests.response.tolist(), requests.service.tolist()) == (
        [0],
        [750_000],
        [250_000],
    )


def test_what_was_sent_early_did_not_wait_less() -> None:
    assert compacted(lag=-0.1)["response"] == 250_000
    assert compacted(lag=-0.1)["lag"] == 0


@pytest.mark.parametrize("latency", [None, math.nan])
def test_without_a_latency_there_is_no_response_time(latency: float | None) -> None:
    assert compacted(latency=latency)["response"] is None


@pytest.mark.parametrize("scheduled", [None, math.nan, -1.0, LONGEST_RUN_S + 1.0, math.inf, 1e300])
def test_a_row_that_was_never_due_has_no_time(scheduled: float | None) -> None:
    assert compacted(scheduled=scheduled)["scheduled"] is None


def test_times_beyond_the_longest_count_as_the_longest() -> None:
    assert compacted(latency=1e6)["response"] == LONGEST


@pytest.mark.parametrize(
    ("rc", "error", "kind", "outcome"),
    [
        (200, None, 200, OK),
        (200, "", 200, OK),
        (404, None, 404, HTTP_ERROR),
        (0, None, "no_status", NET_ERROR),
        (None, None, "no_status", NET_ERROR),
        (1000, None, "no_status", NET_ERROR),
        (-3, None, "no_status", NET_ERROR),
        (200, "timeout", "timeout", NET_ERROR),
        (0, "dropped", "dropped", DROPPED),
        (0, "never heard of", "other", NET_ERROR),
    ],
)
def test_a_kind_is_the_status_or_the_error(rc: int | None, error: str | None, kind: int | str, outcome: int) -> None:
    found = compacted(rc=rc, error=error)["kind"]
    assert found == (kind if isinstance(kind, int) else FIRST_ERROR + ERROR_WORDS.index(kind))
    assert OUTCOMES[found] == outcome


@pytest.mark.parametrize(
    ("rc", "expected", "good"),
    [
        (200, 200, True),
        (304, None, True),
        (404, 200, False),
        (404, 410, True),
        (404, None, False),
        (503, 500, True),
        (503, 404, False),
    ],
)
def test_an_error_status_is_good_where_the_log_had_one_of_its_class(rc: int, expected: int | None, good: bool) -> None:
    assert compacted(rc=rc, expected_rc=expected)["good"] is good


@settings(max_examples=60)
@given(st.fixed_dictionaries({name: st.none() | st.floats() for name in SECONDS}), st.integers(-(2**63), 2**63 - 1))
def test_no_number_makes_it_fail(seconds: dict[str, float | None], number: int) -> None:
    found = compacted(**seconds, rc=number, bytes=number, step=number)
    assert 0 <= found["bytes"] < 2**32
    assert found["scheduled"] is None or 0 <= found["scheduled"] <= LONGEST_RUN_S * 1_000_000
    assert found["response"] is None or found["lag"] + found["queued"] <= found["response"] <= LONGEST


def test_a_log_with_a_step_for_each_row_is_refused_as_its_verdict_would_not_end(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = (f"2026-02-02,23:59:01.000000,0.01,0,0,1,/a,200,GET,{row}\n" for row in range(10_001))
    path.write_text(",".join((*CORE_COLUMNS, "step")) + "\n" + "".join(rows))
    with pytest.raises(LogreplayError, match=r"log\.csv: 10,001 steps, expected at most 10,000: number"):
        read(path)
