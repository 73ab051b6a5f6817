"""A replay compared with the log it was made from: statuses, sizes, relative speed of routes, rhythm."""

import json

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.analysis.verdict import compare_log


def run(seed: int, *, slower: float = 1.0, rates: list[float] | None = None, seconds: float = 60) -> pl.DataFrame:
    """One run of the same log: the same arrivals and work, times that differ by chance and by a factor."""
    arrivals = simulate.sweep(rates or [150], seconds, np.random.default_rng(77))
    count = len(arrivals.scheduled)
    work = np.random.default_rng(78).exponential(0.016, count) * np.random.default_rng(seed).lognormal(0, 0.1, count)
    return simulate.results(arrivals, slower * (simulate.waits(arrivals.scheduled, work, 4) + work))


def log_of(frame: pl.DataFrame, **changes: pl.Expr) -> pl.DataFrame:
    """The log a run was made from, with other times."""
    return frame.sort("seq").select(*comparison_columns()).with_columns(**changes)


def comparison_columns() -> tuple[str, ...]:
    return ("date", "time", "latency", "xfertime", "thinktime", "bytes", "url", "rc", "op")


def test_a_replay_like_its_log_is_said_to_be_so() -> None:
    once = run(1)
    found = compare_log.against_log(log_of(once, latency=pl.col("latency") * 3), once)
    assert found.sentence.endswith(
        "status class as in the log for 100.0%, size for 100.0% of those; "
        "4 of 4 routes as slow, relative to the others, as in the log"
    )
    assert found.gap_distance < 0.01


def test_a_column_row_of_the_log_does_not_number_its_rows() -> None:
    """Each row with the same number was compared with each request of that row."""
    once = run(1, seconds=5)
    found = compare_log.against_log(log_of(once).with_columns(row=pl.lit(7)), once)
    assert found.sentence == compare_log.against_log(log_of(once), once).sentence
    assert (found.rows_unmatched, found.requests_unmatched) == (0, 0)


def test_a_route_that_is_slower_than_in_the_log_is_named() -> None:
    once = run(1)
    slow = once.with_columns(latency=pl.col("latency") * pl.when(pl.col("url") == "/cart").then(5).otherwise(1))
    said = compare_log.against_log(log_of(once), slow).sentence
    assert said.endswith("3 of 4 routes as slow, relative to the others, as in the log; /cart is 5.0x slower")


def test_a_change_of_status_is_explained_where_it_is_usual() -> None:
    once = run(1)
    found = compare_log.against_log(log_of(once, rc=pl.lit(304)), once)
    assert found.notes[0] == "304 → 200: the replay sends no validators (If-Modified-Since)"
    assert found.status_changed
    assert found.status_changed[0] == 1


def test_a_cancelled_request_is_no_failure_of_the_replay() -> None:
    """It was one where the log has a status of 500 and above."""
    once = run(1, seconds=5)
    failing = log_of(once, rc=pl.lit(500))
    cancelled = once.with_columns(rc=pl.lit(0), error=pl.lit("cancelled"))
    assert compare_log.against_log(failing, cancelled).failed == (1, 0)
    assert compare_log.against_log(failing, once.with_columns(rc=pl.lit(500))).failed == (1, 1)


def test_failures_of_the_replay_count_where_the_log_has_no_status() -> None:
    once = run(1, seconds=20)
    without = compare_log.against_log(log_of(once, rc=pl.lit(0)), once.with_columns(rc=pl.lit(500)))
    assert without.failed == (0, 1)
    assert without.verdict == "fails more"
    assert without.status_changed is None
    assert "the log holds no status to compare" in without.sentence


def test_the_share_of_status_classes_is_of_the_requests_whose_status_the_log_holds() -> None:
    once = run(1, seconds=20)
    odd = pl.int_range(pl.len()) % 2 == 1
    found = compare_log.against_log(log_of(once, rc=pl.when(odd).then(0).otherwise("rc")), once)
    assert "status class as in the log for 100.0%" in found.sentence
    assert found.failed == (0, 0)
    number = once.height // 2
    assert any(
        note.startswith("the log has no status, or an error in its place, for ")
        and f" {number:,} of {once.height:,} requests: " in note
        for note in found.notes
    )


def test_a_log_without_times_is_compared_by_status_and_size() -> None:
    once = run(1)
    assert compare_log.against_log(log_of(once, latency=pl.lit(0.0)), once).sentence.endswith("no times to compare")


def test_a_log_whose_routes_are_too_rare_has_times_all_the_same() -> None:
    once = run(1, seconds=10)
    few = once.filter(pl.col("row") < 4 * (compare_log.FEWEST - 1))
    found = compare_log.against_log(log_of(few), few)
    assert found.sentence.endswith(f"no route has {compare_log.FEWEST} requests with times to compare")


def test_rows_of_the_log_that_no_request_matched_are_counted_and_so_are_requests_not_in_the_log() -> None:
    once = run(1, seconds=20)
    part = once.filter(pl.col("row") < 1000).with_columns(
        url=pl.when(pl.col("row") < 30).then(pl.lit("/rewritten")).otherwise("url")
    )
    found = compare_log.against_log(log_of(once), part)
    assert (found.rows_unmatched, found.requests_unmatched) == (once.height - 970, 30)
    assert f"no request of the replay matches {once.height - 970:,} of {once.height:,} rows of the log" in (found.notes)
    assert any(note.startswith("no row of the log matches 30 of 1,000 requests of the replay") for note in found.notes)


def test_service_times_are_compared_with_those_of_the_log_where_it_has_them() -> None:
    once = run(1)
    found = compare_log.against_log(log_of(once), once.with_columns(latency=pl.col("latency") * 1.3))
    assert found.change is not None
    assert found.change.verdict() == "slower"
    assert found.change.ratio == pytest.approx(1.3, abs=0.001)
    whole = log_of(once, latency=pl.when(pl.col("latency") > 0.1).then(1.0).otherwise(0.0))
    assert compare_log.against_log(whole, once).change is None


def in_milliseconds(rows: pl.DataFrame) -> pl.DataFrame:
    """The log of a server that cuts its times off."""
    return log_of(rows, latency=(pl.col("latency") * 1000).floor() / 1000)


@pytest.mark.parametrize("service", [0.0019, 0.003, 0.012])
def test_times_that_the_log_cut_off_are_no_change(service: float) -> None:
    """A replay with exactly the times of the log was called slower by 21.8 %."""
    times = service * pl.Series(np.random.default_rng(4).lognormal(0, 0.5, 6000))
    once = run(1).head(6000).with_columns(latency=times)
    found = compare_log.against_log(in_milliseconds(once), once)
    assert found.verdict is None
    assert "the resolution of the log's times is 1 ms: what that may change counts as no difference" in found.notes
    unknown = "service time against the log: unknown, since the resolution of the log's times alone may change it by "
    assert any(note.startswith(unknown) for note in found.notes)


@pytest.mark.parametrize("service", [0.00105, 0.00305, 0.01205])
def test_times_that_the_log_rounded_up_are_no_change(service: float) -> None:
    """A replay with exactly the times of the log was called faster."""
    times = service * pl.Series(np.random.default_rng(4).lognormal(0, 0.003, 6000))
    once = run(1).head(6000).with_columns(latency=times)
    log = log_of(once, latency=(pl.col("latency") * 1000).ceil() / 1000)
    assert compare_log.against_log(log, once).verdict is None


@pytest.mark.parametrize(("service", "slower"), [(0.004, 3.0), (0.02, 1.3), (0.02, 0.5)])
def test_a_change_beyond_the_resolution_of_the_log_is_found_with_a_wider_interval(
    service: float, slower: float
) -> None:
    times = service * pl.Series(np.random.default_rng(4).lognormal(0, 0.5, 6000))
    once = run(1).head(6000).with_columns(latency=times)
    found = compare_log.against_log(in_milliseconds(once), once.with_columns(latency=slower * times)).change
    assert found is not None
    assert found.verdict() == ("slower" if slower > 1 else "faster")
    assert found.low < slower < found.high
    assert found.high / found.low > 1 + 0.001 / service


def test_times_far_above_the_resolution_of_the_log_are_compared_as_before() -> None:
    once = run(1).with_columns(latency=0.5 + pl.col("latency"))
    found = compare_log.against_log(in_milliseconds(once), once).change
    assert found is not None
    assert found.verdict() == "no difference detected"
    assert found.high - found.low < 0.01


def test_requests_without_a_time_among_those_of_a_log_in_milliseconds_are_no_change() -> None:
    once = run(1).with_columns(latency=0.05 + pl.col("latency"))
    third = pl.int_range(pl.len()) % 3 == 0
    log = in_milliseconds(once).with_columns(latency=pl.when(third).then(0.0).otherwise("latency"))
    found = compare_log.against_log(log, once)
    assert found.verdict is None
    assert compare_log.against_log(log, once.with_columns(latency=20 * pl.col("latency"))).verdict == "slower"


def test_no_route_is_called_slower_for_the_resolution_of_the_log() -> None:
    """A route of 1.9 ms, 1 ms in the log, was 1.9x slower."""
    rows = run(1).head(6000)
    times = rows["url"].replace_strict({"/": 0.0019, "/products/1": 0.0205, "/search?q=a": 0.0505, "/cart": 0.0305})
    once = rows.with_columns(latency=times)
    found = compare_log.against_log(in_milliseconds(once), once)
    assert found.sentence.endswith("4 of 4 routes as slow, relative to the others, as in the log")
    assert found.routes["relative"].to_list() == pytest.approx([1.0] * 4)
    slow = once.with_columns(latency=times * pl.when(pl.col("url") == "/").then(10).otherwise(1))
    assert "; / is 8.9x slower" in compare_log.against_log(in_milliseconds(once), slow).sentence


def test_a_log_is_told_from_a_run() -> None:
    once = run(1, seconds=1)
    assert compare_log.is_log(log_of(once))
    assert not compare_log.is_log(once)


def test_another_rhythm_than_that_of_the_log_has_a_distance() -> None:
    once = run(1, seconds=20)
    even = once.with_columns(scheduled=pl.col("seq") * 20.0 / once.height)
    assert compare_log.against_log(log_of(once), even).gap_distance > 0.3


def test_nothing_in_common_is_said() -> None:
    once = run(1, seconds=1)
    found = compare_log.against_log(log_of(once, url=pl.lit("/other")), once)
    assert found.sentence == "nothing to compare: no request of the replay is in the log"
    assert found.routes.is_empty()


def test_a_route_of_few_requests_has_no_relative_speed() -> None:
    once = run(1, seconds=20)
    rare = pl.when(pl.col("seq") < 4 * (compare_log.FEWEST - 1)).then("url").otherwise(pl.lit("/common"))
    changed = once.with_columns(url=rare)
    table = compare_log.against_log(log_of(changed), changed).routes
    assert dict(table.select("route", pl.col("relative").is_null()).rows())["/common"] is False
    assert table.filter(pl.col("requests") < compare_log.FEWEST)["relative"].null_count() == table.height - 1


def test_bodies_of_another_size_are_counted_where_the_status_is_the_same() -> None:
    once = run(1, seconds=20)
    odd = pl.int_range(pl.len()) % 2 == 1
    log = log_of(once, bytes=pl.when(odd).then(5000).otherwise("bytes"), rc=pl.when(odd).then("rc").otherwise(301))
    found = compare_log.against_log(log, once)
    assert found.bytes_changed
    assert found.status_changed
    assert found.bytes_changed[0] == 1
    assert found.status_changed[0] == pytest.approx(0.5, abs=0.01)


def test_the_result_is_json() -> None:
    once = run(1, seconds=5)
    found = compare_log.against_log(log_of(once), once).as_dict()
    assert json.loads(json.dumps(found)) == found


def test_routes_beyond_the_table_and_requests_without_a_time_are_counted() -> None:
    once = run(1, seconds=10)
    names = pl.Series([f"/{first}{second}" for first in "abcdefgh" for second in "abcde"])
    many = once.with_columns(
        url=names.gather(once["seq"] % 40), rc=pl.when(pl.col("seq") < 7).then(500).otherwise("rc")
    )
    notes = compare_log.against_log(log_of(once.with_columns(url=many["url"])), many).notes
    assert "7 requests were not answered as expected in the replay: left out of the times of routes" in notes
    (rest,) = (note for note in notes if "no row in the table" in note)
    assert rest.startswith("10 routes have no row in the table: the 30 most frequent have; 3")
