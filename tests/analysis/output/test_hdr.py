"""The interval log is read by the package hdrhistogram, with the counts and the percentiles of the run."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given
from hypothesis import strategies as st

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.output import hdr
from logreplay.analysis.tables import aggregate
from simulate import SimulatedQueue


def empty() -> HdrHistogram:
    return HdrHistogram(hdr.LOWEST, hdr.HIGHEST, hdr.DIGITS)


def intervals(path: Path) -> list[HdrHistogram]:
    reader = HistogramLogReader(str(path), empty())
    found = []
    while (histogram := reader.get_next_interval_histogram()) is not None:
        found.append(histogram)
    reader.close()
    return found


@given(st.integers(hdr.LOWEST, hdr.HIGHEST))
def test_a_value_is_counted_in_the_cell_where_the_package_counts_it(value: int) -> None:
    assert hdr.counts_index(np.array([value], np.uint32))[0] == empty()._counts_index_for(value)


@pytest.fixture(scope="module")
def run() -> arrays.RequestArrays:
    rng = np.random.default_rng(8)
    return arrays.read(
        simulate.serve(simulate.sweep([50, 100, 300], 5, rng), SimulatedQueue(4, 0.016), rng, timeout_s=1.0)
    )


def test_every_second_has_its_requests_and_its_step(run: arrays.RequestArrays, tmp_path: Path) -> None:
    hdr.write_hlog(tmp_path / "run.hlog", run)
    found = intervals(tmp_path / "run.hlog")
    seconds = aggregate.seconds(run).filter(seconds_with_answers())
    assert [each.get_total_count() for each in found] == (seconds["offered"] - seconds["errors"]).to_list()
    assert [each.get_tag() for each in found] == [str(step) for step in seconds["step"]]
    assert [each.get_start_time_stamp() for each in found] == [
        pytest.approx(1000 * (run.started.timestamp() + second)) for second in seconds["second"] if run.started
    ]


def seconds_with_answers() -> pl.Expr:
    return pl.col("offered") > pl.col("errors")


def test_percentiles_agree_within_the_precision_of_the_histogram(run: arrays.RequestArrays, tmp_path: Path) -> None:
    hdr.write_hlog(tmp_path / "run.hlog", run)
    merged = empty()
    for each in intervals(tmp_path / "run.hlog"):
        merged.add(each)
    response = np.sort(run.response[run.good]).tolist()
    for p in (50, 90, 99, 100):
        exact = response[int(np.ceil(p / 100 * len(response))) - 1]
        assert merged.get_value_at_percentile(p) == pytest.approx(exact, rel=0.002)
    assert merged.get_total_count() == run.good.sum()


def test_the_maximum_is_in_milliseconds_and_not_floored(run: arrays.RequestArrays, tmp_path: Path) -> None:
    hdr.write_hlog(tmp_path / "run.hlog", run)
    lines = [line for line in (tmp_path / "run.hlog").read_text().splitlines() if line.startswith("Tag=")]
    longest = max(float(line.split(",")[3]) for line in lines)
    assert longest == pytest.approx(run.response[run.good].max() / 1000, abs=0.0006)


def test_a_second_with_many_equal_times_and_one_of_half_an_hour(tmp_path: Path) -> None:
    latency = [0.001] * 70_000 + [0.002] * 200 + [1800.0]
    rows = pl.DataFrame({"scheduled": 0.5, "latency": latency, "xfertime": 0.0, "rc": 200, "bytes": 1})
    hdr.write_hlog(tmp_path / "run.hlog", arrays.read(rows.with_columns(error=pl.lit(""))))
    (found,) = intervals(tmp_path / "run.hlog")
    assert [found.get_count_at_value(value) for value in (1000, 2000, 1_800_000_000)] == [70_000, 200, 1]
    assert found.get_total_count() == 70_201
