"""The response times of each group are its own, and so is the lag that reaches them."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from logreplay.analysis.input import arrays
from logreplay.analysis.tables.group_times import GroupTimes, service


def requests(lags: Mapping[str, Sequence[float]], *, failing: tuple[str, int] = ("", 0)) -> arrays.RequestArrays:
    """Of each route a request for each lag (ms), answered after 10 ms; of one route the last ones fail."""
    route = failing[0]
    rows: list[dict[str, object]] = []
    for name, values in lags.items():
        for number, lag in enumerate(values):
            fails = name == route and number >= len(values) - failing[1]
            rows.append({"url": name, "scheduled": len(rows) / 100, "lag": lag / 1000, "rc": 500 if fails else 200})
    return arrays.read(
        pl.DataFrame(rows).with_columns(
            date=pl.lit("2026-01-01"), time=pl.lit("00:00:00"), op=pl.lit("GET"), bytes=1, thinktime=0.0,
            latency=0.01, xfertime=0.0, connect=0.0, queued=0.0, expected_rc=200, step=0, offered=100.0, seq=0, row=0,
            error=pl.lit(None, pl.String),
        )
    )  # fmt: skip


def of_routes(given: arrays.RequestArrays) -> dict[str, dict[str, float]]:
    """The figures of each route."""
    found = GroupTimes.by(given, "route", len(given.routes))
    figures = {**found.figures(), "valid_up_to": found.valid_up_to}
    return {name: {key: float(values[at]) for key, values in figures.items()} for at, name in enumerate(given.routes)}


def test_a_route_without_lag_keeps_its_figures_beside_one_with_lag() -> None:
    found = of_routes(requests({"/late": [0] * 80 + [500] * 20, "/good": [0] * 99 + [4]}))
    late, good = found["/late"], found["/good"]
    assert (late["p50"], late["valid_up_to"]) == (0.01, 0.8)
    assert all(np.isnan(late[name]) for name in ("p90", "p95", "mean", "max"))
    assert [good[name] for name in ("p50", "p90", "p95", "max", "valid_up_to")] == [0.01, 0.01, 0.01, 0.014, 1]
    assert good["mean"] == pytest.approx(0.01004)


def test_a_percentile_that_falls_on_a_failure_stays_infinite_whatever_the_lag_is() -> None:
    (route,) = (found for name, found in of_routes(requests({"/a": [0] * 70 + [900] * 30}, failing=("/a", 10))).items()
                if name == "/a")  # fmt: skip
    assert route["p50"] == 0.01
    assert np.isnan(route["p90"])
    assert route["p95"] == np.inf
    assert route["valid_up_to"] == 0.7


def test_service_times_have_no_lag() -> None:
    given = requests({"/a": [0, 500]})
    assert service(given, "route", len(given.routes)).quantile(1.0)[-1] == 0.01
